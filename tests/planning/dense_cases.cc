// 17.9.1, 17.5.10 and 17.9.4: models without experts.

#include "models/parameters.h"
#include "scenarios/budget/training_time.h"
#include "tests/pages/page.h"
#include "tests/planning/planning.h"

namespace planning {
namespace {

using pages::Count;
using pages::Number;
using pages::Percent;
using scenarios::OptimizerSharding;
using scenarios::Recompute;

// The textbook's step of LLaMA-7B: micro-batches of 4, 16 of them, on each of 256 devices, ZeRO-3, all
// recomputed.
scenarios::LayoutLimits SmallDenseLayout() {
  return {.tensor = 1,
          .pipeline = 1,
          .virtual_stages = 1,
          .micro = 4,
          .sharding = OptimizerSharding::kZero3,
          .recompute = Recompute::kFull};
}

scenarios::LayoutLimits LargeDenseLayout(std::int64_t pipeline, std::int64_t micro,
                                         OptimizerSharding sharding) {
  return {.tensor = 8,
          .pipeline = pipeline,
          .virtual_stages = 1,
          .micro = micro,
          .sharding = sharding,
          .recompute = Recompute::kFull};
}

DevicePlan OnDevices(PlanRequest wishes, std::int64_t devices) {
  wishes.device_count = devices;
  return OnePlanOf(wishes);
}

DevicePlan WithLayout(PlanRequest wishes, std::int64_t devices, std::int64_t batch,
                      const scenarios::LayoutLimits& layout) {
  wishes.global_batch = batch;
  wishes.limits = layout;
  return OnDevices(wishes, devices);
}

double Gigabytes(sim::Bytes bytes) { return static_cast<double>(bytes.count()) * 1e-9; }

}  // namespace

SmallDense PlanSmallDense() {
  PlanRequest wishes = Wishes("llama_7b", 2e12);
  wishes.sequence_length = 4096;  // the model's own is 2,048
  PlanRequest in_time = wishes;
  in_time.days = 10;
  return {.node = OnDevices(wishes, 8),
          .theirs = WithLayout(wishes, 256, 256 * 4 * 16, SmallDenseLayout()),
          .fixed = OnDevices(wishes, 256),
          .deadline = OnePlanOf(in_time)};
}

Case ToCase(const SmallDense& f) {
  Case one{.title = "LLaMA-7B, 2e12 tokens (17.9.1)"};
  one.lines = {
      Printed("LLaMA-7B on one node", "8", "ZeRO-3", "45 %", "263", ""),
      Found(f.node, "the optimizer cut over 8 leaves no need to recompute"),
      Printed("LLaMA-7B on 256", "256", "data 256, ZeRO-3, micro-batch 4, GA 16", "38 %", "9.7", "0.12"),
      Found(
          f.theirs,
          "E1, A14: the same layout; its compute is 40 times as long as printed, and hides what it gathers"),
      Found(f.fixed, "nothing is computed twice"),
      Printed("LLaMA-7B in 10 days", "256", "", "38 %", "9.7", ""),
      Found(f.deadline, "fewer devices at a higher MFU")};
  const scenarios::HandTime& hand = Best(f.theirs).candidate.hand;
  const double forward = 2 * 6.74e9 * 4 * 4096 / (0.7 * 989.5e12);
  one.text =
      "Printed: a step of 15 ms of compute and 33 ms of communication, 20 to 25 ms together, because the "
      "FLOPs of a micro-batch lack its 4,096 tokens (E1). The forward of one alone is 2 x 6.74e9 x 4 x "
      "4,096 over 0.7 of the peak, " +
      Number(1e3 * forward) + " ms; by hand a step of 16 of them computes " +
      Number(hand.compute_s + hand.recompute_s, 1) + " s and its data ranks send for " +
      Number(hand.data_s, 1) + " s, since ZeRO-3 gathers in each micro-batch (A14). As simulated it takes " +
      Number(StepSeconds(f.theirs), 1) + " s, of which " + WaitsText(Best(f.theirs).report) +
      " is waited for. So communication between nodes is not what MFU is lost to; "
      "recomputation is. The guess of 38 % is " +
      (Expected(f.theirs) < 0.37 ? "a little high" : "right") +
      " for this layout: " + Percent(Expected(f.theirs)) +
      " are to expect.\n\nThat one node is too "
      "slow and some 256 devices train for about ten days holds. With the margin of 16 % that real "
      "steps take longer, " +
      Count(Best(f.deadline).candidate.shape.devices) + " devices are in time for " +
      Number(Usd(f.deadline)) + " USD, and 256 are done in " + Number(Days(f.fixed), 1) + " days.\n\n" +
      Command("llama_7b --tokens 2e12 --with sequence=4096 --days 10") + "; the printed layout: " +
      Command(
          "llama_7b --tokens 2e12 --with sequence=4096 --devices 256 --with batch=16384 --with tensor=1 "
          "--with pipeline=1 --with micro=4 --with zero=3 --with recompute=full");
  return one;
}

LargeDense PlanLargeDense() {
  PlanRequest wishes = Wishes("llama2_70b", 2e12);
  LargeDense found{
      .theirs = WithLayout(wishes, 864, 27 * 128, LargeDenseLayout(4, 1, OptimizerSharding::kZero1)),
      .free = {}};
  wishes.days = 30;
  wishes.search.plays = 1;
  found.free = OnePlanOf(wishes);
  return found;
}

Case ToCase(const LargeDense& f) {
  Case one{.title = "70B, 2e12 tokens in 30 days (17.5.4, 17.5.10)"};
  one.lines = {Printed("70B in 30 days", "864", "tensor 8 x pipeline 4 x data 27, micro-batch 1, GA 128",
                       "38 %", "30", ""),
               Found(f.theirs,
                     "A8: the same layout; tensor traffic on an H800's NVLink, recomputation and a bubble "
                     "leave no 38 %"),
               Found(f.free, "narrower tensor groups, no recomputation, interleaved stages")};
  one.text =
      "By its own MFU the number is right: 863 devices at 38 %, in whole groups of 32 864, which are 108 "
      "nodes "
      "(B4). But the layout printed does not reach that MFU. A step of 3,456 sequences takes " +
      Number(StepSeconds(f.theirs), 1) + " s, of which " + WaitsText(Best(f.theirs).report) +
      " is waited for and " + Percent(ShareOf(f.theirs, "recomputation")) +
      " recomputes: " + Number(Days(f.theirs), 1) +
      " days. Communication is what six steps verify last, and "
      "more accumulation, their answer, leaves what tensor groups send as it is: it comes with each "
      "micro-batch. That 864 devices are enough holds with another layout: " +
      LayoutText(f.free) + " takes " + Number(Days(f.free), 1) + " days on " +
      Count(Best(f.free).candidate.shape.devices) +
      " devices: with the optimizer cut over data ranks nothing has to be recomputed, and interleaved stages "
      "cost less than tensor groups of 8 on an H800's NVLink.\n\n" +
      Command("llama2_70b --tokens 2e12 --days 30") + "; the printed layout: " +
      Command(
          "llama2_70b --tokens 2e12 --devices 864 --with batch=3456 --with tensor=8 --with pipeline=4 "
          "--with virtual=1 --with micro=1 --with zero=1 --with recompute=full");
  return one;
}

LargeInBudget PlanLargeInBudget() {
  PlanRequest wishes = Wishes("llama2_70b", 3e12);
  LargeInBudget found;
  found.theirs672 = WithLayout(wishes, 672, 672, LargeDenseLayout(4, 2, OptimizerSharding::kZero1));
  found.whole640 = WithLayout(wishes, 640, 640, LargeDenseLayout(2, 1, OptimizerSharding::kReplicated));
  found.theirs640 = WithLayout(wishes, 640, 640, LargeDenseLayout(2, 1, OptimizerSharding::kZero1));
  wishes.days = 60;
  wishes.search.plays = 1;
  wishes.budget_usd = 2e6;
  found.free = OnePlanOf(wishes);
  return found;
}

Case ToCase(const LargeInBudget& f) {
  Case one{.title = "70B, 3e12 tokens in 60 days for 2M USD (17.5.10, 17.9.4)"};
  one.lines = {
      Printed("70B in 60 days, by six steps", "672", "tensor 8 x pipeline 4 x data 21, micro-batch 2, GA 16",
              "38 %", "58", "1.94"),
      Found(f.theirs672,
            "A7, A8, E23: data ranks send far less than printed, tensor groups more: once a micro-batch"),
      Printed("70B in 60 days, by ten", "640", "tensor 8 x pipeline 2 x data 40, GA 16", "40 %", "60",
              "1.84"),
      Found(f.whole640, "as above; with FP32 gradients it only just fits"),
      Found(f.theirs640, "the same with ZeRO-1; E23: data ranks reduce their 16th, in 341 ms, not 136"),
      Found(f.free, "narrower tensor groups, no recomputation, interleaved stages")};
  const scenarios::HandTime& hand = Best(f.theirs672).candidate.hand;
  one.text =
      "Printed for 672 devices: data ranks send for 5.3 s, cut by accumulation to 0.33 s, tensor groups for "
      "0.86 s, beside 2.4 s of compute. Of these the first are the whole model's, where each rank reduces "
      "its "
      "32nd of the parameters once a step (E23, A8): by hand " +
      Number(hand.data_s, 2) +
      " s. The second are those of 80 layers of one micro-batch (A7), beside the compute of 16; for the "
      "step's they are " +
      Number(hand.tensor_s, 1) + " s beside " + Number(hand.compute_s + hand.recompute_s, 1) +
      " s of compute. Simulated, " + WaitsText(Best(f.theirs672).report) + " of " +
      Number(StepSeconds(f.theirs672), 1) +
      " s is waited for. That communication is too much on an H800 holds, then; that accumulation mends it "
      "does not.\n\n";
  one.text +=
      "640 devices without ZeRO hold 75 GB each by hand, 16 bytes of a 16th of the parameters and 5 GB. "
      "Gradients added up in FP32 make them 18 bytes: " +
      Number(Gigabytes(Best(f.whole640).candidate.memory), 1) + " GB of 79.9 that are usable; with ZeRO-1 " +
      Number(Gigabytes(Best(f.theirs640).candidate.memory), 1) +
      " GB. Printed step 8 divides by the 40 data "
      "ranks once too often (E23): 17.06 GB and 341 ms, not 6.8 GB and 136 ms, which changes nothing, for it "
      "is tensor traffic that is waited for: " +
      WaitsText(Best(f.theirs640).report) + ".\n\n" +
      "That time asks for far more devices than memory, and that the deadline and the money can be held, is "
      "right: " +
      Count(Best(f.free).candidate.shape.devices) + " devices with " + LayoutText(f.free) + " take " +
      Number(Days(f.free), 1) + " days and " + Number(Usd(f.free) * 1e-6, 2) + "M USD.\n\n" +
      Command("llama2_70b --tokens 3e12 --days 60 --budget 2e6") + "; the printed layouts: " +
      Command(
          "llama2_70b --tokens 3e12 --devices 672 --with batch=672 --with tensor=8 --with pipeline=4 "
          "--with virtual=1 --with micro=2 --with zero=1 --with recompute=full") +
      " and " +
      Command(
          "llama2_70b --tokens 3e12 --devices 640 --with batch=640 --with tensor=8 --with pipeline=2 "
          "--with virtual=1 --with micro=1 --with zero=0 --with recompute=full");
  return one;
}

}  // namespace planning
