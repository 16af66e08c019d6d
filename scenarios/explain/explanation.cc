#include "scenarios/explain/explanation.h"

#include <algorithm>
#include <utility>

#include "scenarios/checkpoint_report.h"
#include "scenarios/explain/sensitivity.h"

namespace scenarios {
namespace {

using sim::Duration;
using Piece = sim::CriticalPath::Piece;

std::vector<LongPiece> LongestOf(const Scenario& scenario, const sim::Program& program,
                                 const sim::CriticalPath& path, sim::Time from, std::size_t most) {
  std::vector<Piece> pieces = path.pieces;
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.time.length() > b.time.length(); });
  pieces.resize(std::min(most, pieces.size()));
  std::vector<LongPiece> longest;
  for (const Piece& piece : pieces) {
    const sim::Rank rank = program.rank_of(piece.task);
    longest.push_back({.name = program.NameOf(piece.task),
                       .purpose = sim::ToText(program.row(piece.task).task_class),
                       .rank = rank.value(),
                       .stage = scenario.layout.Coordinate(rank, Dimension::kPipeline),
                       .since = piece.time.from - from,
                       .time = piece.time.length()});
  }
  return longest;
}

// What the job cannot depend on is left out.
bool Has(const Scenario& scenario, const sim::Program& program, Parameter parameter) {
  if (parameter == Parameter::kLaunch) return scenario.training.launches != Launches::kCudaGraphs;
  if (!IsOfLinks(parameter)) return true;
  std::vector<bool> used(scenario.fabric.links.size());
  for (const sim::Use& use : program.uses) used[use.link.pos()] = true;
  for (std::size_t l = 0; l < used.size(); ++l) {
    if (used[l] && RateOf(scenario.fabric.links[l].tier) == parameter) return true;
  }
  return false;
}

bool GoesOn(const RunOptions& options) { return !options.go_on || options.go_on({}); }

// Fails where it was interrupted.
sim::Result<std::vector<Sensitivity>> SensitivitiesOf(const Scenario& scenario, RunResult* run,
                                                      const sim::CriticalPath& path, const Slopes& slopes,
                                                      const ExplainOptions& options) {
  std::vector<Sensitivity> rows;
  for (int p = 0; p < kParameters; ++p) {
    const auto parameter = static_cast<Parameter>(p);
    if (!Has(scenario, run->steps.program, parameter)) continue;
    Sensitivity row{.parameter = parameter,
                    .slope_s = slopes[static_cast<std::size_t>(p)],
                    .checked = {},
                    .unchecked = {}};
    if (options.check) {
      const auto again = PlayAgain(scenario, run, path, parameter, 1 + *options.check, options.run);
      if (!GoesOn(options.run)) return sim::Error{"interrupted"};
      if (again.ok()) {
        const double more = again.value().step.seconds() - run->report.step_time.seconds();
        row.checked = {more / *options.check, again.value().same_path};
      } else {
        row.unchecked = again.error().message;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

sim::Result<Explanation> Explain(const Scenario& scenario, const ExplainOptions& options) {
  sim::Result<RunResult> played = Run(scenario, options.run);
  if (!played.ok()) return played.error();
  RunResult run = std::move(played).value();
  if (run.interruption) return sim::Error{"interrupted"};
  const auto parts = WorkPartsOf(scenario, run.steps);
  if (!parts.ok()) return parts.error();
  const sim::Program& program = run.steps.program;
  const sim::StepTimes steps = SteadySteps(scenario, program, run.timeline);
  const sim::Predecessors predecessors = sim::FindPredecessors(program);
  const sim::CriticalPath path = sim::CriticalPathOf(program, run.timeline, predecessors, steps.period);
  const std::vector<TrafficBound> bounds = BoundsOfTraffics(program);
  const PathView view{scenario, program, run.timeline, path, parts.value(), bounds};

  Explanation explanation{.report = {},
                          .causes = CausesOf(view),
                          .longest = LongestOf(scenario, program, path, steps.period.from, options.longest),
                          .pieces = static_cast<std::int64_t>(path.pieces.size()),
                          .slack = SlackTableOf(scenario, program, run.timeline, steps),
                          .sensitivities = {},
                          .check = options.check,
                          .bounds = {}};
  auto sensitivities =
      SensitivitiesOf(scenario, &run, path, SlopesOfStep(view, predecessors, steps.period), options);
  if (!sensitivities.ok()) return sensitivities.error();
  explanation.sensitivities = std::move(sensitivities).value();
  explanation.bounds = BoundsOf(scenario, &run, bounds);
  if (!GoesOn(options.run)) return sim::Error{"interrupted"};
  explanation.report = std::move(run.report);
  return explanation;
}

}  // namespace scenarios
