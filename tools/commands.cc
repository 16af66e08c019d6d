#include "tools/commands.h"

namespace tools {

std::vector<Command> Commands() {
  return {RunCommand(),      CompareCommand(),     ExplainCommand(),  SweepCommand(),    ScaleCommand(),
          TimelineCommand(), CheckCommand(),       BudgetCommand(),   PlanCommand(),     CollectiveCommand(),
          KernelCommand(),   UtilisationCommand(), ListCommand(),     ScheduleCommand(), TopologyCommand(),
          ImportCommand(),   ValidateCommand(),    CalibrateCommand()};
}

}  // namespace tools
