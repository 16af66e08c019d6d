#include "hardware/device.h"

#include "sim/base/check.h"

namespace hardware {

const Figure* FindFigure(const Device& device, const std::string& key) {
  for (const Figure& figure : device.figures) {
    if (figure.key == key) return &figure;
  }
  return nullptr;
}

const Figure* FindFigure(const Device& device, const std::string& list, std::int32_t place) {
  return FindFigure(device, list + '[' + std::to_string(place) + ']');
}

const Exchange* FindExchange(const Device& device, Exchange::Kernels kernels, bool combine) {
  for (const Exchange& exchange : device.exchanges) {
    if (exchange.kernels == kernels && exchange.combine == combine) return &exchange;
  }
  return nullptr;
}

namespace {

// The first compute capability with matrix units for the format.
// Source: CUDA C++ Programming Guide, tables of arithmetic and tensor core
// formats by compute capability; Transformer Engine's checks of its recipes.
std::int32_t NeededCapability(sim::NumberFormat format) {
  switch (format) {
    case sim::NumberFormat::kFp32:
      return 0;
    case sim::NumberFormat::kFp16:
      return 70;
    case sim::NumberFormat::kTf32:
    case sim::NumberFormat::kBf16:
      return 80;
    case sim::NumberFormat::kFp8:
      return 89;
    case sim::NumberFormat::kFp8Block:
      return 90;
    case sim::NumberFormat::kMxFp8:
    case sim::NumberFormat::kNvFp4:
      return 100;
    case sim::NumberFormat::kInt8:
    case sim::NumberFormat::kInt8Weights:
    case sim::NumberFormat::kInt4Weights:
      return 80;  // units from 7.5 on; kernels that were measured, from 8.0
  }
  return 0;
}

std::string CapabilityText(std::int32_t capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

}  // namespace

const char* ToText(Basis basis) {
  switch (basis) {
    case Basis::kMeasured:
      return "measured";
    case Basis::kPublished:
      return "published";
    case Basis::kDerived:
      return "derived";
    case Basis::kAssumed:
      return "assumed";
  }
  return "";
}

const char* ToText(sim::NumberFormat format) {
  switch (format) {
    case sim::NumberFormat::kFp32:
      return "FP32";
    case sim::NumberFormat::kTf32:
      return "TF32";
    case sim::NumberFormat::kBf16:
      return "BF16";
    case sim::NumberFormat::kFp16:
      return "FP16";
    case sim::NumberFormat::kFp8:
      return "FP8";
    case sim::NumberFormat::kFp8Block:
      return "FP8_BLOCK";
    case sim::NumberFormat::kMxFp8:
      return "MXFP8";
    case sim::NumberFormat::kNvFp4:
      return "NVFP4";
    case sim::NumberFormat::kInt8:
      return "INT8";
    case sim::NumberFormat::kInt8Weights:
      return "INT8_WEIGHTS";
    case sim::NumberFormat::kInt4Weights:
      return "INT4_WEIGHTS";
  }
  return "";
}

const char* ToText(sim::AttentionKind kind) {
  switch (kind) {
    case sim::AttentionKind::kUnfused:
      return "UNFUSED";
    case sim::AttentionKind::kFlash2:
      return "FLASH2";
    case sim::AttentionKind::kFlash3:
      return "FLASH3";
    case sim::AttentionKind::kCudnn:
      return "CUDNN";
    case sim::AttentionKind::kTrtLlm:
      return "TRTLLM";
  }
  return "";
}

bool SupportsFormat(const Device& device, sim::NumberFormat format) {
  return device.capability >= NeededCapability(format) &&
         device.gemm[static_cast<std::size_t>(format)].kind != GemmModelKind::kNone;
}

std::string WhyNotFormat(const Device& device, sim::NumberFormat format) {
  if (SupportsFormat(device, format)) return "";
  const std::string device_name = '"' + device.name + '"';
  std::string why;
  if (device.capability < NeededCapability(format)) {
    why = std::string(ToText(format)) + " needs compute capability " +
          CapabilityText(NeededCapability(format)) + " or more, and " + device_name + " has " +
          CapabilityText(device.capability);
  } else {
    why = "the file of " + device_name + " gives no " + ToText(format) + " figures";
  }
  // The nearest format of the same width that does work; training in FP8 falls
  // back to the wider ones.
  for (const sim::NumberFormat other : {sim::NumberFormat::kBf16, sim::NumberFormat::kFp16,
                                        sim::NumberFormat::kTf32, sim::NumberFormat::kFp32}) {
    if (SupportsFormat(device, other)) return why + "; use " + ToText(other);
  }
  return why;
}

std::string FormatsOf(const Device& device) {
  using enum sim::NumberFormat;
  std::string known;
  for (const sim::NumberFormat format :
       {kBf16, kFp16, kTf32, kFp32, kFp8, kFp8Block, kMxFp8, kNvFp4, kInt8, kInt8Weights, kInt4Weights}) {
    if (SupportsFormat(device, format)) known += (known.empty() ? "" : ", ") + std::string(ToText(format));
  }
  return known;
}

double PeakFlopsPerSecond(const Device& device, sim::NumberFormat format) {
  CHECK(SupportsFormat(device, format));
  return device.peak_flops_per_s[static_cast<std::size_t>(format)];
}

bool SupportsAttention(const Device& device, sim::AttentionKind implementation) {
  if (implementation == sim::AttentionKind::kUnfused) return true;
  for (const AttentionModel& model : device.attention) {
    if (model.implementation == implementation) return true;
  }
  return false;
}

std::vector<sim::AttentionKind> AttentionKinds(const Device& device) {
  std::vector<sim::AttentionKind> kinds;
  for (const sim::AttentionKind kind : {sim::AttentionKind::kUnfused, sim::AttentionKind::kFlash2,
                                        sim::AttentionKind::kFlash3, sim::AttentionKind::kCudnn}) {
    if (SupportsAttention(device, kind)) kinds.push_back(kind);
  }
  return kinds;
}

}  // namespace hardware
