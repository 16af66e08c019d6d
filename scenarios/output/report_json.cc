#include "scenarios/output/report_json.h"

#include <nlohmann/json.hpp>

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

// "gradient norm" -> "gradient_norm"
std::string SnakeCase(std::string text) {
  for (char& c : text) {
    if (c == ' ' || c == '-') c = '_';
  }
  return text;
}

// Parts of a whole as a map of seconds. A picosecond is 1e-12 s, so sums of the
// printed doubles agree with the whole to the last digit or two.
Json Seconds(const std::vector<TimePart>& parts) {
  Json map = Json::object();
  for (const TimePart& part : parts) map[SnakeCase(part.name)] = part.time.seconds();
  return map;
}

Json ByteMap(const std::vector<BytePart>& parts) {
  Json map = Json::object();
  for (const BytePart& part : parts) map[SnakeCase(part.name)] = part.bytes.count();
  return map;
}

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value.has_value() ? Json(*value) : Json(nullptr);
}

Json StageJson(const StageReport& stage) {
  return {{"stage", stage.stage},
          {"layers", stage.layers},
          {"parameters_per_rank", stage.parameters},
          {"rank", stage.rank},
          {"busy_s", stage.busy.seconds()},
          {"mean_busy_s", stage.mean_busy.seconds()},
          {"breakdown_s", Seconds(stage.breakdown)},
          {"memory_bytes", ByteMap(stage.memory)},
          {"memory_total_bytes", stage.memory_total.count()},
          {"micro_batches_in_flight", stage.micro_batches_in_flight},
          {"fits", stage.fits}};
}

Json TierJson(const TierReport& tier) {
  return {{"tier", tier.name},
          {"links", tier.links},
          {"mean_utilisation", tier.mean_utilisation},
          {"max_utilisation", tier.max_utilisation},
          {"busiest_link", tier.busiest_link},
          {"busiest_link_bytes", tier.busiest_bytes.count()}};
}

// Times of one, alone on the fabric; "fastest" is null where NCCL takes what is fastest.
Json CollectiveJson(const CollectiveReport& c) {
  Json json = {{"for", c.purpose},         {"kind", c.kind},
               {"ranks", c.ranks},         {"nodes", c.nodes},
               {"bytes", c.bytes.count()}, {"times_in_all_steps", c.times},
               {"algorithm", c.algorithm}, {"protocol", c.protocol},
               {"channels", c.channels},   {"alone_s", c.alone.seconds()},
               {"fastest", nullptr}};
  if (c.fastest_algorithm.empty()) return json;
  json["fastest"] = {{"algorithm", c.fastest_algorithm},
                     {"protocol", c.fastest_protocol},
                     {"alone_s", c.fastest_alone.seconds()}};
  return json;
}

Json ClosedFormJson(const ClosedForm& form) {
  return {{"six_pd_flops", form.six_pd_flops},
          {"six_pd_mfu", form.six_pd_mfu},
          {"time_at_peak_s", form.time_at_peak_s},
          {"bubble_share", form.bubble_share},
          {"gradient_bytes_per_rank", form.gradient_bytes_per_rank},
          {"parameter_bytes_per_rank", form.parameter_bytes_per_rank},
          {"tensor_bytes_per_rank", form.tensor_bytes_per_rank},
          {"context_bytes_per_rank", form.context_bytes_per_rank},
          {"expert_bytes_per_rank", form.expert_bytes_per_rank},
          {"pipeline_bytes_per_rank", form.pipeline_bytes_per_rank},
          {"embedding_bytes_per_rank", form.embedding_bytes_per_rank}};
}

Json OrNull(const std::optional<sim::Duration>& time) {
  return time.has_value() ? Json(time->seconds()) : Json(nullptr);
}

Json SaveJson(const SaveReport& save) {
  return {{"after_step", save.after_step},
          {"start_s", save.start.seconds()},
          {"copy_s", save.copy.seconds()},
          {"write_s", save.write.seconds()},
          {"blocked_s", save.blocked.seconds()},
          {"stall_s", save.stall.seconds()},
          {"stalled_since_s", save.stalled_since.seconds()}};
}

