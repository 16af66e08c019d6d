// What the importers of fabrics have in common: a list of elements and links
// under construction, places in a file, and the file that comes out.

#ifndef TOPOLOGIES_IMPORT_DRAFT_FABRIC_H_
#define TOPOLOGIES_IMPORT_DRAFT_FABRIC_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topologies/import/fabric_importers.h"

namespace topologies {

// Elements and cables as an importer finds them. Cables between the same two
// elements are one link of their sum: traffic is sprayed over them.
class DraftFabric {
 public:
  bool has(const std::string& name) const { return names_.count(name) > 0; }
  // A name that is there already is an error in the end.
  void Add(const std::string& name, VertexKind kind);
  void Cable(const std::string& a, const std::string& b, sim::ByteRate rate, sim::Duration latency);
  // A line of the result's notes, once.
  void Note(const std::string& line);

  // The file and its spec, or errors: what FaultsOf finds, and more links than can be listed.
  // `format` is what the file is called in `source`.
  std::optional<ImportedFabric> Finish(const FabricFile& file, const std::string& format,
                                       proto::Diagnostics* diagnostics) &&;

 private:
  ImportedFabric fabric_;
  std::set<std::string> names_;
  std::map<std::pair<std::string, std::string>, std::size_t> link_of_;  // by its ends, in order of names
  std::map<std::size_t, int> bundles_;                                  // by link: cables, where several
};

// One node as its file describes it; names are "gpu0", "nic1".
struct DraftNode {
  struct Element {
    std::string name;
    VertexKind kind;
  };
  struct NodeCable {
    std::string a, b;
    sim::ByteRate rate;
    sim::Duration latency;
  };
  struct Port {
    std::string nic;
    sim::ByteRate rate;  // zero = not known
  };
  std::vector<Element> elements;
  std::vector<NodeCable> cables;
  std::vector<Port> ports;  // of its NICs, to a network that the file does not know
};

// What is assumed of latencies, where no device is named.
struct AssumedLatencies {
  sim::Duration nvlink, pcie, nic;
};
// Those of the named device, or of the H100 in the catalogue. Notes which.
AssumedLatencies LatenciesOf(const FabricFile& file, DraftFabric* draft);

// Puts so many copies of the node as FabricFile::devices asks for into the draft, as "node0/gpu0" and so
// on. Several are joined by one switch that never blocks. Errors: a number that does not fill nodes; several
// nodes without NICs, or with NICs whose rate is not known.
void AddNodes(const FabricFile& file, const DraftNode& node, sim::Duration nic_latency, DraftFabric* draft,
              proto::Diagnostics* diagnostics);

// "file:line".
std::string PlaceOf(const FabricFile& file, std::size_t line);

// A text as part of an element's name: other characters than letters, digits, '_', '.', ':' and '-'
// become '-'; empty: "x".
std::string NamePart(std::string_view text);

// The lines of a text, without "\n" and "\r".
std::vector<std::string_view> LinesOf(std::string_view text);

// Found text in a message: in quotes, cut where it is long.
std::string Quoted(std::string_view text);

// Rate of one lane of PCI or InfiniBand in 10^6 bit/s times lanes.
sim::ByteRate MegabitsPerSecond(double megabits);

std::optional<ImportedFabric> ImportNcclTopo(const FabricFile& file, proto::Diagnostics* diagnostics);
std::optional<ImportedFabric> ImportNvidiaSmi(const FabricFile& file, proto::Diagnostics* diagnostics);
std::optional<ImportedFabric> ImportIbnetdiscover(const FabricFile& file, proto::Diagnostics* diagnostics);

}  // namespace topologies

#endif  // TOPOLOGIES_IMPORT_DRAFT_FABRIC_H_
