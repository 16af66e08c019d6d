// orrery kernel: single kernels of a device, and its rooflines.

#include <algorithm>
#include <ostream>

#include "hardware/attention_model.h"
#include "hardware/device_cost_model.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/output/kernel_output.h"
#include "tools/commands.h"
#include "tools/kernel_request.h"

namespace tools {
namespace {

enum class Form : std::uint8_t { kText, kJson, kCsv };

std::string TableOf(const Arguments& arguments, const KernelRequest& request, const hardware::Device& device,
                    Form form) {
  const bool constant = arguments.has("constant-data");
  const hardware::DeviceCostModel cost(device, {.random_data = !constant});
  const scenarios::KernelHead head{.hardware = device.name,
                                   .constant_data = constant,
                                   .accumulates = arguments.has("accumulate"),
                                   .beside = arguments.has("beside"),
                                   .derate = device.random_data_derate,
                                   .eager_launch = scenarios::EagerLaunchOf(device)};
  if (request.table == AskedTable::kRoofline) {
    const scenarios::RooflineTable table = scenarios::RooflinesOf(device, cost);
    return form == Form::kJson  ? scenarios::RooflineJson(table, head)
           : form == Form::kCsv ? scenarios::RooflineCsv(table)
                                : scenarios::RooflineText(table, head);
  }
  const auto rows = scenarios::KernelTable(device, cost, request.kernels);
  return form == Form::kJson  ? scenarios::KernelJson(rows, head)
         : form == Form::kCsv ? scenarios::KernelCsv(rows, head)
                              : scenarios::KernelText(rows, head);
}

// Whether a figure has another value.
bool Differ(const hardware::Device& a, const hardware::Device& b) {
  return !std::equal(a.figures.begin(), a.figures.end(), b.figures.begin(), b.figures.end(),
                     [](const hardware::Figure& x, const hardware::Figure& y) { return x.value == y.value; });
}

bool Runs(const hardware::Device& device, const sim::Kernel& kernel) {
  if (kernel.kind == sim::KernelKind::kMemory) return true;
  if (!hardware::SupportsFormat(device, kernel.format)) return false;
  if (kernel.kind == sim::KernelKind::kGemm) return true;
  const auto around =
      hardware::ModelsAround(kernel.attention.paged ? device.paged_attention : device.attention,
                             kernel.attention, kernel.kind == sim::KernelKind::kAttentionBackward);
  return around.below != nullptr || around.above != nullptr;
}

// --set of what changes a figure and no number of the table.
std::vector<std::string> IdleSets(const Arguments& arguments, const KernelRequest& request) {
  std::vector<std::string> errors;
  for (std::size_t i = 0; i < request.sets.size(); ++i) {
    std::vector<proto::Override> others = request.sets;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    proto::Diagnostics ignored;  // what cannot be read without it needs it
    const auto device = ReadKernelDevice(arguments, others, &ignored);
    if (!device || !Differ(*device, request.device)) continue;
    if (!std::all_of(request.kernels.begin(), request.kernels.end(),
                     [&](const sim::Kernel& kernel) { return Runs(*device, kernel); })) {
      continue;
    }
    if (TableOf(arguments, request, *device, Form::kJson) !=
        TableOf(arguments, request, request.device, Form::kJson)) {
      continue;
    }
    const proto::Override& set = request.sets[i];
    errors.push_back("--set " + std::to_string(set.index) + ": hardware." + set.path +
                     ": has no effect on what is asked for; leave it out");
  }
  return errors;
}

int RunKernel(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  proto::Diagnostics diagnostics;
  std::vector<std::string> errors;
  const auto request = ReadKernelRequest(arguments, &diagnostics, &errors);
  Print(diagnostics, err);
  if (request) errors = IdleSets(arguments, *request);
  for (const std::string& error : errors) Fail(error, err);
  if (!request || !errors.empty()) return kExitUsage;
  const Form form = arguments.has("json") ? Form::kJson : arguments.has("csv") ? Form::kCsv : Form::kText;
  out << TableOf(arguments, *request, request->device, form);
  return kExitDone;
}

}  // namespace

Command KernelCommand() {
  return {
      "kernel",
      "Times of single kernels, what bounds them and how well that is known; rooflines.",
      "gemm | attention | memory | roofline [options]",
      1,
      {{"hardware", "NAME", "of `orrery list hardware`, or a file; h100_sxm"},
       {"set", "PATH=VALUE", "change a field: hardware.sms=100", true},
       {"shape", "MxNxK", "gemm: [m,k] x [k,n]; A:B doubles, A:B:S adds: 1:65536x4096x4096", true},
       {"format", "LIST", "gemm: BF16,FP8; the device's 16 bits"},
       {"count", "N", "gemm: so many at once, as experts' are"},
       {"accumulate", "", "gemm: added to FP32 sums, as weight gradients are"},
       {"constant-data", "", "gemm, roofline: without the power derate of random numbers"},
       {"batch", "N", "attention: 1; sequences, A:B as a shape's"},
       {"sequence", "N", "attention: 4096; queries of each, A:B as a shape's; --keys N where they differ"},
       {"keys", "N", ""},
       {"heads", "N", "attention: 32; --kv-heads N, as many; --head-dim N, 128; --value-dim N, as wide"},
       {"kv-heads", "N", ""},
       {"head-dim", "N", ""},
       {"value-dim", "N", ""},
       {"kind", "NAME", "attention: FLASH2, FLASH3, CUDNN, TRTLLM; the device's first"},
       {"full", "", "attention: not causal; --window N: keys that a query sees"},
       {"window", "N", ""},
       {"backward", "", "attention: its backward; --paged: as serving engines run it, into a cache first"},
       {"paged", "", ""},
       {"bytes", "SIZE", "memory: read and written, 64M; 1M:1G doubles"},
       {"class", "NAME", "memory: elementwise, norm, gather, optimizer, activation"},
       {"beside", "", "and the time beside communication, which holds some of the SMs"},
       {"json", "", "print one JSON document"},
       {"csv", "", "print a table for a spreadsheet"}},
      "  bound: launch (the start of the kernel), tensor (matrix units) or memory, whichever takes longest;\n"
      "  tile, k/ and waves: the fastest way to cut the product, k into so many parts, SMs filled so often.\n"
      "  orrery kernel gemm --hardware h100_sxm --shape 8192x4096x4096\n"
      "  orrery kernel gemm --hardware b200_sxm --shape 1:65536x4096x4096 --format BF16,FP8 --csv\n"
      "  orrery kernel attention --sequence 512:16384 --heads 32 --kv-heads 8 --kind FLASH3 --backward\n"
      "  orrery kernel memory --bytes 1M:1G --class norm\n"
      "  orrery kernel roofline --hardware l40s\n",
      RunKernel};
}

}  // namespace tools
