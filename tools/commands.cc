#include "tools/commands.h"

namespace tools {

std::vector<Command> Commands() {
  return {RunCommand(),  CheckCommand(),    BudgetCommand(),   PlanCommand(),   UtilisationCommand(),
          ListCommand(), ScheduleCommand(), TopologyCommand(), ImportCommand(), ValidateCommand()};
}

}  // namespace tools
