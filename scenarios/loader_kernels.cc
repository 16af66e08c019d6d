// Communication that NCCL does not do: DeepEP's kernels, and frameworks' own all-reduces.

#include "proto/scenario.pb.h"
#include "scenarios/custom_all_reduce.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

void ReadDeepEp(const config::RoutedExperts& in, const Block& block, Scenario* scenario) {
  if (!in.has_deepep_sms()) {
    if (in.has_deepep_kernels()) block.Error("deepep_kernels", "needs deepep_sms");
    return;
  }
  if (scenario->experts.dispatcher != models::Dispatcher::kDeepEp) {
    return block.Error("deepep_sms", "needs dispatcher DEEPEP");
  }
  RoutedExperts& experts = scenario->experts;
  const hardware::Device& device = scenario->device;
  experts.deepep_sms = block.Optional("deepep_sms", true, in.deepep_sms(), 1, device.sms, 0);
  if (in.deepep_kernels() == config::DeepEpKernels::V2)
    experts.deepep_kernels = hardware::Exchange::Kernels::kV2;
  if (hardware::FindExchange(device, experts.deepep_kernels, false) == nullptr) {
    block.Error("deepep_sms", "device \"" + device.name +
                                  "\" has no figures of these kernels (exchanges of its " +
                                  "file); h100_sxm has, and without deepep_sms none are needed");
  }
}

CustomAllReduce ConvertKind(config::CustomAllReduce::Kind kind) {
  switch (kind) {
    case config::CustomAllReduce::ONE_SHOT:
      return CustomAllReduce::kOneShot;
    case config::CustomAllReduce::TWO_SHOT:
      return CustomAllReduce::kTwoShot;
    case config::CustomAllReduce::VLLM:
      return CustomAllReduce::kVllm;
    default:
      return CustomAllReduce::kNone;
  }
}

void ReadTensorAllReduce(const config::Training& in, const Block& block, Scenario* scenario) {
  const CustomAllReduce kind = ConvertKind(in.tensor_all_reduce());
  if (kind == CustomAllReduce::kNone) return;
  const Layout& layout = scenario->layout;
  if (layout.tensor == 1 || layout.sequence) {
    return block.Error("tensor_all_reduce",
                       layout.sequence
                           ? "with layout.sequence tensor groups gather and scatter; they reduce little"
                           : "layout.tensor is 1: nothing is reduced in tensor groups");
  }
  scenario->training.tensor_all_reduce = kind;
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    const auto group = layout.Group(sim::Rank(static_cast<std::uint32_t>(r)), Dimension::kTensor);
    if (group.front().value() != r) continue;
    std::vector<std::uint32_t> devices;
    for (const sim::Rank rank : group) devices.push_back(rank.value());
    for (const sim::Algorithm algorithm : {sim::Algorithm::kOneShot, sim::Algorithm::kTwoShot}) {
      const auto why = WhyNotCustom(scenario->fabric, scenario->device, algorithm, devices);
      if (why) return block.Error("tensor_all_reduce", why->message);
    }
  }
}

void ReadTensorOverlap(const config::Training& in, const Block& block, Scenario* scenario) {
  if (in.tensor_overlap() != config::TensorOverlap::PIPELINED) return;
  const Pipeline& pipeline = scenario->pipeline;
  if (scenario->layout.tensor == 1) {
    return block.Error("tensor_overlap",
                       "layout.tensor is 1: nothing is gathered in tensor groups; NONE is wanted");
  }
  if (!scenario->layout.sequence) {
    return block.Error(
        "tensor_overlap",
        "without layout.sequence tensor groups reduce whole tensors, which is not simulated piece by "
        "piece; layout.sequence: true or NONE is wanted");
  }
  if (pipeline.splits_backward() || pipeline.delays_weight_gradients) {
    return block.Error("tensor_overlap", "not simulated with backwards in halves; NONE is wanted");
  }
  if (scenario->model.has_latent()) {
    return block.Error("tensor_overlap", "not simulated with latent attention; NONE is wanted");
  }
  scenario->training.tensor_overlap = true;
}

}  // namespace

void ReadOwnKernels(const config::Scenario& in, const Block& top, Scenario* scenario) {
  ReadDeepEp(in.experts(), top.Of("experts"), scenario);
  ReadTensorAllReduce(in.training(), top.Of("training"), scenario);
  ReadTensorOverlap(in.training(), top.Of("training"), scenario);
}

}  // namespace scenarios
