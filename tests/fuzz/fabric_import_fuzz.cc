// Whatever bytes arrive as a fabric, each importer ends without a crash, says
// something whenever it gives nothing, and writes a file that is a topology.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/check.h"
#include "topologies/import/fabric_importers.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sim::literals;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const sim::NodeShape node{"node", 8, 450_GB_per_s, 300_ns, 60_GB_per_s, 400_ns, 8, 50_GB_per_s, 500_ns};
  for (const topologies::FabricImporter& importer : topologies::FabricImporters()) {
    for (const bool with_node : {true, false}) {
      if (importer.wants_node && !with_node) continue;
      topologies::FabricFile file{.file = "fabric", .text = text, .name = "fabric"};
      if (with_node) file.node = node;
      proto::Diagnostics diagnostics;
      const auto fabric = importer.import(file, &diagnostics);
      CHECK(fabric.has_value() == diagnostics.ok());
      CHECK(!fabric || topologies::FaultsOf(fabric->spec).empty());
    }
  }
  return 0;
}
