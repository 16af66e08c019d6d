// Whatever bytes arrive, the reader ends without a crash, and says something
// whenever it returns false.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "proto/scenario.pb.h"
#include "proto/text_reader.h"
#include "sim/base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const char* file : {"a.textproto", "a.json"}) {
    orrery::config::Scenario scenario;
    proto::Document document;
    proto::Diagnostics diagnostics;
    const bool ok = proto::Read(file, text, {}, &scenario, &document, &diagnostics);
    CHECK(ok == diagnostics.ok());
  }
  const std::size_t equals = text.find('=');
  if (equals != std::string::npos) {
    orrery::config::Scenario scenario;
    proto::Document document;
    proto::Diagnostics diagnostics;
    proto::Read("a.textproto", "layout { tensor: 1 }", {{1, text.substr(0, equals), text.substr(equals + 1)}},
                &scenario, &document, &diagnostics);
  }
  return 0;
}
