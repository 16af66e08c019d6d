// What `orrery kernel` is asked for, as its command line says it.

#ifndef TOOLS_KERNEL_REQUEST_H_
#define TOOLS_KERNEL_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "sim/base/kernel.h"
#include "tools/command_line.h"

namespace tools {

enum class AskedTable : std::uint8_t { kGemm, kAttention, kMemory, kRoofline };

struct KernelRequest {
  AskedTable table = AskedTable::kGemm;
  hardware::Device device;
  std::vector<sim::Kernel> kernels;   // none of a roofline
  std::vector<proto::Override> sets;  // of the device
};

// --hardware with these of its fields changed.
std::optional<hardware::Device> ReadKernelDevice(const Arguments& arguments,
                                                 const std::vector<proto::Override>& sets,
                                                 proto::Diagnostics* diagnostics);

// Flags of what is asked for, and none that says nothing of it; every mistake is a line.
std::optional<KernelRequest> ReadKernelRequest(const Arguments& arguments, proto::Diagnostics* diagnostics,
                                               std::vector<std::string>* errors);

}  // namespace tools

#endif  // TOOLS_KERNEL_REQUEST_H_
