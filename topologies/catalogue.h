// The topologies that are part of the program.

#ifndef TOPOLOGIES_CATALOGUE_H_
#define TOPOLOGIES_CATALOGUE_H_

#include <span>

#include "proto/text_reader.h"

namespace topologies {

// Every topologies/*.textproto, in the order of their names.
std::span<const proto::CatalogueFile> Catalogue();

}  // namespace topologies

#endif  // TOPOLOGIES_CATALOGUE_H_
