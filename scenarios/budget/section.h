// Writers of lines and of assumptions. Internal to this folder.

#ifndef SCENARIOS_BUDGET_SECTION_H_
#define SCENARIOS_BUDGET_SECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/budget/budget_line.h"
#include "sim/base/units.h"

namespace scenarios {

// Writes the lines of one section.
class Section {
 public:
  Section(std::string name, std::vector<BudgetLine>* lines) : name_(std::move(name)), lines_(lines) {}

  void Add(const char* what, double value, const char* unit, const char* formula, std::string inputs);
  void AddCount(const char* what, std::int64_t value, const char* formula, std::string inputs = "");
  void AddBytes(const char* what, sim::Bytes bytes, const char* formula, std::string inputs = "");
  // A figure that would be there if `missing` were known.
  void AddUnknown(const char* what, const char* unit, std::string missing);

 private:
  std::string name_;
  std::vector<BudgetLine>* lines_;
};

// The given value or the usual one, written down either way.
class Chooser {
 public:
  explicit Chooser(std::vector<Assumption>* list) : list_(list) {}

  template <class T, class Text>
  T operator()(const char* name, const std::optional<T>& given, T usual, const char* why, Text text) {
    const T value = given.value_or(usual);
    list_->push_back({name, text(value), given ? "given" : why});
    return value;
  }

 private:
  std::vector<Assumption>* list_;
};

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_SECTION_H_
