#include "tools/commands.h"

namespace tools {

std::vector<Command> Commands() {
  return {RunCommand(),      CheckCommand(),  BudgetCommand(),  PlanCommand(), ListCommand(),
          ScheduleCommand(), ImportCommand(), ValidateCommand()};
}

}  // namespace tools
