#include "sim/schedule/order_text.h"

#include <algorithm>
#include <optional>

#include "sim/schedule/check_order.h"

namespace sim {
namespace {

using Kind = PipelineStep::Kind;

constexpr std::uint32_t kMostNumber =
    (1U << 20) - 1;  // as pipeline_schedule.cc has it for the pieces of a stage
constexpr std::size_t kMostStages = 1U << 16;
constexpr std::string_view kLetters = "FBIW";  // by Kind
constexpr std::string_view kPlacement = "placement:";

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string Quoted(std::string_view text) {
  constexpr std::size_t kMost = 24;
  std::string shown = "\"";
  for (const char c : text.substr(0, kMost)) shown += c >= ' ' && c != 0x7f ? c : '?';
  return shown + (text.size() > kMost ? "...\"" : "\"");
}

// The number at the front of `text`, which is taken off; nothing if there is none.
std::optional<std::uint32_t> TakeNumber(std::string_view* text) {
  std::uint64_t value = 0;
  std::size_t digits = 0;
  while (digits < text->size() && IsDigit((*text)[digits])) {
    value = std::min<std::uint64_t>(value * 10 + static_cast<std::uint64_t>((*text)[digits] - '0'), 1U << 30);
    ++digits;
  }
  if (digits == 0 || value > kMostNumber) return std::nullopt;
  text->remove_prefix(digits);
  return static_cast<std::uint32_t>(value);
}

// "F12", "B0.1", "W3-2", or nothing.
std::optional<PipelineStep> StepOf(std::string_view text) {
  const std::size_t letter = text.empty() ? kLetters.npos : kLetters.find(text[0]);
  if (letter == kLetters.npos) return std::nullopt;
  PipelineStep step = {static_cast<Kind>(letter)};
  text.remove_prefix(1);
  const auto number = [&](char before, std::uint32_t* value) {
    if (before != 0) {
      if (text.empty() || text[0] != before) return true;
      text.remove_prefix(1);
    }
    const auto taken = TakeNumber(&text);
    if (taken) *value = *taken;
    return taken.has_value();
  };
  const bool good = number(0, &step.microbatch) && number('.', &step.chunk) && number('-', &step.part);
  if (!good || !text.empty()) return std::nullopt;
  return step;
}

struct Position {
  std::size_t line = 0, column = 0;  // from 1
};

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : text_(text), file_(file) {}

  ParsedOrder Parse() {
    for (std::size_t at = 0, line = 1; at <= text_.size(); ++line) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      ParseLine(text_.substr(at, end - at), line);
      at = end + 1;
    }
    if (parsed_.order.stages.empty() && parsed_.errors.empty()) {
      Add({1, 1}, "no stage; a line a stage such as F0 F1 B0 B1 is wanted");
    }
    if (parsed_.errors.empty() && SetShape()) CheckLegal();
    return std::move(parsed_);
  }

 private:
  void Add(Position at, const std::string& message) {
    if (parsed_.errors.size() >= kMostOrderMistakes) return;
    parsed_.errors.push_back(std::string(file_) + ":" + std::to_string(at.line) + ":" +
                             std::to_string(at.column) + ": " + message);
  }

  void ParseLine(std::string_view line, std::size_t number) {
    line = line.substr(0, line.find('#'));
    std::vector<PipelineStep> steps;
    std::vector<Position> positions;
    bool any = false;
    for (std::size_t at = 0; at < line.size();) {
      if (IsBlank(line[at])) {
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < line.size() && !IsBlank(line[end])) ++end;
      if (!any && line.substr(at).starts_with(kPlacement)) {
        return ParsePlacement(line.substr(at + kPlacement.size()), {number, at + kPlacement.size() + 1});
      }
      any = true;
      ParseWord(line.substr(at, end - at), {number, at + 1}, &steps, &positions);
      at = end;
    }
    if (!any) return;
    if (parsed_.order.stages.size() == kMostStages) return Add({number, 1}, "more than 65536 stages");
    parsed_.order.stages.push_back(std::move(steps));
    positions.push_back({number, line.size() + 1});  // where a step is missing
    positions_.push_back(std::move(positions));
  }

