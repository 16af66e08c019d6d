// The part of orrery import that reads fabrics: a topology out.

#ifndef TOOLS_IMPORT_FABRIC_H_
#define TOOLS_IMPORT_FABRIC_H_

#include <iosfwd>
#include <string>

#include "tools/command_line.h"

namespace tools {

// Whether a fabric of this format can be read ("nccl_topo").
bool IsFabricFormat(const std::string& format);
// "nccl_topo, nvidia_smi, ibnetdiscover", and their line in the help.
std::string FabricFormats();
std::string FabricFormatLine();

// REQUIRES: IsFabricFormat(arguments.positional[0])
int ImportFabric(const Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace tools

#endif  // TOOLS_IMPORT_FABRIC_H_
