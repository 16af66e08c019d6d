#include "scenarios/kernel_run/roofline_table.h"

#include "hardware/roofline.h"
#include "scenarios/kernel_run/kernel_table.h"

namespace scenarios {
namespace {

constexpr std::int64_t kLargestCube = 16'384;

FormatRoof RoofOfFormat(const hardware::Device& device, const hardware::DeviceCostModel& cost,
                        sim::NumberFormat format) {
  const auto at = static_cast<std::size_t>(format);
  const hardware::Roof sheet = hardware::RoofOf(device, format);
  FormatRoof roof{.format = format,
                  .peak_flops_per_s = sheet.flops_per_s,
                  .ridge = sheet.ridge(),
                  .peak = hardware::FindFigure(device, "peaks", device.peak_place[at]),
                  .model = hardware::FindFigure(device, "gemm", device.gemm[at].place)};
  for (std::int64_t cube = 1024; cube <= kLargestCube; cube += 1024) {
    const sim::Kernel kernel = ProductKernel({cube, cube, cube, 1}, format);
    const double rate = static_cast<double>(kernel.flops.count()) / cost.TimeOf(kernel).alone.seconds();
    if (rate <= roof.best_flops_per_s) continue;
    roof.best_flops_per_s = rate;
    roof.best_cube = cube;
  }
  const double memory = device.gemm[at].memory_efficiency * device.memory_rate.bytes_per_second();
  roof.best_ridge = roof.best_flops_per_s / memory;
  return roof;
}

AttentionRoof RoofOfAttention(const hardware::Device& device, const hardware::DeviceCostModel& cost,
                              const hardware::AttentionModel& model) {
  constexpr std::int64_t kTokens = 16'384;
  AttentionRoof roof{.implementation = model.implementation,
                     .head_dim = model.head_dim,
                     .model = hardware::FindFigure(device, "attention", model.place)};
  const auto rate = [&](bool causal, bool backward) {
    const sim::AttentionShape shape{.batch = 4,
                                    .query_heads = 16,
                                    .kv_heads = 16,
                                    .query_length = kTokens,
                                    .kv_length = kTokens,
                                    .head_dim = model.head_dim,
                                    .causal = causal,
                                    .implementation = model.implementation};
    const sim::Kernel kernel = AttentionKernel(shape, AttentionFormat(device), backward);
    return static_cast<double>(kernel.flops.count()) / cost.TimeOf(kernel).alone.seconds();
  };
  roof.causal_flops_per_s = rate(true, false);
  roof.full_flops_per_s = rate(false, false);
  roof.causal_backward_flops_per_s = rate(true, true);
  return roof;
}

}  // namespace

RooflineTable RooflinesOf(const hardware::Device& device, const hardware::DeviceCostModel& cost) {
  RooflineTable table{.memory_bytes_per_s = device.memory_rate.bytes_per_second(),
                      .memory = hardware::FindFigure(device, "memory")};
  for (std::size_t i = 0; i < hardware::kNumberFormats; ++i) {
    const auto format = static_cast<sim::NumberFormat>(i);
    if (hardware::SupportsFormat(device, format)) {
      table.formats.push_back(RoofOfFormat(device, cost, format));
    }
  }
  constexpr sim::Bytes kGib(std::int64_t{1} << 30);
  for (const NamedMemoryClass& named : kMemoryClassNames) {
    const double seconds = cost.TimeOf(MemoryKernel(kGib, named.memory_class)).alone.seconds();
    table.classes.push_back({.memory_class = named.memory_class,
                             .bytes_per_s = static_cast<double>(kGib.count()) / seconds,
                             .model = hardware::FindFigure(device, "memory_bound")});
  }
  for (const hardware::AttentionModel& model : device.attention) {
    table.attention.push_back(RoofOfAttention(device, cost, model));
  }
  return table;
}

const char* NameOf(sim::MemoryClass memory_class) {
  for (const NamedMemoryClass& named : kMemoryClassNames) {
    if (named.memory_class == memory_class) return named.name;
  }
  return "";
}

sim::NumberFormat AttentionFormat(const hardware::Device& device) {
  return hardware::SupportsFormat(device, sim::NumberFormat::kBf16) ? sim::NumberFormat::kBf16
                                                                    : sim::NumberFormat::kFp16;
}

}  // namespace scenarios
