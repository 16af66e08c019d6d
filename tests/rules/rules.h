// The sixteen rules of thumb of section 17.9.5 of the textbook, and two pictures of 17.5.8 that give
// such rules too: what each claims, and what simulated sweeps say of it.
//
// A claim is asked in every row of a table; where the answer is yes, the row speaks for the rule. What
// becomes of the rule follows from the answers alone.

#ifndef TESTS_RULES_RULES_H_
#define TESTS_RULES_RULES_H_

#include <string>
#include <vector>

namespace rules {

enum class Verdict { kConfirmed, kWithinBounds, kRefuted };
const char* ToText(Verdict verdict);

// One answer to each claim: 'y', 'n', or '-' where the row does not ask it.
struct Row {
  std::vector<std::string> cells;  // the first is its name
  std::string answers;
};

struct Sweep {
  std::string setting;               // what is simulated, and what varies
  std::vector<std::string> columns;  // of the cells
  std::vector<std::string> claims;   // as the rule has it
  std::vector<Row> rows;

  // The answers to one claim, row by row, '-' left out.
  std::string AnswersTo(std::size_t claim) const;
  Verdict Of(std::size_t claim) const;
};

struct Rule {
  std::string id;     // "Rule 1", as headed in the page
  std::string says;   // the rule, in one sentence
  std::string turns;  // where it does not hold, in a few words
  std::vector<Sweep> sweeps;
  std::string because;  // why it comes out so: no figures of the sweeps, which may move

  Verdict verdict() const;  // of all claims together
};

Rule DataFirstPipelineLast();     // 1
Rule TensorInsideNvlink();        // 2
Rule AccumulationFreesData();     // 3
Rule ExpertsInsideANode();        // 4
Rule AdamTakesEight();            // 5
Rule RecomputationPays();         // 6
Rule SixteenBytesAtLeast();       // 7
Rule SavesTakeTen();              // 8
Rule UtilisationFallsByTens();    // 9
Rule ExpertsCostUtilisation();    // 10
Rule DecodingReadsMemory();       // 11
Rule CachesOutgrowWeights();      // 12
Rule FourBitsForThroughput();     // 13
Rule OneFailureStopsAll();        // 14
Rule TokenisersStarveTraining();  // 15
Rule NetworksCostBeyond64();      // 16
Rule RangesOfLayouts();           // table 17-62
Rule LayoutsByModelSize();        // figure 17-26

std::vector<Rule> AllRules();  // in this order

// docs/rules.md, and its parts: what comes before all, one rule's line of the table, one rule's section.
std::string Document(const std::vector<Rule>& rules);
std::string Head();
std::string Line(const Rule& rule);
std::string Section(const Rule& rule);

}  // namespace rules

#endif  // TESTS_RULES_RULES_H_
