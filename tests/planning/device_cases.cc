// 17.9.6, H800 against H20; and failures, which 17.5.4 and 17.7.4 count differently.

#include "scenarios/budget/cost.h"
#include "scenarios/budget/serving.h"
#include "tests/pages/page.h"
#include "tests/planning/planning.h"

namespace planning {
namespace {

using pages::Count;
using pages::Number;
using pages::Percent;
using pages::Wrapped;

constexpr std::int64_t kRequests = 32, kTokens = 4096, kTensor = 4;

}  // namespace

// 17.8.4: kernels at 0.7 of the peak, memory at its rate; four devices share LLaMA-3-70B.
Decoding DecodingOn(const DevicePlan& plan) {
  const hardware::Device& d = plan.device.device;
  const scenarios::Server server{.model = Wishes("llama3_70b", 1).model,
                                 .roof = {0.7 * hardware::PeakFlopsPerSecond(d, sim::NumberFormat::kBf16),
                                          d.memory_rate.bytes_per_second()},
                                 .tensor = kTensor};
  Decoding decoding;
  decoding.kv_bytes = scenarios::KvBytes(server, kTokens) * kTensor;
  decoding.tokens_per_s =
      scenarios::Throughput(kRequests, scenarios::DecodeSeconds(server, kRequests, kTokens));
  decoding.usd = scenarios::UsdPerMillionTokens(kTensor, *plan.device.usd_per_hour, decoding.tokens_per_s);
  return decoding;
}

TwoDevices PlanTwoDevices() {
  PlanRequest wishes = Wishes("llama_7b", 2e12, {"h800_sxm", "h20"});
  wishes.days = 10;
  return {PlanOf(wishes)};
}

Case ToCase(const TwoDevices& f) {
  Case one{.title = "H800 against H20 (17.9.6)"};
  const DevicePlan &h800 = f.plan.plans[0], &h20 = f.plan.plans[1];
  one.lines = {Printed("LLaMA-7B in 10 days on H20", "890 to 1,626", "", "40 %", "10", ""),
               Found(h20, "B18: no factor of 0.75; a slow device hides its traffic")};
  const double more = static_cast<double>(Best(h20).candidate.shape.devices) /
                      static_cast<double>(Best(h800).candidate.shape.devices);
  const Decoding d800 = DecodingOn(h800), d20 = DecodingOn(h20);
  one.text =
      "Training: printed are 6.4 to 6.7 times as many H20, by the peaks, 989.5 to 148, and that nothing but "
      "an "
      "H800 will do. In the same 10 days, "
      "with sequences of 2,048, the plan needs " +
      Count(Best(h800).candidate.shape.devices) + " H800 or " + Count(Best(h20).candidate.shape.devices) +
      " H20, " + Number(more, 1) + " times as many, since an H20's MFU is " + Percent(Utilisation(h20)) +
      " where an H800's is " + Percent(Utilisation(h800)) + ". At 2.0 and 0.8 USD an hour that is " +
      Number(Usd(h800)) + " against " + Number(Usd(h20)) +
      " USD. So the H800 wins, by money: an H20 would have to cost " + Number(Usd(h800) / Usd(h20) * 0.8, 2) +
      " USD an hour to be as cheap.\n\n";
  one.text += "Serving: a request of 4,096 tokens keeps " + Number(d800.kv_bytes * 1e-9, 3) +
              " GB of LLaMA-3-70B's keys and values, not 0.625 (E16). By the closed forms of decoding, 32 "
              "requests on "
              "four devices yield " +
              Number(d800.tokens_per_s) + " tokens a second on H800 (printed 3,040) and " +
              Number(d20.tokens_per_s) + " on H20 (printed 3,630), " +
              Percent(d20.tokens_per_s / d800.tokens_per_s - 1) + " more. A million tokens cost " +
              Number(d800.usd, 2) + " and " + Number(d20.usd, 2) + " USD at the prices above: an H20 is " +
              Number(d800.usd / d20.usd, 1) + " times cheaper, as printed 2.4 to 3.0.\n\n" +
              Command("llama_7b --tokens 2e12 --days 10 --device h800_sxm --device h20");
  return one;
}

Failures PlanFailures() {
  PlanRequest wishes = Wishes("llama2_70b", 2e12);
  wishes.device_count = 16384;
  wishes.global_batch = 4096;
  wishes.search.plays = 1;
  wishes.limits = {
      .tensor = 8, .pipeline = 4, .virtual_stages = 5, .micro = 1, .recompute = scenarios::Recompute::kNone};
  Failures found;
  for (const double hours : {50'700.0, 20'000.0, 10'000.0, 2'400.0}) {
    wishes.bill.device_hours = hours;
    found.runs.push_back({hours, OnePlanOf(wishes)});
  }
  return found;
}

Case ToCase(const Failures& f) {
  Case one{.title = "Failures (17.5.4, 17.7.4)"};
  one.text = Wrapped(
                 "Printed: 1 to 2 % of the devices fail a day, which is each once in 1,200 to 2,400 hours "
                 "(17.5.4); devices "
                 "fail once in 10,000 to 20,000 hours, and a cluster of 16,000 of them once in 100 to 500 "
                 "(17.7.4). None of "
                 "these follows from another: devices that fail independently stop a cluster as many times "
                 "as often as it has "
                 "devices (E18). Below is the bill's clock for 70B and 2e12 tokens on 16,384 H800, " +
                 LayoutText(f.runs[0].plan) +
                 "; 50,700 hours, which plans take where nobody says, are those of Llama 3: 419 "
                 "unexpected interruptions in 54 days of 16,384.") +
             "\n\n";
  one.text += pages::TableHead({"a device fails every", "one of 16,384 every", "failures in the run", "days",
                                "a save every", "saves, lost work and restarts"});
  for (const Failures::Run& run : f.runs) {
    if (!run.plan.outcome()->bill) continue;
    const scenarios::WallClock& c = run.plan.outcome()->bill->clock;
    one.text += pages::TableLine({Number(run.device_hours) + " h", Number(c.failure_s / 3600, 2) + " h",
                                  Number(c.failures, 1), Number(Days(run.plan), 2),
                                  Count(c.every_steps) + " steps", Percent(1 - c.goodput(), 1)});
  }
  one.text +=
      '\n' + Wrapped(
                 "Saves to the hosts' memory stall a step for milliseconds, so they can be as frequent "
                 "as failures ask for; what grows is the restarts. Of devices that fail once in " +
                 Number(f.runs.back().device_hours) + " hours the plan says: \"" +
                 f.runs.back().plan.gives.front() + "\"");
  return one;
}

}  // namespace planning
