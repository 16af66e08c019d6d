// How the job trains, how it is run, and what it is compared with.

#include <algorithm>
#include <cmath>
#include <string>

#include "proto/scenario.pb.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

sim::NumberFormat FormatOf(config::Format::Kind kind, sim::NumberFormat otherwise) {
  switch (kind) {
    case config::Format::FP32:
      return sim::NumberFormat::kFp32;
    case config::Format::TF32:
      return sim::NumberFormat::kTf32;
    case config::Format::BF16:
      return sim::NumberFormat::kBf16;
    case config::Format::FP16:
      return sim::NumberFormat::kFp16;
    case config::Format::FP8:
      return sim::NumberFormat::kFp8;
    default:
      return otherwise;
  }
}

sim::AttentionKind AttentionOf(config::Attention::Kind kind) {
  switch (kind) {
    case config::Attention::UNFUSED:
      return sim::AttentionKind::kUnfused;
    case config::Attention::FLASH3:
      return sim::AttentionKind::kFlash3;
    case config::Attention::CUDNN:
      return sim::AttentionKind::kCudnn;
    default:
      return sim::AttentionKind::kFlash2;
  }
}

// Source: Megatron-LM core 0.8, distributed_data_parallel.py: at least 40
// million numbers, and a million for each data rank.
sim::Bytes UsualBucket(const Training& training, std::int64_t data) {
  constexpr std::int64_t kLeastNumbers = 40'000'000, kNumbersPerRank = 1'000'000;
  return sim::Bytes(std::max(kLeastNumbers, kNumbersPerRank * data) *
                    sim::ByteWidth(training.gradient_format));
}

void CheckFormats(const Block& block, bool has_device, const Training& training,
                  const hardware::Device& device) {
  if (training.format == sim::NumberFormat::kFp8) {
    block.Error(
        "format",
        "FP8: weights and activations are in BF16 beside it; format BF16 and a recipe in matmul are wanted");
    return;
  }
  const sim::NumberFormat gradient = training.gradient_format;
  if (gradient != sim::NumberFormat::kFp32 && gradient != training.format) {
    const bool wide = training.format == sim::NumberFormat::kFp32;
    block.Error("gradient_type", std::string(hardware::ToText(gradient)) + " gradients of " +
                                     hardware::ToText(training.format) + " weights; FP32" +
                                     (wide ? "" : std::string(" or ") + hardware::ToText(training.format)) +
                                     " is wanted");
  }
  if (training.attention != sim::AttentionKind::kUnfused && sim::ByteWidth(training.format) > 2) {
    block.Error("attention", std::string(hardware::ToText(training.attention)) + " has no " +
                                 hardware::ToText(training.format) +
                                 " kernels; UNFUSED, or format BF16 or FP16");
  }
  if (!has_device) return;
  if (!hardware::SupportsFormat(device, training.format)) {
    block.Error("format", hardware::WhyNotFormat(device, training.format));
  }
  if (hardware::SupportsAttention(device, training.attention)) return;
  std::string known;
  for (const sim::AttentionKind kind : hardware::AttentionKinds(device)) {
    known += (known.empty() ? "" : ", ") + std::string(hardware::ToText(kind));
  }
  block.Error("attention", std::string(hardware::ToText(training.attention)) +
                               " has no figures for device \"" + device.name + "\"; one of " + known +
                               " is wanted");
}

// REQUIRES: model, layout, pipeline and sharding were read
void ReadPredictions(const config::Training& in, const Block& block, Scenario* scenario) {
  scenario->training.mtp = in.mtp();
  const models::Model& model = scenario->model;
  if (!in.mtp() || model.layers == 0) return;
  const auto refuse = [&](const std::string& what) { block.Error("mtp", what); };
  if (model.prediction_modules == 0) {
    refuse("model \"" + model.name + "\" has no prediction modules; model.prediction_modules 1 adds one");
  }
  if (scenario->training.optimizer_sharding == OptimizerSharding::kZero3) {
    refuse(
        "is not simulated with ZERO_3, which would gather the vocabulary's matrices again; ZERO_1 or NONE");
  }
  if (scenario->training.optimizer_sharding == OptimizerSharding::kZero2 && scenario->layout.pipeline > 1) {
    refuse(
        "is not simulated with ZERO_2 and pipeline stages, whose ends share the vocabulary's gradient; "
        "ZERO_1");
  }
  if (scenario->pipeline.placement() != sim::Placement::kLoop) {
    refuse("is not simulated where a stage holds both ends of the model in different chunks (pipeline " +
           scenario->pipeline.name() + "); chunks in loops are wanted");
  }
  const std::int64_t tensor = scenario->layout.tensor;
  if (tensor > 0 && model.hidden % tensor != 0) {
    refuse("the join's " + std::to_string(model.hidden) + " channels are not a multiple of the " +
           std::to_string(tensor) + " tensor ranks");
  }
}

}  // namespace

