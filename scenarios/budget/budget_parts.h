// The sections of a budget, a function each. Internal to this folder.

#ifndef SCENARIOS_BUDGET_BUDGET_PARTS_H_
#define SCENARIOS_BUDGET_BUDGET_PARTS_H_

#include <string>

#include "scenarios/budget/budget.h"
#include "scenarios/budget/plan_request.h"

namespace scenarios {

// Writes the lines of one section.
class Section {
 public:
  Section(std::string name, Budget* budget) : name_(std::move(name)), budget_(budget) {}

  void Add(const char* what, double value, const char* unit, const char* formula, std::string inputs);
  void AddCount(const char* what, std::int64_t value, const char* formula, std::string inputs = "");
  void AddBytes(const char* what, sim::Bytes bytes, const char* formula, std::string inputs = "");

 private:
  std::string name_;
  Budget* budget_;
};

// Of the fullest stage.
sim::Bytes MemoryOfDevice(const Chosen& c);

void AddParameters(const Chosen& c, Budget* budget);
void AddFlops(const Chosen& c, Budget* budget);
void AddMemory(const Chosen& c, Budget* budget);
void AddTraffic(const Chosen& c, Budget* budget);
void AddTime(const Chosen& c, Budget* budget);
void AddSaves(const Chosen& c, Budget* budget);
void AddData(const Chosen& c, Budget* budget);
void AddCases(const Chosen& c, Budget* budget);
void AddServing(const Chosen& c, Budget* budget);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_BUDGET_PARTS_H_
