// Whatever bytes arrive as a job of any format, its importer ends without a crash, and
// says something whenever it gives nothing. The first byte chooses the format.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scenarios/import/importers.h"
#include "sim/base/check.h"

namespace {

constexpr const char* kFiles[] = {"job.sh", "job.txt", "job.json", "job.yaml", "job.toml"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 20'000;
  if (size == 0 || size > kLongest) return 0;
  const auto importers = scenarios::Importers();
  const std::size_t choice = data[0];
  scenarios::ImportRequest request;
  request.file = kFiles[choice / importers.size() % std::size(kFiles)];
  request.text.assign(reinterpret_cast<const char*>(data) + 1, size - 1);
  request.name = "job";
  request.hardware = "h100_sxm";
  request.topology = "rail_optimised_ndr";
  request.model = choice % 2 == 0 ? "llama3_8b" : "";
  request.sequence_length = 4096;
  if (choice % 3 == 0) request.devices = 64;
  proto::Diagnostics diagnostics;
  const bool read = importers[choice % importers.size()].read(request, &diagnostics).has_value();
  CHECK(read == diagnostics.ok());
  return 0;
}