Json CheckpointJson(const CheckpointReport& c) {
  Json json = {{"mode", c.mode},
               {"copy", c.copy},
               {"format", c.format},
               {"path", c.path},
               {"source", c.source},
               {"every_steps", c.every_steps},
               {"bytes_per_parameter", c.bytes_per_parameter},
               {"written_fraction", c.written_fraction},
               {"bytes", c.bytes.count()},
               {"largest_rank_bytes", c.largest_rank.count()},
               {"largest_node_bytes", c.largest_node.count()},
               {"staging_bytes_per_node", c.staging_per_node.count()},
               {"saves_in_staging", c.saves_in_staging},
               {"saves", Json::array()},
               {"copy_s", c.copy_time.seconds()},
               {"write_s", c.write_time.seconds()},
               {"copy_idle_s", c.copy_idle.seconds()},
               {"write_idle_s", c.write_idle.seconds()},
               {"blocked_s", c.blocked.seconds()},
               {"stalled_s", c.stalled.seconds()},
               {"cost_s", c.cost.seconds()},
               {"interval_s", c.interval_s},
               {"earliest_interval_s", c.earliest_interval.seconds()},
               {"effective_step_time_s", c.effective_step_time.seconds()},
               {"arrival_bytes_per_interval", c.bytes.count()},
               {"served_bytes_per_interval", c.served_per_interval.count()},
               {"backlog_bytes_per_interval", c.backlog_per_interval.count()},
               {"unstable", c.backlog_per_interval > sim::Bytes()},
               {"first_stall_save", OrNull(c.first_stall_save)},
               {"first_stall_since_s", c.first_stall_since.seconds()},
               {"first_stall_s", c.first_stall.seconds()},
               {"servers", c.servers},
               {"replicas", c.replicas},
               {"servers_needed", OrNull(c.servers_needed)},
               {"restart_s", OrNull(c.restart)},
               {"restart_read_s", OrNull(c.restart_read)},
               {"restart_read_idle_s", c.restart_idle.seconds()},
               {"mtbf_hours", OrNull(c.mtbf_hours)},
               {"waste", OrNull(c.waste)},
               {"young_interval_s", OrNull(c.young_interval_s)},
               {"young_waste", OrNull(c.young_waste)},
               {"advised_interval_s", OrNull(c.advised_interval_s)},
               {"advised_waste", OrNull(c.advised_waste)},
               {"breakdown_rank", c.breakdown_rank},
               {"breakdown_s", Seconds(c.breakdown)}};
  for (const SaveReport& save : c.saves) json["saves"].push_back(SaveJson(save));
  return json;
}

Json OffloadJson(const OffloadReport& offload) {
  return {{"activation_layers", offload.activation_layers},
          {"optimizer_fraction", offload.optimizer_fraction},
          {"parameters", offload.parameters},
          {"bytes_per_step_and_gpu", offload.bytes_per_step.count()},
          {"gradient_bytes_per_step_and_gpu", offload.gradients_per_step.count()},
          {"weight_bytes_per_step_and_gpu", offload.weights_per_step.count()},
          {"host_bytes_per_node", offload.host_per_node.count()},
          {"host_memory_bytes_per_node", offload.host_memory.count()}};
}

Json VerdictJson(const Verdict& verdict) {
  Json json = {{"id", verdict.id},
               {"share", verdict.share},
               {"text", verdict.text},
               {"suggestions", Json::array()},
               {"note", verdict.note}};
  for (const Suggestion& suggestion : verdict.suggestions) {
    json["suggestions"].push_back({{"set", suggestion.set}, {"text", suggestion.text}});
  }
  return json;
}

Json LayoutJson(const Report& report) {
  Json json = {{"tensor", report.tensor},     {"sequence", report.sequence},
               {"pipeline", report.pipeline}, {"virtual", report.virtual_stages},
               {"data", report.data},         {"schedule", report.schedule},
               {"context", report.context},   {"context_kind", report.context_kind},
               {"ulysses", report.ulysses},   {"zigzag", report.zigzag}};
  if (!report.spreads_experts) return json;
  json["expert"] = report.expert;
  json["expert_tensor"] = report.expert_tensor;
  json["expert_data"] = report.expert_data;
  json["expert_imbalance"] = report.expert_imbalance;
  return json;
}

}  // namespace

