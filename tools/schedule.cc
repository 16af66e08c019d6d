// orrery schedule: a pipeline's order as a picture, without a model.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <ostream>

#include "proto/text_reader.h"
#include "scenarios/output/output_file.h"
#include "scenarios/output/schedule_svg.h"
#include "sim/schedule/draw_order.h"
#include "sim/schedule/order_text.h"
#include "tools/commands.h"

namespace tools {
namespace {

using sim::Duration;
using sim::PipelineOrder;
using sim::PlayedOrder;

constexpr std::size_t kColumns = 100;
constexpr std::uint64_t kMostSteps = 1'000'000;
constexpr std::int64_t kTimeDigits = 6;           // after the point
constexpr std::int64_t kUnit = 1'000'000;         // ps; a time of 1 on the command line
constexpr std::int64_t kMostTime = 1'000'000;     // units
constexpr std::uint32_t kMostCount = (1U << 16);  // of stages, chunks, parts

// Everything that is wrong with the command line, in its order.
using Errors = std::vector<std::string>;

std::string Given(const Arguments& arguments, const std::string& flag) {
  return "--" + flag + ": \"" + arguments.value(flag) + "\" is ";
}

// A count between 1 and `most`; `otherwise` when the flag is not there.
std::uint32_t CountOf(const Arguments& arguments, const std::string& flag, std::uint32_t otherwise,
                      std::uint32_t most, Errors* errors) {
  if (!arguments.has(flag)) return otherwise;
  const std::string text = arguments.value(flag);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && value >= 1 && value <= most) return static_cast<std::uint32_t>(value);
  errors->push_back(Given(arguments, flag) + (whole ? "out of range" : "no whole number") + "; 1 to " +
                    std::to_string(most) + " would do");
  return 1;
}

// "1", "0.35": a time in any unit, exactly.
std::optional<Duration> TimeOf(const std::string& text) {
  std::int64_t value = 0, digits = -1;  // digits after the point; -1 before it
  bool any = false;
  for (const char c : text) {
    if (c == '.' && digits < 0) {
      digits = 0;
      continue;
    }
    if (c < '0' || c > '9' || digits == kTimeDigits || value > kMostTime * kUnit) return std::nullopt;
    value = value * 10 + (c - '0');
    any = true;
    if (digits >= 0) ++digits;
  }
  if (!any) return std::nullopt;
  for (std::int64_t i = std::max<std::int64_t>(digits, 0); i < kTimeDigits; ++i) value *= 10;
  if (value > kMostTime * kUnit) return std::nullopt;
  return Duration::Picoseconds(value);
}

Duration TimeOf(const Arguments& arguments, const std::string& flag, Duration otherwise, bool zero,
                Errors* errors) {
  if (!arguments.has(flag)) return otherwise;
  const std::optional<Duration> time = TimeOf(arguments.value(flag));
  if (time && (zero || *time > Duration())) return *time;
  errors->push_back(Given(arguments, flag) + "no time; a number " + (zero ? "from 0" : "above 0") + " to " +
                    std::to_string(kMostTime) + " with at most 6 digits after the point would do");
  return Duration::Picoseconds(kUnit);
}

sim::PassTimes TimesOf(const Arguments& arguments, Errors* errors) {
  const Duration unit = Duration::Picoseconds(kUnit);
  sim::PassTimes times = {};
  times.forward = TimeOf(arguments, "forward", unit, /*zero=*/false, errors);
  times.backward_input = TimeOf(arguments, "backward-input", unit, /*zero=*/false, errors);
  times.backward_weight = TimeOf(arguments, "weight", unit, /*zero=*/true, errors);
  times.joined = TimeOf(arguments, "joined", times.forward + times.backward(), /*zero=*/false, errors);
  if (times.joined < std::max(times.forward, times.backward())) {
    errors->push_back(Given(arguments, "joined") +
                      "less than the forward or the whole backward that it joins; no less would do");
  }
  return times;
}

bool AnyStep(const PipelineOrder& order, bool (*is)(const sim::PipelineStep&)) {
  return std::any_of(order.stages.begin(), order.stages.end(),
                     [&](const auto& steps) { return std::any_of(steps.begin(), steps.end(), is); });
}
bool IsSplit(const sim::PipelineStep& step) { return step.kind == sim::PipelineStep::Kind::kBackwardWeight; }
bool IsJoined(const sim::PipelineStep& step) { return step.joined; }

// What is to be drawn, and the closed forms of it if there is a schedule.
struct Subject {
  std::string name;
  const sim::PipelineSchedule* schedule = nullptr;  // null for an order from a file
  PipelineOrder order;
};

std::string TooMany(std::uint64_t steps) {
  return std::to_string(steps) + " steps are too many to draw; at most " + std::to_string(kMostSteps) +
         " would do";
}

std::optional<Subject> FromFile(const std::string& path, const Arguments& arguments, Errors* errors) {
  std::string text;
  proto::Diagnostics diagnostics;
  if (!proto::ReadFile(path, &text, &diagnostics)) {
    for (const std::string& error : diagnostics.errors()) errors->push_back(error);
    return std::nullopt;
  }
  sim::ParsedOrder parsed = sim::ParseOrder(text, path);
  errors->insert(errors->end(), parsed.errors.begin(), parsed.errors.end());
  for (const char* flag : {"stages", "microbatches", "chunks", "parts", "group-size"}) {
    if (arguments.has(flag)) errors->push_back(std::string("--") + flag + ": the file says it; leave it out");
  }
  std::size_t steps = 0;
  for (const auto& stage : parsed.order.stages) steps += stage.size();
  if (steps > kMostSteps) errors->push_back(path + ": " + TooMany(steps));
  if (!parsed.errors.empty()) return std::nullopt;
  return Subject{path, nullptr, std::move(parsed.order)};
}

std::optional<Subject> FromSchedule(const sim::PipelineSchedule& schedule, const Arguments& arguments,
                                    Errors* errors) {
  const std::size_t before = errors->size();
  sim::PipelineShape shape;
  for (const char* flag : {"stages", "microbatches"}) {
    if (!arguments.has(flag)) {
      errors->push_back(std::string("--") + flag + ": missing; a number from 1 on is wanted");
    }
  }
  shape.stages = CountOf(arguments, "stages", 1, kMostCount, errors);
  shape.microbatches = CountOf(arguments, "microbatches", 1, 1U << 20, errors);
  shape.chunks = CountOf(arguments, "chunks", schedule.chunks, kMostCount, errors);
  shape.parts = CountOf(arguments, "parts", schedule.parts, kMostCount, errors);
  shape.group_size = CountOf(arguments, "group-size", 0, 1U << 20, errors);
  if (errors->size() > before) return std::nullopt;
  if (const auto error = schedule.refuse(shape)) {
    errors->push_back(error->message);
    return std::nullopt;
  }
  const std::uint64_t steps = std::uint64_t{shape.stages} * shape.microbatches *
                              sim::CutsOf(schedule.placement, shape) * (schedule.splits_backward ? 3 : 2);
  if (steps > kMostSteps) {
    errors->push_back(TooMany(steps));
    return std::nullopt;
  }
  return Subject{std::string(schedule.name), &schedule, sim::OrderOf(schedule, shape)};
}

std::optional<Subject> SubjectOf(const Arguments& arguments, Errors* errors) {
  if (arguments.positional.empty() || arguments.positional[0].empty()) {
    errors->push_back("no schedule; `orrery schedule --list` names all, or give the file of an order");
    return std::nullopt;
  }
  const std::string& name = arguments.positional[0];
  if (const auto* schedule = sim::FindPipelineSchedule(name)) {
    return FromSchedule(*schedule, arguments, errors);
  }
  if (name.find_first_of("./") != name.npos) return FromFile(name, arguments, errors);
  std::vector<std::string> known;
  for (const auto* schedule : sim::PipelineSchedules()) known.emplace_back(schedule->name);
  const std::vector<std::string> near = proto::Nearest(name, known);
  errors->push_back("no schedule " + name + "; " +
                    (near.empty() ? "`orrery schedule --list` names all" : "did you mean " + near[0] + "?"));
  return std::nullopt;
}

std::string Format(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// The text of a played order.
class Printer {
 public:
  Printer(const Subject& subject, const PlayedOrder& played, const sim::PassTimes& times)
      : subject_(subject),
        played_(played),
        times_(times),
        cuts_(static_cast<std::int64_t>(sim::CutsOf(subject.order.placement, subject.order.shape))) {}

  std::string Text() const { return Head() + Drawing() + Bubble() + Table(); }

 private:
  // Times are played as if a part of a chunk took what the command line says of a
  // whole stage, so that they stay whole; shown, they are divided again.
  std::string Shown(Duration time) const {
    return Format("%.6g", static_cast<double>(time.ps()) / static_cast<double>(kUnit * cuts_));
  }
  std::string Percent(Duration part) const {
    return Format("%.1f", 100 * static_cast<double>(part.ps()) / static_cast<double>(played_.length.ps()));
  }
  // Activations in micro-batches of a whole stage.
  std::string Held(std::uint32_t chunk_parts) const {
    return Format("%.4g", static_cast<double>(chunk_parts) / static_cast<double>(cuts_));
  }

  bool Any(bool (*is)(const sim::PipelineStep&)) const { return AnyStep(subject_.order, is); }

  std::string Head() const {
    const sim::PipelineShape& shape = subject_.order.shape;
    const auto n = [](std::uint32_t count, const char* one) {
      return std::to_string(count) + ' ' + one + (count == 1 ? "" : "s");
    };
    std::string text = subject_.name;
    if (subject_.schedule != nullptr) text += ": " + std::string(subject_.schedule->summary);
    text += "\n  " + n(shape.stages, "stage") + ", " + n(shape.microbatches, "micro-batch");
    if (shape.microbatches != 1) text.replace(text.size() - 1, 1, "es");
    if (shape.chunks > 1) text += ", " + n(shape.chunks, "chunk") + " a stage";
    if (shape.parts > 1) text += ", " + n(shape.parts, "part") + " a sequence";
    const auto one = [&](Duration time) {
      return Format("%.6g", static_cast<double>(time.ps()) / static_cast<double>(kUnit));
    };
    text += "\n  of one micro-batch through one stage: forward " + one(times_.forward) + ", input gradient " +
            one(times_.backward_input) + ", weight gradient " + one(times_.backward_weight);
    if (Any(IsJoined)) text += "\n  forward beside backward " + one(times_.joined);
    return text + "\n\n";
  }

  std::string Drawing() const {
    const sim::DrawnOrder drawn = sim::DrawOrder(subject_.order, played_, kColumns);
    std::string text = drawn.text + "\n  F forward, B backward, I input gradient, W weight gradient";
    if (subject_.order.shape.chunks > 1) text += ", in lower case for odd chunks";
    text += "; '.' idle\n";
    if (Any(IsJoined)) text += "  & a forward beside a backward\n";
    if (!drawn.to_scale) {
      text += "  Too long for " + std::to_string(kColumns) +
              " columns: each shows what runs at its middle, and short steps may be missing.\n";
    }
    return text + '\n';
  }

  std::string Bubble() const {
    const sim::PipelineSchedule* schedule = subject_.schedule;
    std::string text = "  step         " + Shown(played_.length) + "\n  bubble       ";
    const Duration whole = sim::BubbleOf(played_, false);
    text += Shown(whole) + ", " + Percent(whole) + " % of the step, on the stage that idles most\n";
    const bool own = schedule != nullptr && schedule->bypasses_optimizer;
    if (own) {
      text += "               " + Shown(sim::BubbleOf(played_, true)) +
              " between a stage's own first and last step, if the optimizer waits for none\n";
    }
    if (schedule != nullptr) {
      const auto form = schedule->bubble(subject_.order.shape, times_);
      text += "  closed form  " + (form ? Shown(*form) : "none known for these times and counts") +
              (form && own ? ", of the latter\n" : "\n");
      if (schedule->parameter_copies > 1) {
        text += "  parameters   " + std::to_string(schedule->parameter_copies) + " copies\n";
      }
    }
    return text + '\n';
  }

  // In flight: micro-batches of one stage, until the whole backward or the gradient named.
  std::string Table() const {
    const bool split = Any(IsSplit);
    std::string text = "  micro-batches of a stage in flight, at most";
    text += split ? ", from forward to input (I) or weight gradient (W)\n" : "\n";
    text +=
        split ? "  stage   idle %  to I    to W    closed form\n" : "  stage   idle %  held    closed form\n";
    for (std::uint32_t stage = 0; stage < subject_.order.shape.stages; ++stage) {
      const std::vector<sim::PipelineStep>& steps = subject_.order.stages[stage];
      char line[160];
      std::string form = "-";
      if (subject_.schedule != nullptr) {
        form = (subject_.schedule->in_flight_is_the_most ? "at most " : "") +
               Held(subject_.schedule->in_flight(subject_.order.shape, stage));
      }
      const std::string to_input = Held(sim::MostInFlight(steps, sim::HeldUntil::kBackwardInput));
      const std::string to_weight = Held(sim::MostInFlight(steps, sim::HeldUntil::kBackwardWeight));
      std::snprintf(line, sizeof line, "  %5u  %7s  %-6s  ", stage, Percent(played_.Idle(stage)).c_str(),
                    split ? to_input.c_str() : to_weight.c_str());
      text += line;
      if (split) {
        std::snprintf(line, sizeof line, "%-6s  ", to_weight.c_str());
        text += line;
      }
      text += form + '\n';
    }
    return text;
  }

  const Subject& subject_;
  const PlayedOrder& played_;
  const sim::PassTimes& times_;
  std::int64_t cuts_;
};

std::string ListText() {
  std::string text = "schedules\n";
  for (const sim::PipelineSchedule* schedule : sim::PipelineSchedules()) {
    char line[40];
    std::snprintf(line, sizeof line, "  %-12s", std::string(schedule->name).c_str());
    text += line + std::string(schedule->summary) + "\n              needs " + std::string(schedule->needs) +
            '\n';
  }
  return text;
}

int RunSchedule(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.has("list")) {
    out << ListText();
    return kExitDone;
  }
  Errors errors;
  const sim::PassTimes times = TimesOf(arguments, &errors);
  const std::string svg = arguments.value("svg");
  if (arguments.has("svg") && (svg.empty() || svg == "-")) {
    errors.push_back("--svg " + svg + ": the name of a file is wanted");
  }
  for (const std::string& input : arguments.positional) {
    if (svg.empty() || !scenarios::IsSameFile(svg, input)) continue;
    errors.push_back("--svg " + svg + " is the file to read; another name is wanted");
  }
  const std::optional<Subject> subject = SubjectOf(arguments, &errors);
  if (subject && arguments.has("joined") && !AnyStep(subject->order, IsJoined)) {
    errors.push_back("--joined: " + subject->name + " joins no steps; leave it out");
  }
  std::optional<scenarios::OutputFile> file;
  if (subject && errors.empty() && arguments.has("svg")) {
    auto created = scenarios::OutputFile::Create(svg);
    if (created.ok()) {
      file.emplace(std::move(created).value());
    } else {
      errors.push_back(created.error().message);
    }
  }
  for (const std::string& error : errors) err << "orrery: error: " << error << '\n';
  if (!subject || !errors.empty()) return kExitUsage;

  const PlayedOrder played = sim::PlayOrder(subject->order, times);
  if (file) {
    scenarios::WriteScheduleSvg(subject->order, played, subject->name, &*file);
    if (const auto written = file->Finish(); !written.ok()) {
      return Fail(written.error().message, err);
    }
  }
  out << (arguments.has("text") ? sim::ToText(subject->order) : Printer(*subject, played, times).Text());
  return kExitDone;
}

}  // namespace

