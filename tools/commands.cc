#include "tools/commands.h"

namespace tools {

std::vector<Command> Commands() { return {CheckCommand(), ListCommand()}; }

}  // namespace tools
