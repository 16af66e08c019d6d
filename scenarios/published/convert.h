// One row of published step times as a scenario: files that `orrery run` reads.
// The same rules hold for every row; what they cannot map is refused with the reason.

#ifndef SCENARIOS_PUBLISHED_CONVERT_H_
#define SCENARIOS_PUBLISHED_CONVERT_H_

#include <optional>
#include <string>
#include <vector>

#include "scenarios/published/step_row.h"

namespace scenarios {

// A file of a scenario: its name without ending, and its textproto.
struct RowFile {
  std::string name, text;
};

struct Conversion {
  std::string name;                   // of the scenario: the row's id in lower_snake_case
  std::vector<RowFile> files;         // the scenario first, its model, and a device where its node differs
  std::vector<std::string> assumed;   // what the row does not say, and what was taken
  std::vector<std::string> left_out;  // what the row has and a run leaves out: an error that is known
  std::vector<std::string> refused;   // why there is no scenario; the same words for the same reason
};

// From a row's cells alone:
//   model     shapes from the row; the rest (norms, biases, positions, ...) from the catalogue's
//             model of its family, by the name's start (row_model.cc)
//   hardware  by exact name; a node of other NICs becomes a device of its own (row_device.cc)
//   training  what the row states, and else the preset of its source (row_training.cc)
//   layout, batch, schedule, experts: row_layout.cc
// Files are legal as far as this sees; LoadScenario has the last word.
Conversion Convert(const StepRow& row);

}  // namespace scenarios

#endif  // SCENARIOS_PUBLISHED_CONVERT_H_
