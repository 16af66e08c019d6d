#include "tools/commands.h"

namespace tools {

std::vector<Command> Commands() {
  return {RunCommand(),         CheckCommand(),  BudgetCommand(),   PlanCommand(),
          CollectiveCommand(),  KernelCommand(), CompareCommand(),  ExplainCommand(),
          UtilisationCommand(), SweepCommand(),  ListCommand(),     ScheduleCommand(),
          TopologyCommand(),    ImportCommand(), ValidateCommand(), CalibrateCommand()};
}

}  // namespace tools
