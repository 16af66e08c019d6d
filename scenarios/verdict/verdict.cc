#include "scenarios/verdict/verdict.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>

#include "scenarios/budget/data_storage.h"
#include "scenarios/closed_form.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/stage_memory.h"
#include "scenarios/step_builder.h"
#include "scenarios/verdict/remedies.h"

namespace scenarios {
namespace {

constexpr double kWorthTelling = 0.05;  // of the step
constexpr std::size_t kMostSuggestions = 3;

[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...) {
  std::array<char, 400> line;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  return line.data();
}

std::string Percent(double part) { return Format("%.1f %%", 100 * part); }

std::string Gibibytes(sim::Bytes bytes) {
  return Format("%.1f GiB", static_cast<double>(bytes.count()) / (1 << 30));
}

// Whether it fits, and does not lose to a longer bubble what it might gain.
bool Helps(const Scenario& tried, const Loss& loss, const Report& report) {
  const auto stages = PlanStages(tried, CostModelOf(tried));
  if (LargestStageMemory(tried, stages).total > tried.device.usable_memory) return false;
  const double longer = ClosedFormOf(tried, stages).bubble_share - report.closed_form.bubble_share;
  return loss.limit == Limit::kMemory || longer < loss.share;
}

const StageReport& LargestStage(const Report& report) {
  return *std::max_element(
      report.stages.begin(), report.stages.end(),
      [](const StageReport& a, const StageReport& b) { return a.memory_total < b.memory_total; });
}

std::string MemoryText(const Report& report) {
  const StageReport& stage = LargestStage(report);
  std::vector<BytePart> parts = stage.memory;
  std::stable_sort(parts.begin(), parts.end(),
                   [](const BytePart& a, const BytePart& b) { return a.bytes > b.bytes; });
  parts.resize(std::min(parts.size(), std::size_t{3}));
  std::string list;
  for (const BytePart& part : parts)
    list += (list.empty() ? "" : ", ") + part.name + ' ' + Gibibytes(part.bytes);
  return "it does not fit: stage " + std::to_string(stage.stage) + " holds " + Gibibytes(stage.memory_total) +
         " of the " + Gibibytes(report.memory_per_device) + " a device has, " +
         Gibibytes(stage.memory_total - report.memory_per_device) + " too much: " + list;
}

std::string BubbleText(const Report& report, const std::string& part) {
  return part + " of the step a stage waits for others while the pipeline fills and drains: " +
         std::to_string(report.micro_batches) +
         (report.micro_batches == 1 ? " micro-batch, " : " micro-batches, ") +
         std::to_string(report.pipeline) + " stages of " + std::to_string(report.virtual_stages) +
         (report.virtual_stages == 1 ? " piece" : " pieces");
}

std::string StagesText(const Report& report, const std::string& part) {
  const auto busier = [](const StageReport& a, const StageReport& b) { return a.busy < b.busy; };
  const auto [least, most] = std::minmax_element(report.stages.begin(), report.stages.end(), busier);
  return "stages have unequal work: stage " + std::to_string(most->stage) + " is busy for " +
         Percent(most->busy.seconds() / report.step_time.seconds()) + " of the step, stage " +
         std::to_string(least->stage) + " for " +
         Percent(least->busy.seconds() / report.step_time.seconds()) +
         "; shared out evenly they would save " + part;
}

std::string SavesText(const Report& report, const std::string& part, bool stalls) {
  const std::string cost = "saves take " + part + " of the time: ";
  if (stalls)
    return cost + "storage is too slow for one every " + std::to_string(report.checkpoint->every_steps) +
           " steps, and staging is full";
  return cost + "a step waits for them, or runs slower beside them";
}

std::string ComputeText(const Report& report) {
  const double compute = ComputeShare(report);
  return "compute takes " + Percent(compute) + " of the step, at " + Percent(report.mfu / compute) +
         " of the " + report.peak_format + " peak; nothing obvious to gain, the rest is how well kernels do";
}

std::string TextOf(const Loss& loss, const Report& report) {
  const std::string part = Percent(loss.share);
  switch (loss.limit) {
    case Limit::kMemory:
      return MemoryText(report);
    case Limit::kRecomputation:
      return "activations that are computed again take " + part + " of the step";
    case Limit::kPipelineBubble:
      return BubbleText(report, part);
    case Limit::kStageImbalance:
      return StagesText(report, part);
    case Limit::kExpertImbalance:
      return "experts have unequal loads: ranks wait " + part + " of the step for the busiest group, at " +
             Format("%.2f", report.expert_imbalance) + " of the mean";
    case Limit::kContextImbalance:
      return "parts of a sequence have unequal work: ranks wait " + part + " of the step for the last part";
    case Limit::kDataParallel:
      return "gradients and weights that travel between data ranks hold up " + part + " of the step";
    case Limit::kTiedEmbedding:
      return "the gradient of the tied embedding, between first and last stage, holds up " + part +
             " of the step";
    case Limit::kGradientNorm:
      return "the gradient norm, reduced over all ranks, holds up " + part + " of the step";
    case Limit::kTensorParallel:
      return "collectives of the tensor group, " + std::to_string(report.tensor) + " ranks, hold up " + part +
             " of the step";
    case Limit::kContextParallel:
      return "keys and values, or heads, that travel in the context group hold up " + part + " of the step";
    case Limit::kExpertParallel:
      return "tokens on their way to experts and back hold up " + part + " of the step";
    case Limit::kPipelineTransfers:
      return "activations and gradients that travel between stages hold up " + part + " of the step";
    case Limit::kOffload:
      return "copies to and from the host's memory, and its updates, hold up " + part + " of the step";
    case Limit::kHostLaunches:
      return "the device waits " + part + " of the step for kernels that its host has not launched";
    case Limit::kSaves:
    case Limit::kSaveStalls:
      return SavesText(report, part, loss.limit == Limit::kSaveStalls);
    case Limit::kOptimizer:
      return "the optimizer takes " + part + " of the step";
    case Limit::kMemoryBandwidth:
      return "kernels that wait for the device's memory take " + part + " of the step";
    case Limit::kCompute:
      return ComputeText(report);
  }
  return "";
}

// What limits, then what else is worth telling.
std::vector<Loss> LimitsOf(const Scenario& scenario, const Report& report) {
  if (!report.fits) {
    const auto has = static_cast<double>(report.memory_per_device.count());
    return {{Limit::kMemory, static_cast<double>(LargestStage(report).memory_total.count()) / has - 1}};
  }
  std::vector<Loss> losses = LossesOf(scenario, report);
  const double bound = MemoryBoundPart(scenario, report);
  const double compute = ComputeShare(report) * KernelsPart(report);
  const double largest = losses.empty() ? 0 : losses.front().share;
  std::erase_if(losses, [](const Loss& loss) { return loss.share < kWorthTelling; });
  if (bound > 0.5 && bound * compute > largest) {
    losses.insert(losses.begin(), {Limit::kMemoryBandwidth, bound * compute});
  }
  if (losses.empty()) losses.push_back({Limit::kCompute, compute});
  return losses;
}

std::vector<Suggestion> SuggestionsFor(const Loss& loss, const Scenario& scenario, const Report& report,
                                       const Reload& reload) {
  std::vector<Suggestion> suggestions;
  for (const Remedy& remedy : RemediesFor(loss.limit, scenario, report)) {
    for (const Changes& sets : remedy.variants) {
      const sim::Result<Scenario> tried = reload(sets);
      if (!tried.ok() || !Helps(tried.value(), loss, report)) continue;
      suggestions.push_back({sets, remedy.text});
      break;
    }
    if (suggestions.size() == kMostSuggestions) break;
  }
  return suggestions;
}

// Launches are not done faster by what helps the first limit, and a captured step is one field: it stands
// beside whatever is first.
void AddLaunches(const std::vector<Loss>& limits, const Scenario& scenario, const Report& report,
                 const Reload& reload, Verdict* verdict) {
  const auto launches = std::find_if(limits.begin() + 1, limits.end(),
                                     [](const Loss& loss) { return loss.limit == Limit::kHostLaunches; });
  if (launches == limits.end()) return;
  const std::vector<Suggestion> more = SuggestionsFor(*launches, scenario, report, reload);
  if (more.empty()) return;
  verdict->suggestions.resize(std::min(verdict->suggestions.size(), kMostSuggestions - 1));
  verdict->suggestions.push_back(more.front());
  verdict->text += ". Beside it, " + TextOf(*launches, report);
}

// Source of the rate of a core: textbook, 17.7.6, byte-pair encoding at about 1 MB/s of text.
std::string DataNote(const Scenario& scenario, const Report& report) {
  constexpr double kCoreRate = 1e6;
  const auto width = static_cast<double>(TokenIdWidth(scenario.model.vocabulary));
  return Format(
      "Data loading is not simulated; it has to bring %.3g MB/s of token numbers (tokenizer cores, where "
      "they "
      "are made of text meanwhile: %lld)",
      ReadRate(report.tokens_per_s, width, 1) * 1e-6,
      static_cast<long long>(TokenizerCores(report.tokens_per_s, kTextBytesPerToken, kCoreRate)));
}

}  // namespace

Verdict MakeVerdict(const Scenario& scenario, const Report& report, const Reload& reload) {
  const std::vector<Loss> limits = LimitsOf(scenario, report);
  const Loss& first = limits.front();
  Verdict verdict{.id = IdOf(first.limit),
                  .share = first.share,
                  .text = TextOf(first, report),
                  .suggestions = SuggestionsFor(first, scenario, report, reload),
                  .note = DataNote(scenario, report)};
  if (!verdict.suggestions.empty()) AddLaunches(limits, scenario, report, reload, &verdict);
  if (first.limit == Limit::kCompute || !verdict.suggestions.empty()) return verdict;
  verdict.text += "; no change of it alone loads and fits";
  for (std::size_t i = 1; i < limits.size() && verdict.suggestions.empty(); ++i) {
    verdict.suggestions = SuggestionsFor(limits[i], scenario, report, reload);
    if (!verdict.suggestions.empty()) verdict.text += ". Next: " + TextOf(limits[i], report);
  }
  return verdict;
}

}  // namespace scenarios
