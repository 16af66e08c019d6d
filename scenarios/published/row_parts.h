// The parts of the converter, each in a file of its own. They fill a draft from a
// row and go on after a refusal, so that all reasons are found in one run.

#ifndef SCENARIOS_PUBLISHED_ROW_PARTS_H_
#define SCENARIOS_PUBLISHED_ROW_PARTS_H_

#include <cstdint>
#include <string>

#include "scenarios/published/convert.h"
#include "scenarios/published/step_row.h"

namespace orrery::config {
class Scenario;
}

namespace scenarios {

struct Draft {
  orrery::config::Scenario* scenario = nullptr;  // with its name; never null
  Conversion conversion;

  void Refuse(const std::string& reason) { conversion.refused.push_back(reason); }
  void Assume(const std::string& what) { conversion.assumed.push_back(what); }
  void LeaveOut(const std::string& what) { conversion.left_out.push_back(what); }
};

void WriteModel(const StepRow& row, Draft* draft);
void WriteHardware(const StepRow& row, Draft* draft);
void WriteLayout(const StepRow& row, Draft* draft);
void WriteTraining(const StepRow& row, Draft* draft);

// The number that `text` has after `key`: 8 in "E=8;topk=2" after "E=". Else `otherwise`.
std::int64_t NumberAfter(const std::string& text, const std::string& key, std::int64_t otherwise);

// A string of a textproto, with quotes.
std::string Quoted(const std::string& text);

}  // namespace scenarios

#endif  // SCENARIOS_PUBLISHED_ROW_PARTS_H_
