// All-reduces by one kernel that reads peers' memory: which ones frameworks take, and what they refuse.

#ifndef SCENARIOS_CUSTOM_ALL_REDUCE_H_
#define SCENARIOS_CUSTOM_ALL_REDUCE_H_

#include <cstdint>
#include <optional>
#include <span>

#include "hardware/device.h"
#include "sim/base/result.h"
#include "sim/base/units.h"
#include "sim/collective/algorithm.h"
#include "topologies/fabric.h"

namespace scenarios {

// The most bytes that TensorRT-LLM's buffers take.
// Source: TensorRT-LLM, cpp/tensorrt_llm/common/customAllReduceUtils.h, getMaxRequiredWorkspaceSize.
sim::Bytes MostOfCustom(std::size_t ranks);

// As vLLM chooses: one shot of two ranks, and below 512 KiB of four or 256 KiB of six and eight; two shots up
// to 8 MiB; nothing, and so NCCL, from there on and for sizes that are not whole 16 bytes.
// Source: vLLM, csrc/custom_all_reduce.cuh and distributed/device_communicators/custom_all_reduce.py.
std::optional<sim::Algorithm> VllmChoice(std::size_t ranks, sim::Bytes size);

// Why these devices cannot: the device has no figures of it, several NVLink domains, none, or a number of
// ranks other than 2, 4, 6 and 8.
std::optional<sim::Error> WhyNotCustom(const topologies::Fabric& fabric, const hardware::Device& device,
                                       sim::Algorithm algorithm, std::span<const std::uint32_t> devices);
// The same, and too many bytes.
std::optional<sim::Error> WhyNotCustom(const topologies::Fabric& fabric, const hardware::Device& device,
                                       sim::Algorithm algorithm, sim::Bytes size,
                                       std::span<const std::uint32_t> devices);

}  // namespace scenarios

#endif  // SCENARIOS_CUSTOM_ALL_REDUCE_H_
