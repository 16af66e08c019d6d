#include "sim/schedule/draw_order.h"

#include <algorithm>
#include <numeric>

namespace sim {
namespace {

constexpr char kIdle = '.';

char LetterOf(const PipelineStep& step) {
  const char letter = "FBIW"[static_cast<std::size_t>(step.kind)];
  return step.chunk % 2 == 1 ? static_cast<char>(letter - 'A' + 'a') : letter;
}

// The longest time of which every start and end is a multiple.
std::int64_t TickOf(const PlayedOrder& played) {
  std::int64_t tick = 0;
  for (const auto& stage : played.spans) {
    for (const StepSpan& span : stage) tick = std::gcd(std::gcd(tick, span.start.ps()), span.end.ps());
  }
  return tick;
}

char ShortLabel(const PipelineStep& step) { return step.joined ? '&' : LetterOf(step); }

// A step in `width` columns: as much as fits of its label, and a line.
std::string Cell(const PipelineOrder& order, std::size_t stage, std::size_t step, std::size_t width) {
  const PipelineStep& at = order.stages[stage][step];
  std::string label = LabelOf(order, stage, step);
  if (label.size() > width && !at.joined) label = LetterOf(at) + std::to_string(at.microbatch);
  if (label.size() > width) label = ShortLabel(at);
  return label + std::string(width - label.size(), '-');
}

// How a drawing to scale is laid out.
struct Scale {
  std::int64_t tick = 1;  // ps
  std::size_t columns_a_tick = 1;
  std::size_t ColumnOf(Duration at) const {
    return static_cast<std::size_t>(at.ps() / tick) * columns_a_tick;
  }
};

// Columns a tick that every label needs.
std::size_t ColumnsForLabels(const PipelineOrder& order, const PlayedOrder& played, std::int64_t tick) {
  std::size_t most = 1;
  for (std::size_t stage = 0; stage < order.stages.size(); ++stage) {
    for (std::size_t i = 0; i < order.stages[stage].size(); ++i) {
      const StepSpan& span = played.spans[stage][i];
      const auto ticks = static_cast<std::size_t>((span.end - span.start).ps() / tick);
      if (ticks > 0) most = std::max(most, (LabelOf(order, stage, i).size() + ticks - 1) / ticks);
      if (order.stages[stage][i].joined) ++i;
    }
  }
  return most;
}

std::string ExactLine(const PipelineOrder& order, const PlayedOrder& played, std::size_t stage,
                      const Scale& scale) {
  std::string line;
  const std::vector<PipelineStep>& steps = order.stages[stage];
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StepSpan& span = played.spans[stage][i];
    const std::size_t start = scale.ColumnOf(span.start), end = scale.ColumnOf(span.end);
    line.resize(start, kIdle);
    if (end > start) line += Cell(order, stage, i, end - start);
    if (steps[i].joined) ++i;
  }
  line.resize(scale.ColumnOf(played.length), kIdle);
  return line;
}

// What runs at the middle of each of `width` columns.
std::string SampledLine(const PipelineOrder& order, const PlayedOrder& played, std::size_t stage,
                        std::size_t width) {
  std::string line;
  const std::vector<StepSpan>& spans = played.spans[stage];
  std::size_t i = 0;
  for (std::size_t column = 0; column < width; ++column) {
    const Wide middle = static_cast<Wide>(played.length.ps()) * static_cast<Wide>(2 * column + 1) /
                        static_cast<Wide>(2 * width);
    const auto at = Duration::Picoseconds(static_cast<std::int64_t>(middle));
    while (i < spans.size() && spans[i].end <= at) ++i;
    const bool idle = i == spans.size() || spans[i].start > at;
    line += idle ? kIdle : ShortLabel(order.stages[stage][i]);
  }
  return line;
}

}  // namespace

std::string LabelOf(const PipelineOrder& order, std::size_t stage, std::size_t step) {
  const std::vector<PipelineStep>& steps = order.stages[stage];
  const PipelineStep& at = steps[step];
  std::string label = LetterOf(at) + std::to_string(at.microbatch);
  if (order.shape.parts > 1) label += '-' + std::to_string(at.part);
  if (at.joined) label += '&' + LabelOf(order, stage, step + 1);
  return label;
}

DrawnOrder DrawOrder(const PipelineOrder& order, const PlayedOrder& played, std::size_t columns) {
  CHECK(played.finished && played.length > Duration() && columns >= 40);
  DrawnOrder drawn;
  const std::string digits = std::to_string(order.stages.size() - 1);
  const std::size_t room = columns - std::string("stage  ||").size() - digits.size();
  Scale scale = {TickOf(played)};
  const std::int64_t ticks = played.length.ps() / scale.tick;
  drawn.to_scale = ticks <= static_cast<std::int64_t>(room);
  if (drawn.to_scale) {
    scale.columns_a_tick =
        std::min(ColumnsForLabels(order, played, scale.tick), room / static_cast<std::size_t>(ticks));
  }
  for (std::size_t stage = 0; stage < order.stages.size(); ++stage) {
    const std::string number = std::to_string(stage);
    drawn.text += "stage " + std::string(digits.size() - number.size(), ' ') + number + " |";
    drawn.text +=
        drawn.to_scale ? ExactLine(order, played, stage, scale) : SampledLine(order, played, stage, room);
    drawn.text += "|\n";
  }
  return drawn;
}

}  // namespace sim
