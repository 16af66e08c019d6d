#include "scenarios/compare/waterfall.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/base/random.h"
#include "tests/scenarios/compare/comparing.h"

namespace scenarios {
namespace {

using sim::Duration;

Duration Ps(std::int64_t n) { return Duration::Picoseconds(n); }

// All three identities of the header.
void ExpectAddsUp(const Waterfall& w, const PlayedJob& base, const PlayedJob& variant) {
  Duration work, causes, of_base, of_variant;
  for (const WaterfallPart& part : w.parts) {
    (part.work ? work : causes) += part.difference;
    of_base += part.base;
    of_variant += part.variant;
    if (!part.work) {
      EXPECT_EQ(part.variant - part.base, part.difference) << part.id;
    }
  }
  EXPECT_EQ(w.base, base.step);
  EXPECT_EQ(w.variant, variant.step);
  EXPECT_EQ(w.base + work + causes, w.variant);
  EXPECT_EQ(w.base + work, of_base);
  EXPECT_EQ(of_variant, w.variant);
}

std::map<std::string, Duration> DifferencesOf(const Waterfall& w) {
  std::map<std::string, Duration> differences;
  for (const WaterfallPart& part : w.parts) {
    if (part.difference != Duration()) differences[part.id] = part.difference;
  }
  return differences;
}

TEST(Waterfall, OfAJobAgainstItselfIsNothing) {
  const PlayedJob job = PlayedWith();
  const Waterfall w = WaterfallOf(job, job);
  ExpectAddsUp(w, job, job);
  EXPECT_TRUE(DifferencesOf(w).empty());
}

// One device: no communication, no bubble. What runs again is one more forward of all but the ends.
TEST(Waterfall, OfRecomputationIsRecomputation) {
  const Sets one = {
      {"devices", "1"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}, {"batch.global", "2"}};
  Sets again = one;
  again.emplace_back("training.recompute", "FULL");
  const PlayedJob base = PlayedWith(one), variant = PlayedWith(again);
  const Waterfall w = WaterfallOf(base, variant);
  ExpectAddsUp(w, base, variant);
  const auto differences = DifferencesOf(w);
  ASSERT_EQ(differences.size(), 1u) << testing::PrintToString(differences);
  EXPECT_EQ(differences.at("recomputation"), variant.step - base.step);
}

// Twice the sequences in twice the micro-batches: twice the work, and the optimizer, which there is once,
// gains what it would have grown by.
TEST(Waterfall, TellsMoreTokensFromASlowerStep) {
  const Sets one = {
      {"devices", "1"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}, {"batch.global", "2"}};
  Sets more = one;
  more.back().second = "4";
  const PlayedJob base = PlayedWith(one), variant = PlayedWith(more);
  const Waterfall w = WaterfallOf(base, variant);
  ExpectAddsUp(w, base, variant);
  EXPECT_EQ(w.work, 2);
  const auto differences = DifferencesOf(w);
  EXPECT_EQ(differences.at("tokens"), base.step);
  const Duration once = PartOf(base, "optimizer") + PartOf(base, "gradient_norm");
  EXPECT_EQ(variant.step - 2 * base.step, Duration() - once);
  EXPECT_EQ(differences.at("optimizer"), Duration() - PartOf(base, "optimizer"));
}

// The same model, tokens and devices, and a device with half the memory rate: products and attention stay.
TEST(Waterfall, NamesTheClassOfKernelsThatGotSlower) {
  const Sets one = {
      {"devices", "1"}, {"layout.tensor", "1"}, {"layout.pipeline", "1"}, {"batch.global", "2"}};
  Sets slow = one;
  slow.emplace_back("hardware.memory.bandwidth_gb_per_s", "1675");
  const PlayedJob base = PlayedWith(one), variant = PlayedWith(slow);
  const Waterfall w = WaterfallOf(base, variant);
  ExpectAddsUp(w, base, variant);
  const auto differences = DifferencesOf(w);
  // Nearly twice as long; a kernel's start stays.
  EXPECT_GT(differences.at("memory_kernels_rate").seconds(), 0.9 * PartOf(base, "memory_kernels").seconds());
  EXPECT_EQ(differences.count("attention_rate"), 0u);
  EXPECT_EQ(differences.count("memory_kernels_amount"), 0u);
}

// Eight layers on four stages and on two: what the busiest rank has to do is more of the whole.
TEST(Waterfall, TellsMoreFlopsOnTheRankFromSlowerOnes) {
  const Sets base_sets = {{"model.layers", "8"}};
  const PlayedJob base = PlayedWith(base_sets);
  Sets sets = base_sets;
  sets.emplace_back("pipeline.stage_layers", "[6, 2]");
  const Loading loading = Load(sets);
  ASSERT_TRUE(loading.scenario.has_value()) << testing::PrintToString(loading.errors());
  const PlayedJob variant = PlayedOf(*loading.scenario);
  const Waterfall w = WaterfallOf(base, variant);
  ExpectAddsUp(w, base, variant);
  const auto differences = DifferencesOf(w);
  EXPECT_GT(differences.at("products_amount"), Duration());
  EXPECT_GT(differences.at("attention_amount"), Duration());
}

TEST(Waterfall, OfHalfTheTokensOnHalfTheDevicesHasNoWork) {
  const PlayedJob base = PlayedWith({{"layout.data", "2"}});
  const PlayedJob variant = PlayedWith({{"devices", "8"}, {"layout.data", "1"}, {"batch.global", "8"}});
  const Waterfall w = WaterfallOf(base, variant);
  ExpectAddsUp(w, base, variant);
  EXPECT_EQ(w.work, 1);
}

// Any two of jobs that differ in model, device, layout and batch, both ways round.
TEST(Waterfall, AddsUpBetweenAnyTwoJobs) {
  const PlayedJob jobs[] = {
      PlayedWith(),
      PlayedWith({{"layout.tensor", "2"}, {"layout.sequence", "true"}, {"layout.data", "4"}}),
      PlayedWith({{"layout.pipeline", "1"}, {"training.optimizer_sharding", "ZERO_3"}}),
      PlayedWith({{"batch.sequence_length", "512"}, {"training.recompute", "SELECTIVE"}}),
      PlayedWith({{"hardware", "\"a100_80_sxm\""}, {"batch.global", "32"}}),
      PlayedWith({{"steps", "2"}}),
      PlayedOf(LoadNamed("deepseek_v2_l4_8xb200")),
      PlayedWith({{"steps", "8"},
                  {"checkpoint.every_steps", "1"},
                  {"checkpoint.path", "FRONTEND"},
                  {"checkpoint.frontend_gb_per_s", "100"},
                  {"checkpoint.storage.servers", "1"},
                  {"checkpoint.storage.write_gb_per_s", "100"},
                  {"checkpoint.storage.read_gb_per_s", "100"},
                  {"checkpoint.storage.source.title", "made"},
                  {"checkpoint.source.title", "made"}}),
  };
  for (const PlayedJob& base : jobs) {
    for (const PlayedJob& variant : jobs) {
      SCOPED_TRACE(base.report.scenario + " against " + variant.report.scenario);
      const Waterfall w = WaterfallOf(base, variant);
      ExpectAddsUp(w, base, variant);
      EXPECT_EQ(w.parts.empty(), false);
    }
  }
}

// Parts of any length, work of any ratio, amounts that are there or not.
TEST(Waterfall, AddsUpWhateverThePartsAre) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    sim::Random numbers(seed, "waterfall");
    const auto random = [&](std::int64_t below) { return numbers.Between(0, below - 1); };
    const auto job = [&] {
      PlayedJob played;
      for (const char* id : {"products", "attention", "bubble", "data", "checkpoint"}) {
        StepPart part{.id = id,
                      .name = id,
                      .time = Ps(random(4) == 0 ? 0 : 1 + random(2'000'000) * random(2'000'000)),
                      .kernels = {}};
        if (part.id == "products" || part.id == "attention") {
          part.kernels = part.id == "products" ? KernelClass::kProducts : KernelClass::kAttention;
          part.kilo_amount = part.time == Duration() ? 0 : static_cast<double>(1 + random(1'000'000'000));
        }
        played.step += part.time;
        played.parts.push_back(part);
      }
      played.step += Ps(1);
      played.parts.push_back({.id = "other", .name = "other", .time = Ps(1), .kernels = {}});
      played.report.step_time = played.step;
      played.report.devices = 1 + random(1000);
      played.report.global_batch = 1 + random(1000);
      played.report.sequence_length = 1 + random(1000);
      played.report.tflops_per_device = 1 + static_cast<double>(random(1000));
      return played;
    };
    const PlayedJob base = job(), variant = job();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    ExpectAddsUp(WaterfallOf(base, variant), base, variant);
  }
}

}  // namespace
}  // namespace scenarios