void ReadTraining(const config::Training& in, const Block& top, bool has_device, Scenario* scenario) {
  constexpr double kBytesPerMb = 1e6;
  constexpr double kLeastBucket = 0.001, kMostBucket = 1e6;  // MB; proto/scenario.proto
  constexpr std::int64_t kMostDivisor = 65'536, kUsualDivisor = 128;
  const Block block = top.Of("training");
  Training& training = scenario->training;
  training.format = FormatOf(in.format(), sim::NumberFormat::kBf16);
  training.gradient_format = FormatOf(in.gradient_type(), sim::NumberFormat::kFp32);
  ReadSharding(in, block, scenario);
  training.overlap_gradient_reduce = !in.has_overlap_gradient_reduce() || in.overlap_gradient_reduce();
  const double bucket_mb =
      block.Optional("bucket_mb", in.has_bucket_mb(), in.bucket_mb(), kLeastBucket, kMostBucket, 0.0);
  training.bucket = in.has_bucket_mb() ? sim::Bytes(std::llround(bucket_mb * kBytesPerMb))
                                       : UsualBucket(training, scenario->layout.copies());
  training.attention = AttentionOf(in.attention());
  training.dropout = in.dropout();
  ReadRecompute(in, block, scenario);
  training.vocabulary_divisor = block.Optional("vocabulary_divisor", in.has_vocabulary_divisor(),
                                               in.vocabulary_divisor(), 1, kMostDivisor, kUsualDivisor);
  training.gradient_norm = !in.has_gradient_norm() || in.gradient_norm();
  ReadLaunches(in, &training);
  training.fused_kernels = !in.has_fused_kernels() || in.fused_kernels();
  training.fused_norms = in.has_fused_norms() ? in.fused_norms() : training.fused_kernels;
  training.experts_one_by_one = in.expert_products() == config::ExpertProducts::ONE_BY_ONE;
  training.fused_loss = in.fused_loss();
  CheckFormats(block, has_device, training, scenario->device);
  ReadMatmul(in, block, has_device, scenario);
  ReadOffload(in, block, scenario);
  ReadPredictions(in, block, scenario);
}

void ReadRun(const config::Scenario& in, const Block& top, Scenario* scenario) {
  constexpr std::int64_t kLeastSteps = 2, kMostSteps = 1000, kUsualSteps = 3;
  constexpr double kMostPrice = 1e6, kShortestStep = 1e-9, kLongestStep = 1e7;
  // A save, and two steps that may feel it.
  const std::int64_t usual = scenario->checkpoint ? kStepsBeforeSave + 2 : kUsualSteps;
  scenario->steps = top.Optional("steps", in.has_steps(), in.steps(), kLeastSteps, kMostSteps, usual);
  scenario->fidelity = in.fidelity() == config::Fidelity::CHUNK ? Fidelity::kChunk : Fidelity::kFlow;
  if (in.has_price()) {
    const Block price = top.Of("price");
    scenario->price_usd_per_device_hour =
        price.Required("usd_per_device_hour", in.price().has_usd_per_device_hour(),
                       in.price().usd_per_device_hour(), 0.0, kMostPrice);
    scenario->price_source = ReadSource(in.price().source(), price.Of("source"));
  }
  if (in.has_published()) {
    const Block published = top.Of("published");
    Published result;
    result.step_time_s = published.Required("step_time_s", in.published().has_step_time_s(),
                                            in.published().step_time_s(), kShortestStep, kLongestStep);
    result.source = ReadSource(in.published().source(), published.Of("source"));
    scenario->published = result;
  }
}

void WarnUnwise(const Block& top, Scenario* scenario) {
  const Layout& layout = scenario->layout;
  const models::Model& model = scenario->model;
  const auto text = [](std::int64_t n) { return std::to_string(n); };
  if (layout.tensor > model.kv_heads) {
    top.Of("layout").Warn("tensor", "layout.tensor",
                          text(layout.tensor) + " ranks share " + text(model.kv_heads) +
                              " key/value heads, so each head is held and computed " +
                              text(layout.tensor / model.kv_heads) + " times",
                          scenario);
  }
  WarnFarGroups(top, scenario);
  if (model.experts.routed > 0 && layout.spreads_experts()) WarnSpread(top, scenario);
  if (scenario->training.recompute == Recompute::kSelective && scenario->training.selective.attention_core &&
      scenario->training.attention != sim::AttentionKind::kUnfused) {
    top.Of("training")
        .Warn("recompute", "training.recompute",
              "SELECTIVE runs the attention core again, which fused attention does already in "
              "its backward: it costs time and frees almost nothing",
              scenario);
  }
  std::int64_t widest = 0;
  for (const hardware::AttentionModel& fused : scenario->device.attention) {
    if (fused.implementation == scenario->training.attention) widest = std::max(widest, fused.head_dim);
  }
  if (widest > 0 && model.head_dim > widest) {
    top.Of("training")
        .Warn("attention", "training.attention",
              "heads of " + text(model.head_dim) + " run at the rate of heads of " + text(widest) +
                  ", the widest that the device has figures for",
              scenario);
  }
  if (model.prediction_modules > 0 && !scenario->training.mtp) {
    top.Warn("model", "model",
             text(model.prediction_modules) +
                 " module(s) that predict further tokens are counted, but not part of the step; training.mtp "
                 "true trains them",
             scenario);
  }
  if (layout.pipeline > 1 &&
      scenario->batch.micro_batches * scenario->pipeline.shape.parts < layout.pipeline) {
    top.Of("layout").Warn("pipeline", "layout.pipeline",
                          text(scenario->batch.micro_batches) +
                              (scenario->batch.micro_batches == 1 ? " micro-batch" : " micro-batches") +
                              " cannot fill " + text(layout.pipeline) + " stages; most of the step is bubble",
                          scenario);
  }
}

}  // namespace scenarios
