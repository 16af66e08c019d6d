// A fabric as a picture for Graphviz.

#ifndef TOPOLOGIES_DRAWING_H_
#define TOPOLOGIES_DRAWING_H_

#include <string>

#include "topologies/fabric.h"

namespace topologies {

// More elements than this are drawn by kind.
inline constexpr std::size_t kMostDrawn = 400;

// The fabric in Graphviz's language (dot): an edge a cable, labelled with its rate, elements
// clustered by what their names say before the last '/', failed links dashed. A
// fabric of more than `most` elements is one box a kind, one edge for the links between two kinds, and
// a line that says so.
std::string ToDot(const Fabric& fabric, std::size_t most = kMostDrawn);

}  // namespace topologies

#endif  // TOPOLOGIES_DRAWING_H_
