// The devices that are built into the program: hardware/*.textproto.

#ifndef HARDWARE_CATALOGUE_H_
#define HARDWARE_CATALOGUE_H_

#include <span>

#include "proto/text_reader.h"

namespace hardware {

// In the order of file names. Generated at build time by tools/embed.cmake.
std::span<const proto::CatalogueFile> Catalogue();

}  // namespace hardware

#endif  // HARDWARE_CATALOGUE_H_
