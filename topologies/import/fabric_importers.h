// Fabrics as other programs describe them, as topology files of the explicit
// family:
//
//   nccl_topo       the XML of NCCL_TOPO_DUMP_FILE: one node, with the rates of its links
//   nvidia_smi      `nvidia-smi topo -m`: one node, classes of connection alone
//   ibnetdiscover   switches, adapters and cables of an InfiniBand fabric
//
// What a file does not say is assumed, and each assumption is a line of `notes`
// and a comment of the file that is written.

#ifndef TOPOLOGIES_IMPORT_FABRIC_IMPORTERS_H_
#define TOPOLOGIES_IMPORT_FABRIC_IMPORTERS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text_reader.h"
#include "sim/base/node_shape.h"
#include "topologies/topology.h"

namespace topologies {

struct FabricFile {
  std::string file;          // for messages
  std::string_view text;     // UTF-8
  std::string name;          // of the topology that is made
  std::int64_t devices = 0;  // copies of the node, until there are so many devices; 0 = one node
  // The node of the device that was named, whose rates and
  // latencies stand in for those that the file lacks.
  std::optional<sim::NodeShape> node = std::nullopt;
};

struct ImportedFabric {
  ExplicitSpec spec;
  std::vector<std::string> notes;  // what was assumed, bundled or left out; a line each
  std::string text;                // the topology file; reading it gives `spec`
};

struct FabricImporter {
  const char* format;     // "nccl_topo"
  const char* takes;      // "TOPO.xml"
  const char* describes;  // for the help
  bool wants_node;        // REQUIRES: FabricFile::node
  // Nothing after an error. Errors are at "file:line", all in one run.
  std::optional<ImportedFabric> (*import)(const FabricFile& file, proto::Diagnostics* diagnostics);
};
std::span<const FabricImporter> FabricImporters();

}  // namespace topologies

#endif  // TOPOLOGIES_IMPORT_FABRIC_IMPORTERS_H_
