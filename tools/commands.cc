#include "tools/commands.h"

namespace tools {

std::vector<Command> Commands() {
  return {RunCommand(),      CheckCommand(),       BudgetCommand(),   PlanCommand(),     CollectiveCommand(),
          KernelCommand(),   UtilisationCommand(), ScaleCommand(),    ListCommand(),     ScheduleCommand(),
          TopologyCommand(), ImportCommand(),      ValidateCommand(), CalibrateCommand()};
}

}  // namespace tools
