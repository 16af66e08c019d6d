// Whatever bytes arrive as a config.json, the importer ends without a crash, and
// says something whenever it gives nothing.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "models/hf_import.h"
#include "sim/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  proto::Diagnostics diagnostics;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool read = models::ImportHf("config.json", text, "", &diagnostics).has_value();
  CHECK(read == diagnostics.ok());
  return 0;
}
