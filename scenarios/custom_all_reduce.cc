#include "scenarios/custom_all_reduce.h"

#include <algorithm>
#include <string>

namespace scenarios {

sim::Bytes MostOfCustom(std::size_t ranks) { return sim::Bytes(ranks <= 2 ? 16'000'000 : 8'000'000); }

std::optional<sim::Algorithm> VllmChoice(std::size_t ranks, sim::Bytes size) {
  constexpr std::int64_t kKiB = 1024, kMost = 8192 * kKiB, kAlignment = 16;
  if (size.count() >= kMost || size.count() % kAlignment != 0) return std::nullopt;
  if (ranks == 2) return sim::Algorithm::kOneShot;
  const std::int64_t one_shot = (ranks <= 4 ? 512 : 256) * kKiB;
  return size.count() < one_shot ? sim::Algorithm::kOneShot : sim::Algorithm::kTwoShot;
}

std::optional<sim::Error> WhyNotCustom(const topologies::Fabric& fabric, const hardware::Device& device,
                                       sim::Algorithm algorithm, std::span<const std::uint32_t> devices) {
  const bool has_figures = std::any_of(device.collective_timing.begin(), device.collective_timing.end(),
                                       [&](const auto& timing) { return timing.algorithm == algorithm; });
  if (!has_figures) {
    return sim::Error{'"' + device.name + "\" has no figures of " + ToText(algorithm) +
                      " (collectives of its file); h100_sxm has, and NCCL needs none"};
  }
  const std::size_t ranks = devices.size();
  if (ranks != 2 && ranks != 4 && ranks != 6 && ranks != 8) {
    return sim::Error{std::to_string(ranks) + " ranks; its kernels are made for 2, 4, 6 and 8"};
  }
  const bool one_domain = std::all_of(devices.begin(), devices.end(), [&](std::uint32_t other) {
    return fabric.domain[other] == fabric.domain[devices[0]];
  });
  if (!one_domain || device.node.nvlink == sim::ByteRate()) {
    return sim::Error{
        "its kernels read their peers' memory over NVLink; ranks of one NVLink domain are wanted"};
  }
  return std::nullopt;
}

std::optional<sim::Error> WhyNotCustom(const topologies::Fabric& fabric, const hardware::Device& device,
                                       sim::Algorithm algorithm, sim::Bytes size,
                                       std::span<const std::uint32_t> devices) {
  if (const auto why = WhyNotCustom(fabric, device, algorithm, devices)) return why;
  const sim::Bytes most = MostOfCustom(devices.size());
  if (size <= most) return std::nullopt;
  return sim::Error{std::to_string(size.count()) + " bytes; TensorRT-LLM's buffers take " +
                    std::to_string(most.count()) + " at most, of " + std::to_string(devices.size()) +
                    " ranks"};
}

}  // namespace scenarios