  // A step, or several joined by '&'.
  void ParseWord(std::string_view word, Position at, std::vector<PipelineStep>* steps,
                 std::vector<Position>* positions) {
    for (;;) {
      const std::size_t end = std::min(word.find('&'), word.size());
      const std::string_view part = word.substr(0, end);
      std::optional<PipelineStep> step = StepOf(part);
      if (!step) {
        Add(at, Quoted(part) + " is no step; F0, B0, I0 or W0 (forward, whole backward, input or weight " +
                    "gradient of micro-batch 0), F0.1 in chunk 1, F0-1 of sequence part 1 would do, numbers "
                    "up to " +
                    std::to_string(kMostNumber));
        return;
      }
      step->joined = end < word.size();
      steps->push_back(*step);
      positions->push_back(at);
      if (end == word.size()) return;
      word.remove_prefix(end + 1);
      at.column += end + 1;
    }
  }

  void ParsePlacement(std::string_view text, Position at) {
    while (!text.empty() && IsBlank(text.front())) {
      text.remove_prefix(1);
      ++at.column;
    }
    while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
    if (placed_ || !parsed_.order.stages.empty()) return Add(at, "placement comes once, before the stages");
    placed_ = true;
    for (const Placement placement : {Placement::kLoop, Placement::kVee, Placement::kBothEnds}) {
      if (text == ToText(placement)) {
        parsed_.order.placement = placement;
        return;
      }
    }
    Add(at, Quoted(text) + " is no placement; loop, vee or both-ends is wanted");
  }

  // Counts are what the steps show. False if that cannot be.
  bool SetShape() {
    PipelineOrder& order = parsed_.order;
    PipelineShape& shape = order.shape;
    shape.stages = static_cast<std::uint32_t>(order.stages.size());
    std::size_t all = 0;
    for (const auto& steps : order.stages) {
      all += steps.size();
      for (const PipelineStep& step : steps) {
        shape.microbatches = std::max(shape.microbatches, step.microbatch + 1);
        shape.chunks = std::max(shape.chunks, step.chunk + 1);
        shape.parts = std::max(shape.parts, step.part + 1);
      }
    }
    if (order.placement == Placement::kBothEnds && (shape.chunks != 2 || shape.microbatches % 2 != 0)) {
      Add(positions_[0][0], "both-ends has " + std::to_string(shape.chunks) + " chunks and " +
                                std::to_string(shape.microbatches) +
                                " micro-batches; 2 chunks, and half of an even number for each, are wanted");
      return false;
    }
    // Each needs more than one step; this also keeps tables small. What is missing
    // of a count that is nearly covered, CheckOrder says one by one.
    const std::uint64_t cuts = CutsOf(order.placement, shape);
    const std::uint64_t each = shape.microbatches * cuts;
    if (each > all || each * shape.stages > all) {
      Add(positions_[0][0], std::to_string(shape.microbatches) + " micro-batches in " + std::to_string(cuts) +
                                " chunks and parts on " + std::to_string(shape.stages) +
                                " stages are far more than the " + std::to_string(all) + " steps can pass");
      return false;
    }
    return true;
  }

  void CheckLegal() {
    for (const OrderMistake& mistake : CheckOrder(parsed_.order)) {
      Add(positions_[mistake.stage][mistake.step], ToText(mistake, parsed_.order));
    }
  }

  std::string_view text_, file_;
  ParsedOrder parsed_;
  std::vector<std::vector<Position>> positions_;  // by stage and step, and one more for the end
  bool placed_ = false;
};

}  // namespace

ParsedOrder ParseOrder(std::string_view text, std::string_view file) { return Parser(text, file).Parse(); }

std::string ToText(std::span<const PipelineStep> steps, std::uint32_t chunks, std::uint32_t parts) {
  std::string text;
  bool joined = false;
  for (const PipelineStep& step : steps) {
    if (!text.empty()) text += joined ? '&' : ' ';
    text += kLetters[static_cast<std::size_t>(step.kind)];
    text += std::to_string(step.microbatch);
    if (chunks > 1) text += '.' + std::to_string(step.chunk);
    if (parts > 1) text += '-' + std::to_string(step.part);
    joined = step.joined;
  }
  return text;
}

std::string ToText(const PipelineOrder& order) {
  std::string text;
  if (order.placement != Placement::kLoop) {
    text += std::string(kPlacement) + " " + std::string(ToText(order.placement)) + "\n";
  }
  for (const auto& steps : order.stages) text += ToText(steps, order.shape.chunks, order.shape.parts) + "\n";
  return text;
}

std::string_view ToText(Placement placement) {
  switch (placement) {
    case Placement::kLoop:
      return "loop";
    case Placement::kVee:
      return "vee";
    case Placement::kBothEnds:
      return "both-ends";
  }
  return "";
}

}  // namespace sim
