#include "scenarios/compare/waterfall.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace scenarios {
namespace {

using sim::Duration;

template <class... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 160> line;
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

// Amounts are sums of kernels' that were rounded down to thousands.
constexpr double kRounding = 1e-4;

Duration Scaled(Duration time, double factor) {
  if (factor == 1) return time;
  return Duration::Picoseconds(std::llround(static_cast<double>(time.ps()) * factor));
}

// Ratios of what reports say as doubles are off in the last digits.
double Ratio(double variant, double base) {
  constexpr double kDigits = 1e-12;
  const double ratio = variant / base;
  return std::abs(ratio - 1) < kDigits ? 1 : ratio;
}

double FlopsPerToken(const PlayedJob& p) {
  return p.report.tflops_per_device * static_cast<double>(p.report.devices) * p.report.step_time.seconds() /
         p.tokens();
}

class Builder {
 public:
  Builder(const PlayedJob& base, const PlayedJob& variant) : base_(base), variant_(variant) {
    waterfall_.base = base.step;
    waterfall_.variant = variant.step;
  }

  Waterfall Build() {
    const double tokens = Ratio(variant_.tokens(), base_.tokens());
    const double devices =
        static_cast<double>(base_.report.devices) / static_cast<double>(variant_.report.devices);
    const double model = Ratio(FlopsPerToken(variant_), FlopsPerToken(base_));
    // Half the tokens on half the devices are no other work.
    if (Ratio(tokens * devices * model, 1) != 1) {
      AddWork("tokens", "tokens a step", tokens);
      AddWork("devices", "devices that share them", devices);
      AddWork("model", "FLOPs a token", model);
    }
    AddCauses();
    std::stable_partition(waterfall_.parts.begin(), waterfall_.parts.end(),
                          [](const WaterfallPart& part) { return part.work; });
    const auto first_cause = std::find_if(waterfall_.parts.begin(), waterfall_.parts.end(),
                                          [](const WaterfallPart& part) { return !part.work; });
    std::stable_sort(first_cause, waterfall_.parts.end(), [](const WaterfallPart& a, const WaterfallPart& b) {
      return std::abs(a.difference.ps()) > std::abs(b.difference.ps());
    });
    return std::move(waterfall_);
  }

 private:
  void AddWork(const char* id, const char* name, double factor) {
    if (factor == 1) return;
    const Duration before = Scaled(base_.step, waterfall_.work);
    waterfall_.work *= factor;
    const Duration more = Scaled(base_.step, waterfall_.work) - before;
    const double times = std::string(id) == "devices" ? 1 / factor : factor;
    waterfall_.parts.push_back(
        {.id = id, .name = Format("%s: %.4g times as many", name, times), .work = true, .difference = more});
  }

  // The base's parts at the variant's work: cut where their running sum is cut, so that they add up.
  void AddCauses() {
    Duration sum, cut;
    for (std::size_t i = 0; i < base_.parts.size(); ++i) {
      sum += base_.parts[i].time;
      const Duration next = Scaled(sum, waterfall_.work);
      AddCause(base_.parts[i], next - cut, variant_.parts[i]);
      cut = next;
    }
  }

  void AddCause(const StepPart& base, Duration scaled, const StepPart& variant) {
    if (!base.kernels || base.kilo_amount == 0 || variant.kilo_amount == 0) {
      Add(base.id, base.name, scaled, variant.time);
      return;
    }
    const double share = Ratio(variant.kilo_amount, base.kilo_amount * waterfall_.work);
    const bool bytes = *base.kernels == KernelClass::kMemory;
    const bool more = std::abs(share - 1) > kRounding;
    const Duration at_base_rate = more ? Scaled(scaled, share) : scaled;
    if (more) {
      waterfall_.parts.push_back({.id = base.id + "_amount",
                                  .name = Format("%s: %.3g times as many %s on this rank", base.name.c_str(),
                                                 share, bytes ? "bytes" : "FLOPs"),
                                  .work = true,
                                  .difference = at_base_rate - scaled});
    }
    // 10^3 a second, in 10^12 FLOP/s or 10^9 B/s.
    const auto rate = [&](const StepPart& part) {
      return part.kilo_amount / part.time.seconds() * (bytes ? 1e-6 : 1e-9);
    };
    Add(base.id + "_rate",
        Format("%s, at %.4g instead of %.4g %s", base.name.c_str(), rate(variant), rate(base),
               bytes ? "GB/s" : "TFLOP/s"),
        at_base_rate, variant.time);
  }

  void Add(const std::string& id, const std::string& name, Duration base, Duration variant) {
    waterfall_.parts.push_back(
        {.id = id, .name = name, .base = base, .variant = variant, .difference = variant - base});
  }

  const PlayedJob& base_;
  const PlayedJob& variant_;
  Waterfall waterfall_;
};

}  // namespace

Waterfall WaterfallOf(const PlayedJob& base, const PlayedJob& variant) {
  return Builder(base, variant).Build();
}

}  // namespace scenarios
