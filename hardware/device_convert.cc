// ConvertDevice and ListFigures: from units in keys to units in types.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <memory>

#include "hardware/device_attention.h"
#include "hardware/device_collectives.h"
#include "hardware/device_exchanges.h"
#include "hardware/device_message.h"
#include "hardware/device_products.h"
#include "hardware/file_units.h"
#include "proto/hardware.pb.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

namespace pb = google::protobuf;
using orrery::config::Hardware;

constexpr double kTera = 1e12, kMicro = 1e-6;

GemmModel ConvertTiles(const Hardware::TileModel& tiles) {
  return {.kind = GemmModelKind::kTiles,
          .peak_flops_per_s = tiles.peak_tflops() * kTera,
          .efficiency = tiles.efficiency(),
          .relative_128x128 = tiles.relative_128x128(),
          .relative_128x64 = tiles.relative_128x64(),
          .prologue_k = tiles.prologue_k(),
          .wave_overlap = tiles.wave_overlap(),
          .long_kernel_loss = tiles.long_kernel_loss(),
          .most_parts = tiles.most_parts(),
          .split_fixed_s = tiles.split_fixed_us() * kMicro,
          .fixed_s = tiles.fixed_us() * kMicro,
          .l2_sm_bytes_per_s = tiles.l2_sm_gb_per_s() * 1e9,
          .sm_memory_ratio = tiles.sm_memory_ratio(),
          .memory_efficiency = tiles.memory_efficiency(),
          .l2_ratio = tiles.l2_ratio(),
          .l2_first_part = tiles.l2_first_part(),
          .l2_second_part = tiles.l2_second_part(),
          .norm = tiles.norm(),
          .row_k_s = tiles.row_k_ns() * 1e-9,
          .cast_fixed_s = tiles.cast_fixed_us() * kMicro,
          .cast_bytes = tiles.cast_bytes()};
}

GemmModel ConvertRoofline(const Hardware::Roofline& roofline, double peak_flops_per_s) {
  GemmModel model;
  model.kind = GemmModelKind::kRoofline;
  model.peak_flops_per_s = peak_flops_per_s;
  model.efficiency = roofline.efficiency();
  model.fixed_s = roofline.fixed_us() * kMicro;
  model.memory_efficiency = roofline.memory_efficiency();
  return model;
}

void ConvertCompute(const Hardware& message, Device* device) {
  for (int i = 0; i < message.peaks_size(); ++i) {
    device->peak_flops_per_s[PositionOf(message.peaks(i).format())] = message.peaks(i).tflops() * kTera;
    device->peak_place[PositionOf(message.peaks(i).format())] = i;
  }
  for (const Hardware::Format scaled : {Hardware::FP8_BLOCK, Hardware::MXFP8}) {
    device->peak_flops_per_s[PositionOf(scaled)] = device->peak_flops_per_s[PositionOf(Hardware::FP8)];
    device->peak_place[PositionOf(scaled)] = device->peak_place[PositionOf(Hardware::FP8)];
  }
  for (const Hardware::Format weights : {Hardware::INT8_WEIGHTS, Hardware::INT4_WEIGHTS}) {
    device->peak_flops_per_s[PositionOf(weights)] = device->peak_flops_per_s[PositionOf(Hardware::BF16)];
    device->peak_place[PositionOf(weights)] = device->peak_place[PositionOf(Hardware::BF16)];
  }
  for (const Hardware::Gemm& gemm : message.gemm()) {
    for (const int format : gemm.formats()) {
      const std::size_t position = PositionOf(format);
      device->gemm[position] = gemm.has_tiles()
                                   ? ConvertTiles(gemm.tiles())
                                   : ConvertRoofline(gemm.roofline(), device->peak_flops_per_s[position]);
    }
  }
  ConvertProducts(message, device);
  ConvertAttention(message, device);
  const Hardware::MemoryBound& bound = message.memory_bound();
  using sim::MemoryClass;
  std::array<double, kMemoryClasses>& efficiency = device->memory_bound.efficiency;
  efficiency[static_cast<std::size_t>(MemoryClass::kElementwise)] = bound.elementwise_efficiency();
  efficiency[static_cast<std::size_t>(MemoryClass::kNorm)] = bound.norm_efficiency();
  efficiency[static_cast<std::size_t>(MemoryClass::kGather)] = bound.gather_efficiency();
  efficiency[static_cast<std::size_t>(MemoryClass::kOptimizer)] = bound.optimizer_efficiency();
  efficiency[static_cast<std::size_t>(MemoryClass::kActivation)] = bound.activation_efficiency();
  device->memory_bound.fixed_s = bound.fixed_us() * kMicro;
  device->minimum_kernel_s = message.kernel().minimum_us() * kMicro;
  device->random_data_derate = message.kernel().random_data_derate();
  device->interference = {.communication_sms = message.interference().communication_sms(),
                          .communication_memory_share = message.interference().communication_memory_share()};
}

