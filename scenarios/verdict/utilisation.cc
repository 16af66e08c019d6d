#include "scenarios/verdict/utilisation.h"

#include <string_view>

#include "scenarios/layout_rules.h"

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

// The scenario of a row, or why there is none.
sim::Result<Scenario> JobOf(const UtilisationRow& row, const Scenario& s, const UtilisationRequest& request,
                            const Reload& reload) {
  Changes sets = {"devices=" + std::to_string(row.devices), "batch.global=" + std::to_string(row.batch),
                  "batch.sequence_length=" + std::to_string(row.sequence)};
  if (!request.topologies.empty()) sets.push_back("topology=" + row.topology);
  // A file may state what follows from these as well.
  const auto data = DataRanks(row.devices, s.layout.tensor, s.layout.context, s.layout.pipeline);
  if (!data.ok()) return sim::Error{"devices: " + data.error().message};
  const auto accumulation = Accumulation(row.batch, s.batch.micro, data.value());
  if (!accumulation.ok()) return sim::Error{"batch: " + accumulation.error().message};
  sets.push_back("layout.data=" + std::to_string(data.value()));
  sets.push_back("batch.accumulation=" + std::to_string(accumulation.value()));
  return reload(sets);
}

void Fill(const Scenario& s, const UtilisationRequest& request, const Reload& reload, const Play& play,
          UtilisationRow* row) {
  if (request.weak) {
    const sim::Wide grown = static_cast<sim::Wide>(row->batch) * row->devices;
    if (grown % s.devices != 0 || grown / s.devices > INT64_MAX) {
      row->refused = "a batch of " + std::to_string(row->batch) + " on " + std::to_string(s.devices) +
                     " devices grows to no whole number of sequences on " + std::to_string(row->devices);
      return;
    }
    row->batch = static_cast<std::int64_t>(grown / s.devices);
  }
  const sim::Result<Scenario> job = JobOf(*row, s, request, reload);
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
