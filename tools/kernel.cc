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

constexpr const char* kExplanation =
    R"(orrery kernel says what a step is charged for a kernel by itself, its launch apart.

us         the time; beside: while communication kernels hold some of the SMs and of the memory's rate.
TFLOP/s    multiply-adds count two; of attention those that the mask leaves. peak%: of the data sheet's.
MB         read and written at least, each tensor once; GB/s is that over the time, FLOP/B the FLOPs over it.
bound      what takes longest: launch (the start of the kernel, or the least time of any), tensor (matrix
           units) or memory (what moves from memory and L2).
tile       the fastest way to cut the result, k/ into how many parts k is cut, waves how often all tiles fill
           the SMs. None of a product that was measured, of one row by a kernel of its own, and of a roofline.
by         how well the time is known. measurement: this very shape, alone, on this device (measured_gemm in
           its file; `orrery calibrate points` writes it). fit: figures measured on this device, within the m,
           n and k that they were fitted to. published, derived, assumed: as the file says of its figures.
           extrapolation: measured or derived figures beyond what they were fitted to; several products at
           once, since fits are of single ones, and heads wider or narrower than any measured.

gemm       [m,k] x [k,n]. --count N are as many at once, as experts' are; --accumulate adds to FP32 sums, as
           weight gradients do. FP8 and narrower: the product alone, casts are kernels of their own.
           --constant-data leaves out the derate of random numbers, which draw more power.
attention  --sequence queries of --batch sequences, --keys keys (as many), causal unless --full; --window N
           keys that a query sees. --kind FLASH2, FLASH3, CUDNN or, --paged, TRTLLM; the device's first.
           --paged puts keys and values into a cache first, as serving engines do. In 16 bits.
memory     --class elementwise, norm, gather, optimizer or activation, which a device's file has rates of.
roofline   of all formats, classes of memory-bound kernels and attentions: data sheet, what kernels reach at
           best, the ridge (FLOPs a byte from which on matrix units limit), and where each is from.
)";

int RunKernel(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.has("explain")) {
    out << kExplanation;
    return kExitDone;
  }
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
  return {"kernel",
          "Times of single kernels, what bounds them and how well that is known; rooflines.",
          "gemm | attention | memory | roofline [options]",
          1,
          {{"hardware", "NAME", "of `orrery list hardware`, or a file; h100_sxm"},
           {"set", "PATH=VALUE", "change a field: hardware.sms=100", true},
           {"shape", "MxNxK", "gemm: [m,k] x [k,n]; A:B doubles, A:B:S adds: 1:65536x4096x4096", true},
           {"format", "LIST", "gemm: BF16,FP8; --count N: so many at once; --accumulate: to FP32 sums"},
           {"count", "N", ""},
           {"accumulate", "", ""},
           {"constant-data", "", "gemm, roofline: without the power derate of random numbers"},
           {"sequence", "N", "attention: 4096, A:B as a shape's; --batch N, 1; --keys N where they differ"},
           {"batch", "N", ""},
           {"keys", "N", ""},
           {"heads", "N", "attention: 32; --kv-heads N; --head-dim N, 128; --value-dim N"},
           {"kv-heads", "N", ""},
           {"head-dim", "N", ""},
           {"value-dim", "N", ""},
           {"kind", "NAME", "attention: FLASH2, ...; --full, --window N: masks; --backward; --paged"},
           {"full", "", ""},
           {"window", "N", ""},
           {"backward", "", ""},
           {"paged", "", ""},
           {"bytes", "SIZE", "memory: 64M; 1M:1G doubles; --class NAME: elementwise, norm, ..."},
           {"class", "NAME", ""},
           {"beside", "", "and the time beside communication, which holds some of the SMs"},
           {"json", "", "print one JSON document; --csv: a table for a spreadsheet"},
           {"csv", "", ""},
           {"explain", "", "what columns and options are"}},
          "  orrery kernel gemm --hardware h100_sxm --shape 8192x4096x4096\n"
          "  orrery kernel gemm --hardware b200_sxm --shape 1:65536x4096x4096 --format BF16,FP8 --csv\n"
          "  orrery kernel attention --sequence 512:16384 --heads 32 --kv-heads 8 --kind FLASH3 --backward\n"
          "  orrery kernel memory --bytes 1M:1G --class norm\n"
          "  orrery kernel roofline --hardware l40s\n",
          RunKernel};
}

}  // namespace tools