// NCCL counts links, of 25 GB/s each way up to Hopper and 50 from Blackwell on.
void ConvertNccl(const Hardware::Node& node, Device* device) {
  const double per_link = device->capability >= 100 ? 50 : 25;
  device->nccl = {.capability = device->capability,
                  .nvlinks = static_cast<int>(node.nvlink().bandwidth_gb_per_s_each_way() / per_link + 0.5),
                  .nvswitch = node.has_nvlink() && device->capability >= 80,
                  .pcie_gb_per_s = device->pcie.achieved.bytes_per_second() * 1e-9,
                  .nic_gb_per_s = node.nic().bandwidth_gb_per_s_each_way(),
                  .cpu = node.cpu() == Hardware::INTEL ? sim::CpuVendor::kIntel
                         : node.cpu() == Hardware::AMD ? sim::CpuVendor::kAmd
                                                       : sim::CpuVendor::kOther,
                  .version = {},
                  .environment = {}};
}

LinkRate ConvertPipe(const Hardware::Pipe& pipe) {
  const double wire = pipe.bandwidth_gb_per_s_each_way();
  return {.wire = Gb(wire), .achieved = Gb(wire * pipe.efficiency())};
}

void ConvertNode(const Hardware::Node& node, Device* device) {
  device->nvlink = ConvertPipe(node.nvlink());  // zero rates when there is none
  device->pcie = ConvertPipe(node.pcie());
  device->nic = ConvertPipe(node.nic());
  device->host_memory = {
      .wire = Gb(node.host_memory().bandwidth_gb_per_s()),
      .achieved = Gb(node.host_memory().bandwidth_gb_per_s() * node.host_memory().efficiency())};
  device->node = {.name = node.name(),
                  .devices = node.devices(),
                  .nvlink = device->nvlink.achieved,
                  .nvlink_latency = Ns(node.nvlink().latency_ns()),
                  .pcie = device->pcie.achieved,
                  .pcie_latency = Ns(node.pcie().latency_ns()),
                  .nics = node.nics(),
                  .nic = device->nic.achieved,
                  .nic_latency = Ns(node.nic().latency_ns()),
                  .host_memory = device->host_memory.achieved,
                  .host_bridge = ConvertPipe(node.host_bridge()).achieved,
                  .host_bridge_latency = Ns(node.host_bridge().latency_ns()),
                  .between_sockets = ConvertPipe(node.between_sockets()).achieved,
                  .between_sockets_latency = Ns(node.between_sockets().latency_ns())};
  device->host = {.kernel_launch_s = node.launch().kernel_us() * kMicro,
                  .eager_operation_s = node.launch().eager_operation_us() * kMicro,
                  .memory = Gib(node.host_memory().capacity_gib()),
                  .disk_read = Gb(node.disk().read_gb_per_s()),
                  .disk_write = Gb(node.disk().write_gb_per_s())};
}

bool HasBasis(const pb::Descriptor& type) { return type.FindFieldByName("basis") != nullptr; }