std::string ReportJson(const Report& report) {
  Json json = {{"schema_version", kReportSchemaVersion},
               {"scenario", report.scenario},
               {"file", report.file},
               {"overrides", report.overrides},
               {"source", report.source},
               {"preset", report.preset},
               {"preset_source", report.preset_source},
               {"preset_fields", report.preset_fields},
               {"model", report.model},
               {"hardware", report.hardware},
               {"topology", report.topology},
               {"devices", report.devices},
               {"layout", LayoutJson(report)},
               {"global_batch", report.global_batch},
               {"micro_batch", report.micro_batch},
               {"micro_batches", report.micro_batches},
               {"sequence_length", report.sequence_length},
               {"parameters", report.parameters},
               {"active_parameters", report.active_parameters},
               {"digest", report.digest},
               {"tasks", report.tasks},
               {"events", report.events},
               {"ranks_played", report.ranks_played},
               {"steps", report.steps},
               {"steady", report.steady},
               {"step_time_s", report.step_time.seconds()},
               {"mfu", report.mfu},
               {"mfu_causal", report.mfu_causal},
               {"hfu", report.hfu},
               {"tokens_per_s", report.tokens_per_s},
               {"tflops_per_gpu", report.tflops_per_device},
               {"peak_tflops_per_gpu", report.peak_tflops},
               {"peak_format", report.peak_format},
               {"matmul_recipe", report.matmul_recipe},
               {"matmul_peak_tflops_per_gpu", report.matmul_peak_tflops},
               {"breakdown_rank", report.breakdown_rank},
               {"breakdown_s", Seconds(report.breakdown)},
               {"critical_path_s", Seconds(report.critical_path)}};
  json["stages"] = Json::array();
  for (const StageReport& stage : report.stages) json["stages"].push_back(StageJson(stage));
  json["links"] = Json::array();
  for (const TierReport& tier : report.tiers) json["links"].push_back(TierJson(tier));
  json["nccl_version"] = report.nccl_version;
  json["collectives"] = Json::array();
  for (const CollectiveReport& c : report.collectives) json["collectives"].push_back(CollectiveJson(c));
  json["kernels"] = Json::array();
  for (const KernelReport& row : report.kernels) {
    json["kernels"].push_back({{"by", row.basis}, {"kernels", row.kernels}, {"time_s", row.time.seconds()}});
  }
  json["memory_capacity_bytes_per_gpu"] = report.memory_per_device.count();
  json["fits"] = report.fits;
  json["price_usd_per_gpu_hour"] = OrNull(report.price_usd_per_device_hour);
  json["price_source"] = report.price_source;
  json["cost_usd_per_step"] = OrNull(report.cost_usd_per_step);
  json["cost_usd_per_trillion_tokens"] = OrNull(report.cost_usd_per_trillion_tokens);
  json["closed_form"] = ClosedFormJson(report.closed_form);
  json["offload"] = report.offload ? OffloadJson(*report.offload) : Json(nullptr);
  json["checkpoint"] = report.checkpoint ? CheckpointJson(*report.checkpoint) : Json(nullptr);
  json["published_step_time_s"] = OrNull(report.published_step_time_s);
  json["published_source"] = report.published_source;
  json["published_applies"] = report.published_applies;
  json["warnings"] = report.warnings;
  json["figures"] = Json::array();
  for (const Provenance& figure : report.figures) {
    json["figures"].push_back({{"key", figure.key},
                               {"value", figure.value},
                               {"basis", figure.basis},
                               {"source", figure.source},
                               {"used", figure.used}});
  }
  json["verdict"] = report.verdict ? VerdictJson(*report.verdict) : Json(nullptr);
  // Names and sources come from files; what is not UTF-8 is replaced.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace scenarios
