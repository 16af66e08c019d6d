#include "tools/commands.h"

namespace tools {

std::vector<Command> Commands() {
  return {RunCommand(),      CheckCommand(),  BudgetCommand(),   ListCommand(),
          ScheduleCommand(), ImportCommand(), ValidateCommand(), UtilisationCommand()};
}

}  // namespace tools
