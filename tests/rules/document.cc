#include <algorithm>

#include "tests/rules/rules.h"

namespace rules {
namespace {

constexpr std::size_t kColumns = 120;  // of a paragraph; it has spaces

constexpr const char* kHead = R"(# Sixteen rules of thumb, simulated

Section 17.9.5 of the textbook ends in sixteen rules of thumb; 17.5.8 adds a table of ranges and a tree of
decisions. Each is put here as claims that a sweep can answer: a row says yes where it speaks for the rule.
A claim that holds in every row is confirmed, in some within bounds, in none refuted; so is a rule by its
claims together. Under each table stand the rows at which a claim turns, and behind them why. Sweeps are
small, of few layers or devices where the conclusion is that of the whole; where something is not simulated,
its setting says so. Figures are Orrery's, whose errors `docs/validation.md` has: what turns by a few per
cent may turn elsewhere in reality.

`tests/rules` makes this page and fails when it is not what the sweeps give; the test says where it has put
the new one.

)";

std::string TableLine(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += ' ' + cell + " |";
  return line + '\n';
}

const char* Word(char answer) { return answer == 'y' ? "yes" : answer == 'n' ? "no" : ""; }

// Texts are written in lines of any length.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::string Wrapped(const std::string& text) {
  std::string out, rest = OneLine(text);
  while (rest.size() > kColumns) {
    const std::size_t space = rest.rfind(' ', kColumns);
    out += rest.substr(0, space) + '\n';
    rest.erase(0, space + 1);
  }
  return out + rest;
}

// "A", "B", ... heads the column of answers to each claim.
std::string Letter(std::size_t claim) { return std::string(1, static_cast<char>('A' + claim)); }

std::string Table(const Sweep& sweep) {
  std::vector<std::string> head = sweep.columns;
  for (std::size_t i = 0; i < sweep.claims.size(); ++i) head.push_back(Letter(i));
  std::string out = TableLine(head) + '|';
  for (std::size_t i = 0; i < head.size(); ++i) out += "---|";
  out += '\n';
  for (const Row& row : sweep.rows) {
    std::vector<std::string> cells = row.cells;
    cells.resize(sweep.columns.size());
    for (const char answer : row.answers) cells.push_back(Word(answer));
    out += TableLine(cells);
  }
  return out;
}

// Where a claim turns: the rows that say no, or those that say yes where they are fewer.
std::string Bound(const Sweep& sweep, std::size_t claim) {
  if (sweep.Of(claim) != Verdict::kWithinBounds) return "";
  const std::string answers = sweep.AnswersTo(claim);
  const bool few_hold =
      2 * std::count(answers.begin(), answers.end(), 'y') < static_cast<long>(answers.size());
  std::string names;
  for (const Row& row : sweep.rows) {
    if (row.answers[claim] == (few_hold ? 'y' : 'n')) names += (names.empty() ? "" : "; ") + row.cells[0];
  }
  return (few_hold ? ". Only: " : ". Not: ") + names;
}

std::string Claims(const Sweep& sweep) {
  std::string out;
  for (std::size_t i = 0; i < sweep.claims.size(); ++i) {
    out += "- " + Letter(i) + ", " + sweep.claims[i] + ": **" + ToText(sweep.Of(i)) + "**" + Bound(sweep, i) +
           '\n';
  }
  return out;
}

}  // namespace

const char* ToText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kConfirmed:
      return "confirmed";
    case Verdict::kWithinBounds:
      return "confirmed within bounds";
    case Verdict::kRefuted:
      return "refuted";
  }
  return "";
}

std::string Sweep::AnswersTo(std::size_t claim) const {
  std::string answers;
  for (const Row& row : rows) {
    if (row.answers[claim] != '-') answers += row.answers[claim];
  }
  return answers;
}

Verdict Sweep::Of(std::size_t claim) const {
  const std::string answers = AnswersTo(claim);
  if (answers.find('n') == std::string::npos) return Verdict::kConfirmed;
  return answers.find('y') == std::string::npos ? Verdict::kRefuted : Verdict::kWithinBounds;
}

Verdict Rule::verdict() const {
  bool confirmed = true, refuted = true;
  for (const Sweep& sweep : sweeps) {
    for (std::size_t i = 0; i < sweep.claims.size(); ++i) {
      confirmed = confirmed && sweep.Of(i) == Verdict::kConfirmed;
      refuted = refuted && sweep.Of(i) == Verdict::kRefuted;
    }
  }
  return confirmed ? Verdict::kConfirmed : refuted ? Verdict::kRefuted : Verdict::kWithinBounds;
}

std::vector<Rule> AllRules() {
  return {DataFirstPipelineLast(),  TensorInsideNvlink(),  AccumulationFreesData(),
          ExpertsInsideANode(),     AdamTakesEight(),      RecomputationPays(),
          SixteenBytesAtLeast(),    SavesTakeTen(),        UtilisationFallsByTens(),
          ExpertsCostUtilisation(), DecodingReadsMemory(), CachesOutgrowWeights(),
          FourBitsForThroughput(),  OneFailureStopsAll(),  TokenisersStarveTraining(),
          NetworksCostBeyond64(),   RangesOfLayouts(),     LayoutsByModelSize()};
}

std::string Head() {
  std::string out = kHead;
  out += "| rule | it says | verdict | where it turns |\n|---|---|---|---|\n";
  return out;
}

std::string Line(const Rule& rule) {
  return TableLine({rule.id, OneLine(rule.says), ToText(rule.verdict()), OneLine(rule.turns)});
}

std::string Section(const Rule& rule) {
  std::string out = "\n## " + rule.id + ": " + ToText(rule.verdict()) + "\n\n" + Wrapped(rule.says) + '\n';
  for (const Sweep& sweep : rule.sweeps) {
    out += '\n' + Wrapped(sweep.setting) + "\n\n" + Table(sweep) + '\n' + Claims(sweep);
  }
  return out + '\n' + Wrapped(rule.because) + '\n';
}

std::string Document(const std::vector<Rule>& rules) {
  std::string out = Head();
  for (const Rule& rule : rules) out += Line(rule);
  for (const Rule& rule : rules) out += Section(rule);
  return out;
}

}  // namespace rules
