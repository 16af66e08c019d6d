// The subcommands, each in a file of its own; commands.cc lists them.

#ifndef TOOLS_COMMANDS_H_
#define TOOLS_COMMANDS_H_

#include "tools/command_line.h"

namespace tools {

Command BudgetCommand();
Command CalibrateCommand();
Command CheckCommand();
Command CollectiveCommand();
Command CompareCommand();
Command ExplainCommand();
Command ImportCommand();
Command KernelCommand();
Command ListCommand();
Command PlanCommand();
Command RunCommand();
Command ScaleCommand();
Command ScheduleCommand();
Command SweepCommand();
Command TimelineCommand();
Command TopologyCommand();
Command UtilisationCommand();
Command ValidateCommand();

}  // namespace tools

#endif  // TOOLS_COMMANDS_H_
