// Whatever bytes arrive as a launch script, the reader ends without a crash, says
// something whenever it gives nothing, and gives the same words again.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scenarios/import/shell_script.h"
#include "sim/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 20'000;
  if (size > kLongest) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  proto::Diagnostics diagnostics, again;
  const auto command = scenarios::ReadLaunchScript("job.sh", text, &diagnostics);
  CHECK(command.has_value() == diagnostics.ok());
  const auto second = scenarios::ReadLaunchScript("job.sh", text, &again);
  CHECK(command.has_value() == second.has_value());
  if (!command) return 0;
  CHECK(command->flags.size() == second->flags.size());
  for (std::size_t i = 0; i < command->flags.size(); ++i) {
    CHECK(command->flags[i].text == second->flags[i].text);
  }
  return 0;
}
