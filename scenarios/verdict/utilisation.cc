#include "scenarios/verdict/utilisation.h"

#include <string_view>

#include "scenarios/verdict/resized.h"

namespace scenarios {
namespace {

// Means over stages, in seconds.
struct Parts {
  double compute = 0, recomputation = 0, optimizer = 0, host = 0, bubble = 0;
  double data = 0, tensor = 0, expert = 0, context = 0, pipeline = 0;
};

double* PartOf(std::string_view cause, Parts* parts) {
  if (cause == "compute") return &parts->compute;
  if (cause == "recomputation") return &parts->recomputation;
  if (cause == "bubble") return &parts->bubble;
  if (cause == "offload" || cause == "host") return &parts->host;
  if (cause == "data" || cause == "embedding" || cause == "gradient norm") return &parts->data;
  if (cause == "tensor") return &parts->tensor;
  if (cause == "expert") return &parts->expert;
  if (cause == "context") return &parts->context;
  if (cause == "pipeline") return &parts->pipeline;
  return &parts->optimizer;
}

Parts MeanOfStages(const Report& report) {
  Parts parts;
  const auto stages = static_cast<double>(report.stages.size());
  for (const StageReport& stage : report.stages) {
    for (const TimePart& part : stage.breakdown) *PartOf(part.name, &parts) += part.time.seconds() / stages;
  }
  return parts;
}

template <class T>
std::vector<T> Or(const std::vector<T>& given, T own) {
  return given.empty() ? std::vector<T>{own} : given;
}

void Fill(const Scenario& s, const UtilisationRequest& request, const Reload& reload, const Play& play,
          UtilisationRow* row) {
  if (request.weak) {
    const sim::Result<std::int64_t> grown = GrownBatch(s, row->batch, row->devices);
    if (!grown.ok()) {
      row->refused = grown.error().message;
      return;
    }
    row->batch = grown.value();
  }
  Changes sets = {"batch.sequence_length=" + std::to_string(row->sequence)};
  if (!request.topologies.empty()) sets.push_back("topology=" + row->topology);
  const sim::Result<Scenario> job = Resized(s, row->devices, row->batch, sets, reload);
  if (!job.ok()) {
    row->refused = job.error().message;
    return;
  }
  const sim::Result<Report> played = play(job.value());
  if (!played.ok()) {
    row->refused = played.error().message;
    return;
  }
  const Report& report = played.value();
  row->utilisation = UtilisationOf(report);
  row->step_time = report.step_time;
  row->mean_step_time = report.checkpoint ? report.checkpoint->effective_step_time : report.step_time;
  row->fits = report.fits;
}

}  // namespace

Utilisation UtilisationOf(const Report& report) {
  const Parts p = MeanOfStages(report);
  const double work = p.compute + p.recomputation, all_work = work + p.optimizer;
  const double there = all_work + p.host, in_turn = there + p.bubble;
  const double moving = p.data + p.tensor + p.expert + p.context + p.pipeline;
  const double step = in_turn + moving;
  Utilisation u;
  u.kernels = report.mfu * report.step_time.seconds() / p.compute;
  u.recomputation = p.compute / work;
  u.optimizer = work / all_work;
  u.host = all_work / there;
  u.bubble = there / in_turn;
  u.communication = in_turn / step;
  if (report.checkpoint && report.checkpoint->effective_step_time > report.step_time) {
    u.saves = report.step_time.seconds() / report.checkpoint->effective_step_time.seconds();
  }
  u.u = report.mfu * u.saves;
  u.exposed = {{"data", p.data / step},
               {"tensor", p.tensor / step},
               {"expert", p.expert / step},
               {"context", p.context / step},
               {"pipeline", p.pipeline / step}};
  return u;
}

std::vector<UtilisationRow> UtilisationTable(const Scenario& scenario, const UtilisationRequest& request,
                                             const Reload& reload, const Play& play) {
  std::vector<UtilisationRow> rows;
  for (const std::string& topology : Or(request.topologies, scenario.fabric.name)) {
    for (const std::int64_t sequence : Or(request.sequences, scenario.batch.sequence_length)) {
      for (const std::int64_t batch : Or(request.batches, scenario.batch.global)) {
        for (const std::int64_t devices : Or(request.devices, scenario.devices)) {
          UtilisationRow row{.devices = devices, .topology = topology, .batch = batch, .sequence = sequence};
          Fill(scenario, request, reload, play, &row);
          rows.push_back(std::move(row));
        }
      }
    }
  }
  return rows;
}

}  // namespace scenarios
