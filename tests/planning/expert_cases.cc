// 17.9.2 and 17.9.3: models with experts.

#include "models/parameters.h"
#include "scenarios/loader.h"
#include "tests/pages/page.h"
#include "tests/planning/planning.h"

namespace planning {
namespace {

using pages::Count;
using pages::Number;
using pages::Percent;
using scenarios::OptimizerSharding;
using scenarios::Recompute;

double Gigabytes(sim::Bytes bytes) { return static_cast<double>(bytes.count()) * 1e-9; }

DevicePlan OnDevices(PlanRequest wishes, std::int64_t devices) {
  wishes.device_count = devices;
  return OnePlanOf(wishes);
}

}  // namespace

std::string WarningOfExpertsAndTensors() {
  proto::Diagnostics diagnostics;
  const std::vector<proto::Override> sets = {{1, "layout.expert", "8"}, {2, "layout.expert_tensor", "8"}};
  if (!scenarios::LoadScenario("moe_1_8t_1024xh800", sets, &diagnostics)) return "";
  for (const std::string& warning : diagnostics.warnings()) {
    const std::size_t at = warning.find("the 64 ranks");
    if (at != std::string::npos) return warning.substr(at);
  }
  return "";
}

ManyExperts PlanManyExperts() {
  PlanRequest wishes = Wishes("deepseek_v2", 8e12);
  PlanRequest theirs = wishes;
  theirs.limits = {.tensor = 1,
                   .pipeline = 1,
                   .virtual_stages = 1,
                   .expert = 8,
                   .expert_tensor = 1,
                   .micro = 1,
                   .sharding = OptimizerSharding::kZero1,
                   .recompute = Recompute::kFull};
  PlanRequest cut = theirs;
  cut.limits.pipeline = std::nullopt;
  cut.limits.virtual_stages = std::nullopt;
  // What the command chooses of these, so that few are looked at.
  wishes.limits = theirs.limits;
  wishes.limits.pipeline = 4;
  wishes.limits.virtual_stages = std::nullopt;
  wishes.search.plays = 2;
  return {.theirs64 = OnDevices(theirs, 64),
          .free64 = OnDevices(cut, 64),
          .on256 = OnDevices(wishes, 256),
          .on1024 = OnDevices(wishes, 1024)};
}

Case ToCase(const ManyExperts& f) {
  Case one{.title = "DeepSeek-V2, 8e12 tokens (17.9.2)"};
  const auto& miss = f.theirs64.search.nearest_miss;
  one.lines = {Printed("DeepSeek-V2 on 64", "64", "expert 8 x data 8, ZeRO-1: 70 to 75 GB", "", "", ""),
               Found(f.theirs64, "E11: the printed layout holds " +
                                     Number(miss ? Gigabytes(miss->memory) : 0) + " GB a device"),
               Found(f.free64, "E11: nor does any other with expert 8 and ZeRO-1"),
               Printed("DeepSeek-V2 on 256", "256", "expert 8", "35 %", "132", ""),
               Found(f.on256, "E10: 160 narrow experts, 6 a token, in 59 layers"),
               Printed("DeepSeek-V2 on 1,024", "1,024", "expert 8", "32 %", "36", ""),
               Found(f.on1024, "the same")};
  const models::Model& m = Wishes("deepseek_v2", 1).model;
  const models::ModelParameters p = models::ParametersOf(m);
  one.text = "Printed: 64 experts and 24 layers with experts of some 40. DeepSeek-V2 has " + Count(m.layers) +
             " layers, of which the first is dense, and " + Count(m.experts.routed) + " experts of " +
             Count(m.experts.ffn) + ", " + Count(m.experts.per_token) + " a token beside " +
             Count(m.experts.shared) + " shared (E10): " + Count(p.total()) + " parameters, " +
             Count(p.active()) +
             " active. What is printed as unsharded on 64 devices, 59 GB, is all of it cut by "
             "64; with expert 8 and ZeRO-1 weights and gradients are cut by 8 alone (E11)";
  if (miss) {
    one.text += ": the plan finds " + Number(Gigabytes(miss->memory), 1) +
                " GB a device, with gradients in FP32 and "
                "all recomputed, of 79.9 that are usable";
  }
  one.text += ". With a pipeline beside it the plan says: \"" +
              (f.free64.gives.empty() ? LayoutText(f.free64) : f.free64.gives.front()) +
              "\"\n\nWith expert 8 inside a node, as printed, " +
              Count(Best(f.on256).candidate.layout.pipeline) + " stages do fit: " + LayoutText(f.on256) +
              " on 256, " + Number(Gigabytes(Best(f.on256).candidate.memory), 1) +
              " GB. The time follows from MFU, which is guessed there; here it comes out: " +
              Percent(Utilisation(f.on256)) + ", of which real steps may reach " +
              Percent(Expected(f.on256)) + ". Of the step " + WaitsText(Best(f.on256).report) +
              " is waited for, " + Percent(ShareOf(f.on256, "recomputation")) +
              " recomputes, and narrow experts cost more than wide ones (docs/rules.md, rule 10). So neither "
              "132 nor 36 "
              "days hold; that 1,024 devices bring months down to weeks does.\n\n" +
              Command(
                  "deepseek_v2 --tokens 8e12 --devices 256 --with tensor=1 --with pipeline=4 --with expert=8 "
                  "--with micro=1 --with zero=1 --with recompute=full") +
              "; the printed layout: " +
              Command(
                  "deepseek_v2 --tokens 8e12 --devices 64 --with tensor=1 --with pipeline=1 --with expert=8 "
                  "--with micro=1 --with zero=1 --with recompute=full");
  return one;
}

LargeExperts PlanLargeExperts() {
  PlanRequest wishes = Wishes("moe_1_8t", 15e12);
  // The catalogue's scenario of it, interleaved.
  wishes.limits = {.tensor = 8,
                   .pipeline = 8,
                   .expert = 16,
                   .expert_tensor = 2,
                   .micro = 1,
                   .sharding = OptimizerSharding::kZero1,
                   .recompute = Recompute::kFull};
  wishes.limits.virtual_stages = 5;  // of the 15 layers of a stage
  wishes.search.plays = 1;
  PlanRequest fewer = wishes;
  fewer.global_batch = 512;
  return {.on1024 = OnDevices(fewer, 1024), .on16384 = OnDevices(wishes, 16384)};
}

Case ToCase(const LargeExperts& f) {
  Case one{.title = "1.8e12 parameters with experts, 15e12 tokens (17.9.3)"};
  one.lines = {Printed("1.8T with experts on 1,024", "1,024", "expert 8 x tensor 8 x pipeline 8 x data 2",
                       "35 %", "646", ""),
               Found(f.on1024, "E12: 64 ranks share no node of 8; experts lie on the ranks of a stage"),
               Printed("1.8T with experts on 16,384", "16,384", "", "32 %", "43", "33.8"),
               Found(f.on16384, "1.31 times the FLOPs, at a lower MFU")};
  const models::ModelParameters p = models::ParametersOf(Wishes("moe_1_8t", 1).model);
  one.text =
      "Printed: expert 8 and tensor 8 fill one node of 8 devices. They are 64 ranks; the reader says: \"" +
      WarningOfExpertsAndTensors() +
      "\" (E12). The plan has experts 16 x 2 over the 128 ranks of a stage: " + LayoutText(f.on1024) +
      " on 1,024 devices. Printed as active: 220e9 of 1.8e12. Two of 16 experts are an eighth, 225e9, "
      "before anything else; the catalogue's model of that size has " +
      Count(p.total()) + " parameters and " + Count(p.active()) + " active, so that its FLOPs are " +
      Number(static_cast<double>(p.active()) / 220e9, 2) +
      " times those printed.\n\nThat 1,024 devices are "
      "too few holds, " +
      Number(Days(f.on1024)) +
      " days; that 16,384 are done in 43 days does not: " + Number(Days(f.on16384), 1) + " with " +
      LayoutText(f.on16384) + ", at " + Percent(Utilisation(f.on16384)) + " MFU as simulated. Of the step " +
      WaitsText(Best(f.on16384).report) + " is waited for.\n\n" +
      Command(
          "moe_1_8t --tokens 15e12 --devices 1024 --with batch=512 --with tensor=8 --with pipeline=8 "
          "--with virtual=5 --with expert=16 --with expert-tensor=2 --with micro=1 --with zero=1 --with "
          "recompute=full") +
      "; with 16384 devices the same, without --with batch.";
  return one;
}

}  // namespace planning
