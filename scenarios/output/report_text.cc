#include "scenarios/output/report_text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "scenarios/output/checkpoint_text.h"
#include "sim/collective/algorithm.h"

namespace scenarios {
namespace {

// printf into a string; lines of a report are short.
[[gnu::format(printf, 1, 2)]] std::string Format(const char* format, ...) {
  std::array<char, 512> line;
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  return line.data();
}

// Decimal, as link rates are: "13.4 GB", "1,526 GB".
std::string GigabytesText(double bytes) {
  const double gb = bytes * 1e-9;
  return gb < 100 ? Format("%.3g GB", gb) : CountText(std::llround(gb)) + " GB";
}

std::string Percent(double part) { return Format("%5.1f %%", 100 * part); }

// Breaks after at most 100 columns, at spaces; later lines are indented.
// " x context 8 (ring, heads exchanged by 2)"; nothing where sequences are whole.
std::string ContextText(const Report& r) {
  if (r.context == 1) return "";
  std::string text = Format(" x context %lld (", static_cast<long long>(r.context)) + r.context_kind;
  if (r.ulysses > 1 && r.ulysses < r.context) {
    text += Format(", heads exchanged by %lld", static_cast<long long>(r.ulysses));
  }
  if (!r.zigzag) text += ", not balanced";
  return text + ")";
}

std::string Wrap(const std::string& text, const std::string& indent) {
  constexpr std::size_t kWidth = 100;
  std::string out, line = indent;
  std::size_t at = 0;
  while (at < text.size()) {
    std::size_t end = text.find(' ', at);
    if (end == std::string::npos) end = text.size();
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (line.size() + 1 + word.size() > kWidth && line.size() > indent.size()) {
      out += line + '\n';
      line = indent;
    }
    line += (line.size() > indent.size() ? " " : "") + word;
  }
  return out + line + '\n';
}

std::string Heading(const Report& r) {
  std::string changed;
  for (const std::string& override : r.overrides) changed += (changed.empty() ? " with " : ", ") + override;
  std::string text = Wrap(r.scenario + changed, "");
  const bool idle = r.active_parameters < r.parameters;
  text += Wrap(r.model + " (" + CountText(r.parameters) + " parameters" +
                   (idle ? ", " + CountText(r.active_parameters) + " active" : "") + ") on " +
                   CountText(r.devices) + " x " + r.hardware + ", " + r.topology,
               "  ");
  std::string layout = Format("tensor %lld%s%s x pipeline %lld", static_cast<long long>(r.tensor),
                              r.sequence ? " with sequence parallelism" : "", ContextText(r).c_str(),
                              static_cast<long long>(r.pipeline));
  if (r.virtual_stages > 1) layout += Format(" (%lld virtual)", static_cast<long long>(r.virtual_stages));
  layout += Format(" x data %lld, ", static_cast<long long>(r.data)) + r.schedule;
  text += Wrap(layout, "  ");
  if (r.spreads_experts) {
    std::string experts = Format("experts expert_tensor %lld x expert %lld x data %lld",
                                 static_cast<long long>(r.expert_tensor), static_cast<long long>(r.expert),
                                 static_cast<long long>(r.expert_data));
    if (r.expert_imbalance > 1) experts += Format(", the busiest at %.2f of the mean", r.expert_imbalance);
    text += Wrap(experts, "  ");
  }
  text += Wrap(CountText(r.global_batch) + " sequences of " + CountText(r.sequence_length) +
                   " tokens a step: " + CountText(r.micro_batches) +
                   (r.micro_batches == 1 ? " micro-batch of " : " micro-batches of ") +
                   CountText(r.micro_batch) + " a data rank",
               "  ");
  std::string given;
  for (const std::string& field : r.preset_fields) {
    constexpr std::size_t kOfTraining = std::string_view("training.").size();
    given += (given.empty() ? ": " : ", ") + field.substr(kOfTraining);
  }
  if (!r.preset.empty()) text += Wrap("preset " + r.preset + given, "  ");
  return text;
}

std::string Headline(const Report& r) {
  std::string text = Format("\n  step time   %s%s\n", TimeText(r.step_time).c_str(),
                            r.steady ? "" : "   (not steady: more steps would tell)");
  if (r.published_step_time_s.has_value()) {
    const double off = r.step_time.seconds() / *r.published_step_time_s - 1;
    text +=
        r.published_applies
            ? Format("  published   %.4g s: %+.1f %% off\n", *r.published_step_time_s, 100 * off)
            : Format("  published   %.4g s, for the job before --set changed it\n", *r.published_step_time_s);
  }
  text += Format("  MFU         %s   (%.1f of %.1f TFLOP/s a device; attention counted in full)\n",
                 Percent(r.mfu).c_str(), r.tflops_per_device, r.peak_tflops);
  if (!r.matmul_recipe.empty()) {
    text += Format("              %s   of the %.1f that %s products peak at; MFU and HFU are parts of %s's\n",
                   Percent(r.tflops_per_device / r.matmul_peak_tflops).c_str(), r.matmul_peak_tflops,
                   r.matmul_recipe.c_str(), r.peak_format.c_str());
  }
  text += Format("              %s   attention counted half, as causal\n", Percent(r.mfu_causal).c_str());
  text += Format("  HFU         %s   recomputation counted\n", Percent(r.hfu).c_str());
  text += Format("  tokens      %s a second\n", CountText(std::llround(r.tokens_per_s)).c_str());
  if (r.cost_usd_per_step.has_value()) {
    text += Format("  cost        $%.4g a step, $%s a trillion tokens at $%.4g a device-hour\n",
                   *r.cost_usd_per_step, CountText(std::llround(*r.cost_usd_per_trillion_tokens)).c_str(),
                   *r.price_usd_per_device_hour);
  }
  return text;
}

std::string PartTable(const std::string& title, const std::vector<TimePart>& parts, sim::Duration whole) {
  std::string text = "\n" + title + "\n";
  for (const TimePart& part : parts) {
    if (part.time == sim::Duration()) continue;
    text += Format("  %-24s %12s  %s\n", part.name.c_str(), TimeText(part.time).c_str(),
                   Percent(part.time.seconds() / whole.seconds()).c_str());
  }
  text += Format("  %-24s %12s\n", "together", TimeText(whole).c_str());
  return text;
}

// The step that a save held up longest, beside the one without saves above.
std::string HeldStepTable(const Report& r) {
  if (!r.checkpoint || r.checkpoint->breakdown.empty()) return "";
  sim::Duration whole;
  for (const TimePart& part : r.checkpoint->breakdown) whole += part.time;
  return PartTable(
      Format("Breakdown of the step after a save on rank %u, held up longest", r.checkpoint->breakdown_rank),
      r.checkpoint->breakdown, whole);
}

sim::Bytes PartOf(const StageReport& stage, const char* name) {
  for (const BytePart& part : stage.memory) {
    if (part.name == name) return part.bytes;
  }
  return {};
}

std::string OffloadText(const OffloadReport& o) {
  std::string text;
  if (o.activation_layers > 0) {
    text += Format("  activations of the first %lld layers of each piece wait in host memory: ",
                   static_cast<long long>(o.activation_layers)) +
            BytesText(o.bytes_per_step) + " each way a step and device, ";
  }
  if (o.optimizer_fraction > 0) {
    text += std::string(text.empty() ? "" : "and\n") +
            Format("  %g of the optimizer%s is on the hosts: ", o.optimizer_fraction,
                   o.parameters ? ", with the weights," : "") +
            BytesText(o.gradients_per_step) + " down and " + BytesText(o.weights_per_step) +
            " up a step and device, ";
  }
  return text + BytesText(o.host_per_node) + " of a node's " + BytesText(o.host_memory) + "\n";
}

std::string StageTable(const Report& r) {
  constexpr std::size_t kMost = 20;
  std::string text =
      Format("\nStages (memory of one device, of %s)\n", BytesText(r.memory_per_device).c_str());
  text += Format("  %5s %6s %6s %11s %11s %11s %11s %6s %11s\n", "stage", "layers", "busy", "weights",
                 "gradients", "optimizer", "activations", "flight", "total");
  for (std::size_t i = 0; i < r.stages.size(); ++i) {
    if (r.stages.size() > kMost && i == kMost - 2) {
      text += Format("  ... %zu more; --json has them all\n", r.stages.size() - kMost + 1);
      i = r.stages.size() - 1;
    }
    const StageReport& s = r.stages[i];
    const sim::Bytes weights = PartOf(s, "weights") + PartOf(s, "expert_weights") + PartOf(s, "fp8_weights");
    const sim::Bytes gradients = PartOf(s, "gradients") + PartOf(s, "expert_gradients");
    const sim::Bytes optimizer = PartOf(s, "master_weights") + PartOf(s, "moments") +
                                 PartOf(s, "expert_master_weights") + PartOf(s, "expert_moments");
    const sim::Bytes activations =
        PartOf(s, "activations") + PartOf(s, "recomputed") + PartOf(s, "offload_buffers");
    text +=
        Format("  %5lld %6lld %5.1f%% %11s %11s %11s %11s %6lld %11s%s\n", static_cast<long long>(s.stage),
               static_cast<long long>(s.layers), 100 * s.busy.seconds() / r.step_time.seconds(),
               BytesText(weights).c_str(), BytesText(gradients).c_str(), BytesText(optimizer).c_str(),
               BytesText(activations).c_str(), static_cast<long long>(s.micro_batches_in_flight),
               BytesText(s.memory_total).c_str(), s.fits ? "" : " !");
  }
  sim::Bytes gathered, unreduced;
  for (const StageReport& s : r.stages) {
    gathered = std::max(gathered, PartOf(s, "gathered"));
    unreduced = std::max(unreduced, PartOf(s, "unreduced"));
  }
  if (gathered + unreduced > sim::Bytes()) {
    text += "  the total has " + BytesText(gathered) + " of gathered weights and " + BytesText(unreduced) +
            " of gradients that wait to be scattered\n";
  }
  if (r.offload) text += OffloadText(*r.offload);
  if (!r.fits) text += "  ! does not fit into the device's memory\n";
  return text;
}

std::string TierTable(const Report& r) {
  if (r.tiers.empty()) return "";
  std::string text =
      Format("\nLinks\n  %-12s %8s %8s %8s   %s\n", "tier", "links", "mean", "busiest", "which");
  for (const TierReport& t : r.tiers) {
    if (t.busiest_link.empty()) continue;  // carried nothing
    text += Format("  %-12s %8s %s %s   %s\n", t.name.c_str(), CountText(t.links).c_str(),
                   Percent(t.mean_utilisation).c_str(), Percent(t.max_utilisation).c_str(),
                   t.busiest_link.c_str());
  }
  return text;
}

std::string CollectiveTable(const Report& r) {
  if (r.collectives.empty()) return "";
  constexpr std::size_t kMost = 8;
  const bool own = std::any_of(r.collectives.begin(), r.collectives.end(), [](const auto& c) {
    return c.algorithm == sim::ToText(sim::Algorithm::kOneShot) ||
           c.algorithm == sim::ToText(sim::Algorithm::kTwoShot);
  });
  std::string text =
      Format("\nCollectives of rank %u, as NCCL %s chooses%s\n", r.breakdown_rank, r.nccl_version.c_str(),
             own ? "; OneShot, TwoShot: training.tensor_all_reduce" : "");
  text +=
      Format("  %-14s %-15s %7s %6s %11s %8s  %-15s %10s  %s\n", "for", "", "ranks", "nodes", "bytes",
             Format("%lld steps", static_cast<long long>(r.steps)).c_str(), "by", "alone", "fastest here");
  for (std::size_t i = 0; i < std::min(kMost, r.collectives.size()); ++i) {
    const CollectiveReport& c = r.collectives[i];
    text += Format("  %-14s %-15s %7s %6s %11s %8s  %-15s %10s", c.purpose.c_str(), c.kind.c_str(),
                   CountText(c.ranks).c_str(), CountText(c.nodes).c_str(), BytesText(c.bytes).c_str(),
                   CountText(c.times).c_str(), (c.algorithm + '/' + c.protocol).c_str(),
                   TimeText(c.alone).c_str());
    if (!c.fastest_algorithm.empty()) {
      text += "  " + c.fastest_algorithm + '/' + c.fastest_protocol + ' ' + TimeText(c.fastest_alone);
    }
    text += '\n';
  }
  if (r.collectives.size() > kMost) {
    text += "  and " + CountText(static_cast<std::int64_t>(r.collectives.size() - kMost)) +
            " that take less (see --json)\n";
  }
  text +=
      "  all-to-alls, rings of context, sends and receives are none of these: NCCL has one way for them\n";
  return text;
}

std::string KernelsTable(const Report& r) {
  if (r.kernels.empty()) return "";
  sim::Duration all;
  for (const KernelReport& row : r.kernels) all += row.time;
  std::string text =
      Format("\nKernels of rank %u in a step, by how well their times are known\n", r.breakdown_rank);
  for (const KernelReport& row : r.kernels) {
    text += Format("  %-24s %12s  %s  %12s\n", row.basis.c_str(), TimeText(row.time).c_str(),
                   Percent(row.time.seconds() / all.seconds()).c_str(), CountText(row.kernels).c_str());
  }
  return text;
}

std::string ClosedFormText(const Report& r) {
  const ClosedForm& form = r.closed_form;
  std::string text = "\nBy hand\n";
  text +=
      Format("  6PD                %.4g FLOP: %s at peak, so T = 6PD / (N peak MFU) needs MFU %s\n",
             form.six_pd_flops, SecondsText(form.time_at_peak_s).c_str(), Percent(form.six_pd_mfu).c_str());
  const bool plain = r.schedule == "gpipe" || r.schedule == "1f1b" || r.schedule == "interleaved";
  text += Format("  pipeline bubble   %s   %s\n", Percent(form.bubble_share).c_str(),
                 plain ? "(p-1)/(v m + p-1)" : ("of " + r.schedule + ", without communication").c_str());
  const std::pair<const char*, double> sent[] = {
      {"gradients", form.gradient_bytes_per_rank},  {"parameters", form.parameter_bytes_per_rank},
      {"tensor", form.tensor_bytes_per_rank},       {"context", form.context_bytes_per_rank},
      {"experts", form.expert_bytes_per_rank},      {"pipeline", form.pipeline_bytes_per_rank},
      {"tied table", form.embedding_bytes_per_rank}};
  std::string list;
  for (const auto& [name, bytes] : sent) {
    if (bytes > 0) list += (list.empty() ? "" : ", ") + GigabytesText(bytes) + " " + name;
  }
  text += "  sent by a device   " + (list.empty() ? std::string("nothing") : list) + "\n";
  return text;
}

std::string Footer(const Report& r) {
  std::string text;
  for (const std::string& warning : r.warnings) text += Wrap("warning: " + warning, "  ");
  if (!text.empty()) text = "\n" + text;
  std::array<int, 4> count{};
  constexpr std::array<const char*, 4> kBases = {"measured", "published", "derived", "assumed"};
  for (const Provenance& figure : r.figures) {
    for (std::size_t i = 0; i < kBases.size(); ++i)
      count[i] += figure.used && figure.basis == kBases[i] ? 1 : 0;
  }
  text +=
      Format("\nFigures of %s it leans on: %d measured, %d published, %d derived, %d assumed (see --json)\n",
             r.hardware.c_str(), count[0], count[1], count[2], count[3]);
  text += Format("%s tasks, %s events, %lld steps, digest %s\n",
                 CountText(static_cast<std::int64_t>(r.tasks)).c_str(),
                 CountText(static_cast<std::int64_t>(r.events)).c_str(), static_cast<long long>(r.steps),
                 r.digest.c_str());
  if (r.ranks_played < r.devices)
    text += Format("%s of %s ranks were played, one of each kind\n", CountText(r.ranks_played).c_str(),
                   CountText(r.devices).c_str());
  return text;
}

std::string VerdictText(const Report& r) {
  if (!r.verdict) return "";
  std::string text = "\n" + Wrap("Verdict: " + r.verdict->text, "");
  for (const Suggestion& suggestion : r.verdict->suggestions) {
    std::string line = "try";
    for (const std::string& set : suggestion.set) line += " --set " + set;
    text += Wrap(line + ": " + suggestion.text, "  ");
  }
  return text + Wrap(r.verdict->note, "  ");
}

}  // namespace

std::string TimeText(sim::Duration time) {
  const std::int64_t ps = time.ps();
  struct Unit {
    std::int64_t ps;
    const char* name;
  };
  constexpr std::array<Unit, 4> kUnits = {
      Unit{1'000'000'000'000, "s"}, {1'000'000'000, "ms"}, {1'000'000, "us"}, {1'000, "ns"}};
  for (const Unit& unit : kUnits) {
    if (ps < unit.ps) continue;
    const double value = static_cast<double>(ps) / static_cast<double>(unit.ps);
    return Format(value < 10 ? "%.4f %s" : value < 100 ? "%.3f %s" : "%.2f %s", value, unit.name);
  }
  return Format("%lld ps", static_cast<long long>(ps));
}

std::string SecondsText(double seconds) {
  constexpr double kDay = 86'400;
  return seconds < kDay ? TimeText(sim::Duration::FromSeconds(seconds)) : Format("%.4g s", seconds);
}

std::string BytesText(sim::Bytes bytes) {
  constexpr std::array<const char*, 6> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  auto value = static_cast<double>(bytes.count());
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return Format(unit == 0 ? "%.0f %s" : value < 100 ? "%.2f %s" : "%.1f %s", value, kUnits[unit]);
}

std::string CountText(std::int64_t count) {
  std::string digits = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  }
  return digits;
}

std::string ReportText(const Report& r) {
  return Heading(r) + Headline(r) +
         PartTable(Format("Breakdown of the step on rank %u, which idles least", r.breakdown_rank),
                   r.breakdown, r.step_time) +
         PartTable("Critical path through all ranks", r.critical_path, r.step_time) + StageTable(r) +
         TierTable(r) + CollectiveTable(r) + KernelsTable(r) + CheckpointText(r) + HeldStepTable(r) +
         ClosedFormText(r) + Footer(r) + VerdictText(r);
}

}  // namespace scenarios
