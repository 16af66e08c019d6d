#include "scenarios/explain/parameter.h"

#include <algorithm>

#include "scenarios/explain/traffic_bound.h"

namespace scenarios {
namespace {

sim::ByteRate Times(sim::ByteRate rate, double factor) {
  const double milli = std::max(static_cast<double>(rate.milli()) * factor, 1.0);
  return sim::ByteRate::MilliBytesPerSecond(static_cast<std::int64_t>(std::min(milli, 9e18)));
}

sim::Duration Times(sim::Duration time, double factor) {
  return sim::Duration::Picoseconds(static_cast<std::int64_t>(static_cast<double>(time.ps()) * factor + 0.5));
}

void ScaleTensorRate(double factor, hardware::Device* device) {
  for (hardware::GemmModel& gemm : device->gemm) gemm.peak_flops_per_s *= factor;
  for (hardware::AttentionModel& attention : device->attention) {
    for (hardware::AttentionModel::Pass* pass : {&attention.forward, &attention.backward}) {
      pass->causal_flops_per_s *= factor;
      pass->full_flops_per_s *= factor;
    }
  }
}

void ScaleKernelStart(double factor, hardware::Device* device) {
  device->minimum_kernel_s *= factor;
  device->memory_bound.fixed_s *= factor;
  for (hardware::GemmModel& gemm : device->gemm) {
    gemm.fixed_s *= factor;
    gemm.split_fixed_s *= factor;
  }
  for (hardware::AttentionModel& attention : device->attention) attention.fixed_s *= factor;
}

}  // namespace

const char* IdOf(Parameter parameter) {
  switch (parameter) {
    case Parameter::kTensorRate:
      return "tensor_rate";
    case Parameter::kMemoryRate:
      return "memory_rate";
    case Parameter::kKernelStart:
      return "kernel_start";
    case Parameter::kLaunch:
      return "launch";
    case Parameter::kNvlinkRate:
      return "nvlink_rate";
    case Parameter::kPcieRate:
      return "pcie_rate";
    case Parameter::kNicRate:
      return "nic_rate";
    case Parameter::kSwitchRate:
      return "switch_rate";
    case Parameter::kOtherRate:
      return "other_rate";
    case Parameter::kLatency:
      return "latency";
  }
  return "";
}

const char* ToText(Parameter parameter) {
  switch (parameter) {
    case Parameter::kTensorRate:
      return "tensor rate";
    case Parameter::kMemoryRate:
      return "memory rate";
    case Parameter::kKernelStart:
      return "start of kernels";
    case Parameter::kLaunch:
      return "launch of kernels";
    case Parameter::kNvlinkRate:
      return "NVLink rate";
    case Parameter::kPcieRate:
      return "PCIe rate";
    case Parameter::kNicRate:
      return "NIC rate";
    case Parameter::kSwitchRate:
      return "switches' rate";
    case Parameter::kOtherRate:
      return "other links' rate";
    case Parameter::kLatency:
      return "latency of communication";
  }
  return "";
}

Parameter RateOf(topologies::Tier tier) {
  using topologies::Tier;
  switch (tier) {
    case Tier::kNvlink:
      return Parameter::kNvlinkRate;
    case Tier::kPcie:
    case Tier::kHost:
      return Parameter::kPcieRate;
    case Tier::kNic:
      return Parameter::kNicRate;
    case Tier::kLeafSpine:
    case Tier::kSpineCore:
    case Tier::kTorus:
    case Tier::kGlobal:
    case Tier::kBorder:
    case Tier::kLongHaul:
      return Parameter::kSwitchRate;
    case Tier::kHostMemory:
    case Tier::kFrontend:
    case Tier::kStorage:
    case Tier::kOther:
      break;
  }
  return Parameter::kOtherRate;
}

hardware::Device WithParameter(hardware::Device device, Parameter parameter, double factor) {
  CHECK(IsOfDevice(parameter) && factor > 0);
  switch (parameter) {
    case Parameter::kTensorRate:
      ScaleTensorRate(factor, &device);
      break;
    case Parameter::kMemoryRate:
      device.memory_rate = Times(device.memory_rate, factor);
      device.interference.memory_bytes_per_wire_byte *= factor;
      break;
    case Parameter::kKernelStart:
      ScaleKernelStart(factor, &device);
      break;
    default:
      device.host.kernel_launch_s *= factor;
      device.host.eager_operation_s *= factor;
  }
  return device;
}

NetworkTables WithParameter(const sim::Program& program, const topologies::Fabric& fabric,
                            Parameter parameter, double factor) {
  CHECK(!IsOfDevice(parameter) && factor > 0);
  NetworkTables tables{program.traffics, program.flows, program.link_capacity};
  if (parameter == Parameter::kLatency) {
    for (sim::Traffic& traffic : tables.traffics) traffic.latency = Times(traffic.latency, factor);
    return tables;
  }
  for (sim::TrafficFlow& flow : tables.flows) {
    if (flow.limit == sim::ByteRate()) continue;
    const auto narrowest = NarrowestLink(program, flow);
    if (narrowest && RateOf(fabric.links[narrowest->pos()].tier) == parameter) {
      flow.limit = Times(flow.limit, factor);
    }
  }
  for (std::size_t l = 0; l < tables.link_capacity.size(); ++l) {
    if (RateOf(fabric.links[l].tier) != parameter) continue;
    tables.link_capacity[l] = Times(tables.link_capacity[l], factor);
  }
  return tables;
}

}  // namespace scenarios
