#include "tests/textbook/document.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "tests/textbook/symbols.h"

namespace textbook {
namespace {

constexpr const char* kHead = R"(# The textbook's figures, computed

Chapters 17 (AI infrastructure computation) and 27 (model size and resource budget) of a textbook are where
this project's closed forms come from. Each row is a figure that they print, or a formula of theirs with
numbers put in, and what the program computes from the same inputs, to as many digits; where the two differ
it says why. E, A and B with a number are rows of an earlier list of corrections, the others are new.

`tests/textbook` makes this page and fails when it is not what the library gives; its `index.csv` lists every
section, table, picture, equation, example and exercise. To write the page anew: run `textbook_test`; where
the page differs, the test says where it has put the new one. What a step waits for is not a closed form:
`docs/who_exposes_what.md` has it simulated, `docs/rules.md` the rules of thumb of 17.9.5, and
`docs/planning.md` the plans of 17.5 and 17.9.

)";

// As many digits as were printed, without an exponent where the print has none.
std::string Digits(const Figure& figure) {
  const std::string like = *figure.right != '\0' ? figure.right : figure.printed;
  char text[64];
  if (like.find('e') != std::string::npos) {
    std::snprintf(text, sizeof text, "%.4g", figure.computed);
    return text;
  }
  const std::size_t point = like.find('.');
  const int decimals = point == std::string::npos ? 0 : static_cast<int>(like.size() - point - 1);
  std::snprintf(text, sizeof text, "%.*f", decimals, figure.computed);
  std::string out = text;
  const std::size_t whole = std::min(out.find('.'), out.size());
  if (like.find(',') != std::string::npos || whole > 6) {
    for (std::size_t i = whole; i > 3 + (out[0] == '-' ? 1u : 0u);) out.insert(i -= 3, 1, ',');
  }
  return out;
}

void AppendCounts(const std::vector<Entry>& index, std::string* out) {
  std::map<std::string, int> states;
  for (const Entry& entry : index) ++states[entry.state];
  const auto n = [&](const char* state) { return std::to_string(states[state]); };
  *out += "Of " + std::to_string(index.size()) + " entries, figures of " + n("figures") + " are below; " +
          n("test") + " are held by another test, " + n("as") + " show the same as another entry, " +
          n("parts") + " are sections whose contents are counted, " + n("out") +
          " are out of scope.\n\nOpen: " + n("open") + "\n\n";
}

void AppendList(const std::vector<Entry>& index, const char* state, const char* title, std::string* out) {
  *out += std::string("## ") + title + "\n\n";
  std::string line;
  for (const Entry& entry : index) {
    if (entry.state != state) continue;
    if (entry.state == "open") {
      line += (line.empty() ? "" : ", ") + entry.id;
    } else {
      line += "- " + entry.id + ": " + entry.what + '\n';
    }
  }
  if (line.empty()) line = "none";
  *out += line + (*state == 'o' && line.back() != '\n' ? "\n\n" : "\n");
}

}  // namespace

models::Model ModelOf(const std::string& name) {
  proto::Diagnostics diagnostics;
  return models::ReadModel(name, {}, "", &diagnostics).value();
}

hardware::Device DeviceOf(const std::string& name) {
  proto::Diagnostics diagnostics;
  return hardware::ReadDevice(name, {}, "", &diagnostics).value();
}

std::vector<Figure> AllFigures() {
  std::vector<Figure> all;
  for (const auto& part : {ParameterFigures(), ComputeFigures(), MemoryFigures(), TimeFigures(),
                           CommunicationFigures(), StorageFigures(), ServingFigures(), CaseFigures()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

Printed Parse(const std::string& text) {
  std::string digits;
  std::copy_if(text.begin(), text.end(), std::back_inserter(digits), [](char c) { return c != ','; });
  Printed printed{std::strtod(digits.c_str(), nullptr), 1};
  const std::size_t exponent = std::min(digits.find('e'), digits.size());
  const std::size_t point = digits.find('.');
  if (point < exponent) {
    for (std::size_t i = point + 1; i < exponent; ++i) printed.last_digit /= 10;
  }
  if (exponent < digits.size())
    printed.last_digit *= std::strtod(("1" + digits.substr(exponent)).c_str(), nullptr);
  return printed;
}

bool Agrees(double computed, const std::string& text) {
  const Printed printed = Parse(text);
  // Some figures are rounded, some cut off.
  return std::abs(computed - printed.value) < 0.999999 * printed.last_digit;
}

std::string Document(const std::vector<Figure>& figures, const std::vector<Entry>& index) {
  std::string out = kHead;
  AppendCounts(index, &out);
  std::map<std::string, std::vector<const Figure*>> by_id;
  for (const Figure& figure : figures) by_id[figure.id].push_back(&figure);
  out += "| where | what | printed | computed | why |\n|---|---|---|---|---|\n";
  for (const Entry& entry : index) {
    for (const Figure* figure : by_id[entry.id]) {
      out += "| " + entry.id + " | " + figure->what + " | " + figure->printed + " | " + Digits(*figure) +
             " | " + figure->why + " |\n";
    }
  }
  out += '\n';
  out += "## Symbols\n\nIts F and P are results; S is a length in chapter 17 and a deadline in 27.\n\n";
  out += "| symbol | | | field or flag |\n|---|---|---|---|\n";
  for (const Symbol& s : kSymbols) {
    out += std::string("| ") + s.symbol + " | " + s.chinese + " | " + s.english + " | `" + s.field + "` |\n";
  }
  out += '\n';
  AppendList(index, "test", "Held by another test", &out);
  AppendList(index, "out", "Out of scope", &out);
  AppendList(index, "open", "Open", &out);
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace textbook