Command ScheduleCommand() {
  return {"schedule",
          "Draws a pipeline schedule with its bubbles, beside closed forms; needs no model.",
          "SCHEDULE --stages P --microbatches M [OPTION]... | FILE [OPTION]... | --list",
          1,
          {{"stages", "P", "pipeline stages", false},
           {"microbatches", "M", "micro-batches of a step", false},
           {"chunks", "V", "chunks of the model a stage (virtual stages)", false},
           {"parts", "K", "parts of each sequence (seq1f1b)", false},
           {"group-size", "N", "micro-batches of a group (interleaved)", false},
           {"forward", "T", "time of a forward of one micro-batch through one stage, in any unit; 1", false},
           {"backward-input", "T", "time of its input gradient; 1", false},
           {"weight", "T", "time of its weight gradient; 1", false},
           {"joined", "T", "time of a forward beside a backward (dualpipe); their sum", false},
           {"svg", "FILE", "write the picture to a file", false},
           {"text", "", "print the order as a file that can be changed and given back", false},
           {"list", "", "name all schedules and what they need", false}},
          "  orrery schedule 1f1b --stages 4 --microbatches 8\n"
          "  orrery schedule zbv --stages 4 --microbatches 8 --svg zbv.svg\n"
          "  orrery schedule zb1p --stages 4 --microbatches 8 --text > my_order.txt\n"
          "  orrery schedule my_order.txt --weight 0.5    a line a stage: F0 F1 I0 W0 ...; checked first\n",
          RunSchedule};
}

}  // namespace tools
