#include <algorithm>

#include "tests/pages/page.h"
#include "tests/planning/planning.h"

namespace planning {
namespace {

constexpr const char* kHead = R"(# The textbook's plans, planned again

Sections 17.5 and 17.9 of the textbook plan training runs by hand, from an MFU that they guess. Here
`orrery plan` gets the same wishes, and MFU comes out of simulated steps. In bold is what is printed; below
it what the plan finds: first with the printed layout where there is one, then with its own choice. MFU
counts 6PD, as the textbook does; *to expect* is less by the 16 % that real steps take longer than
simulated ones (`docs/validation.md`), and days are of that. E, A and B with a number are the rows of a list
of the textbook's errors that `docs/textbook.md` names too. Money is that of devices rented at table 17-65's
reserved prices.

`tests/planning` makes this page and fails when it is not what the library gives; the test says where it
has put the new one. Its searches play one or two layouts of some tens of devices at a time, and stop there;
the commands under each case search longer and end some per cent better or worse, with the same conclusions.

)";

template <typename Found>
Case Made(Found (*plan)()) {
  return ToCase(plan());
}

std::vector<Case> AllCases() {
  return {Made(PlanSteps),         Made(PlanSmallDense),  Made(PlanLargeDense),
          Made(PlanLargeInBudget), Made(PlanManyExperts), Made(PlanLargeExperts),
          Made(PlanTwoDevices),    Made(PlanFailures),    Made(PlanHandOrder)};
}

}  // namespace

std::string Head() { return kHead + pages::TableHead(Heads()); }

std::string LinesOf(const Case& one) {
  std::string out;
  for (const Line& line : one.lines) out += pages::TableLine(line);
  return out;
}

// Paragraphs that hold a table are wrapped already.
std::string SectionOf(const Case& one) {
  std::string out = "\n## " + one.title + "\n\n";
  const bool tables = one.text.find("\n|") != std::string::npos;
  for (std::size_t at = 0; at < one.text.size();) {
    const std::size_t end = tables ? one.text.size() : std::min(one.text.find("\n\n", at), one.text.size());
    const std::string paragraph = one.text.substr(at, end - at);
    out += (at > 0 ? "\n" : "") + (tables ? paragraph : pages::Wrapped(paragraph)) + '\n';
    at = end + 2;
  }
  return out;
}

std::string Document() {
  const std::vector<Case> cases = AllCases();
  std::string out = Head();
  for (const Case& one : cases) out += LinesOf(one);
  for (const Case& one : cases) out += SectionOf(one);
  return out;
}

}  // namespace planning