Basis ConvertBasis(int basis) {
  switch (basis) {
    case Hardware::MEASURED:
      return Basis::kMeasured;
    case Hardware::PUBLISHED:
      return Basis::kPublished;
    case Hardware::DERIVED:
      return Basis::kDerived;
    default:
      return Basis::kAssumed;
  }
}

std::string SourceText(const orrery::config::Source& source) {
  std::string text = source.title();
  if (!source.url().empty()) text += ", " + source.url();
  if (!source.note().empty()) text += "; " + source.note();
  return text;
}

// "formats: BF16 points: 574 of them": measured products are counted.
std::string ValueText(pb::Message* group) {
  const pb::FieldDescriptor* points = group->GetDescriptor()->FindFieldByName("points");
  if (points == nullptr) return group->ShortDebugString();
  const int count = group->GetReflection()->FieldSize(*group, points);
  group->GetReflection()->ClearField(group, points);
  return group->ShortDebugString() + " points: " + std::to_string(count) + " of them";
}

// The group's own figures: without names, and without groups inside it.
Figure FigureOf(const pb::Message& message, const std::string& key) {
  const pb::Reflection& reflection = *message.GetReflection();
  const pb::Descriptor& type = *message.GetDescriptor();
  Figure figure;
  figure.key = key;
  figure.basis = ConvertBasis(reflection.GetEnumValue(message, type.FindFieldByName("basis")));
  figure.source = SourceText(static_cast<const orrery::config::Source&>(
      reflection.GetMessage(message, type.FindFieldByName("source"))));
  const std::unique_ptr<pb::Message> bare(message.New());
  bare->CopyFrom(message);
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    const bool inner_group = field.message_type() != nullptr && HasBasis(*field.message_type());
    if (inner_group || field.name() == "basis" || field.name() == "source" || field.name() == "aliases") {
      reflection.ClearField(bare.get(), &field);
    }
  }
  figure.value = ValueText(bare.get());
  return figure;
}

void AppendFigures(const pb::Message& message, const std::string& key, std::vector<Figure>* figures) {
  const pb::Reflection& reflection = *message.GetReflection();
  const pb::Descriptor& type = *message.GetDescriptor();
  figures->push_back(FigureOf(message, key));
  for (int i = 0; i < type.field_count(); ++i) {
    const pb::FieldDescriptor& field = *type.field(i);
    if (field.message_type() == nullptr || !HasBasis(*field.message_type())) continue;
    const std::string path = key == "device" ? field.name() : key + "." + field.name();
    if (field.is_repeated()) {
      for (int j = 0; j < reflection.FieldSize(message, &field); ++j) {
        AppendFigures(reflection.GetRepeatedMessage(message, &field, j), path + "[" + std::to_string(j) + "]",
                      figures);
      }
    } else if (reflection.HasField(message, &field)) {
      AppendFigures(reflection.GetMessage(message, &field), path, figures);
    }
  }
}

}  // namespace

Device ConvertDevice(const Hardware& message) {
  Device device;
  device.name = message.name();
  device.aliases.assign(message.aliases().begin(), message.aliases().end());
  device.architecture = message.architecture();
  device.capability = message.capability();
  device.sms = message.sms();
  device.boost_clock_hz = message.boost_clock_mhz() * 1e6;
  device.l2 = Mib(message.l2_mib());
  device.tdp_watts = message.tdp_watts();
  device.memory = Gib(message.memory().capacity_gib());
  device.usable_memory = Gib(message.memory().usable_gib());
  device.memory_rate = Gb(message.memory().bandwidth_gb_per_s());
  ConvertCompute(message, &device);
  ConvertNccl(message.node(), &device);
  ConvertCollectives(message, &device);
  device.exchanges = ConvertExchanges(message);
  ConvertNode(message.node(), &device);
  return device;
}

std::vector<Figure> ListFigures(const Hardware& message) {
  std::vector<Figure> figures;
  AppendFigures(message, "device", &figures);
  return figures;
}

}  // namespace hardware
