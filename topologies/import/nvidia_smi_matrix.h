// The matrix that `nvidia-smi topo -m` prints, as values.

#ifndef TOPOLOGIES_IMPORT_NVIDIA_SMI_MATRIX_H_
#define TOPOLOGIES_IMPORT_NVIDIA_SMI_MATRIX_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topologies/import/draft_fabric.h"

namespace topologies {

// How two elements are connected, the nearer the lower.
enum class Nearness : std::uint8_t {
  kSelf,    // X
  kNvlink,  // NV#: what is between them on PCI is not told
  kPix,     // one PCI switch at most
  kPxb,     // several PCI switches
  kPhb,     // through a processor
  kNode,    // through parts of one processor
  kSys,     // between processors
};

struct SmiMatrix {
  struct Element {
    std::string name;  // "gpu0", "nic1"
    bool is_gpu = false;
    std::size_t line = 0;
    std::string numa;  // of a GPU; empty = not told
  };
  struct Cell {
    Nearness near = Nearness::kSelf;
    int nvlinks = 0;
  };
  std::vector<Element> elements;         // in the order of rows
  std::vector<std::vector<Cell>> cells;  // by row and column
};

// Errors: no header, rows that are missing, too short or of a word that nobody knows, a
// matrix that is not the same both ways.
std::optional<SmiMatrix> ReadSmiMatrix(const FabricFile& file, proto::Diagnostics* diagnostics);

}  // namespace topologies

#endif  // TOPOLOGIES_IMPORT_NVIDIA_SMI_MATRIX_H_
