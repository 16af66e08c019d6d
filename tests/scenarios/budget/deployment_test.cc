#include "scenarios/budget/deployment.h"

#include <gtest/gtest.h>

#include <array>

#include "models/model_reader.h"
#include "scenarios/budget/cost.h"
#include "scenarios/budget/prices.h"

namespace scenarios {
namespace {

// The chapter's devices: kernels reach 70 % of the peak.
constexpr hardware::Roof kH800{0.7 * 989.5e12, 3.35e12}, kH20{0.7 * 148e12, 4.0e12};
constexpr double kOverhead = 2e9;

Server Of(const char* model, std::int64_t tensor, const hardware::Roof& roof, double bits = 16) {
  proto::Diagnostics diagnostics;
  return {.model = models::ReadModel(model, {}, "", &diagnostics).value(),
          .roof = roof,
          .tensor = tensor,
          .weight_bits = bits};
}

// 17.8.9 as A13 corrects it: 131,072 tokens take 58.4 s with their attention; who comes after 1 s waits for
// the other 57.4, and reads the weights once more.
TEST(FirstToken, WaitsForAllPromptsBefore) {
  const Server s = Of("llama3_70b", 1, kH800);
  const std::array<Prompt, 3> prompts = {{{0, 131'072}, {1, 50}, {5, 200}}};
  const std::vector<double> waits = FirstTokenSeconds(s, prompts);
  EXPECT_NEAR(waits[0], 58.4, 0.05);
  EXPECT_DOUBLE_EQ(waits[1], waits[0] - 1 + PrefillSeconds(s, 50));
  EXPECT_NEAR(waits[2], waits[0] - 5 + PrefillSeconds(s, 50) + PrefillSeconds(s, 200), 1e-9);
  // A server that was idle starts at once.
  const std::array<Prompt, 2> apart = {{{0, 50}, {10, 50}}};
  EXPECT_NEAR(FirstTokenSeconds(s, apart)[1], PrefillSeconds(s, 50), 1e-12);
}

// In chunks nobody waits for more than the rest of one step and a step that all share; the long prompt pays
// with the work of the others, and with reading weights and keys in each of its 256 steps, which computing
// hides.
TEST(FirstToken, WaitsForAStepInChunks) {
  const Server s = Of("llama3_70b", 1, kH800);
  const std::array<Prompt, 3> prompts = {{{0, 131'072}, {1, 50}, {5, 200}}};
  const std::vector<double> whole = FirstTokenSeconds(s, prompts),
                            waits = FirstTokenSecondsInChunks(s, prompts, 512);
  const double longest_step = LastChunkSeconds(s, 131'072, 512);
  EXPECT_LT(waits[1], 2 * longest_step);
  EXPECT_LT(waits[2], 2 * longest_step);
  EXPECT_GT(waits[1], LastChunkSeconds(s, 512, 512));
  EXPECT_GT(waits[0], whole[0]);
  EXPECT_NEAR(waits[0] / whole[0], 1, 0.01);
}

TEST(FirstToken, OfAPromptInOneChunkIsItsPrefill) {
  const Server s = Of("llama3_8b", 1, kH800);
  for (const std::int64_t tokens : {1, 50, 4096}) {
    const std::array<Prompt, 2> prompts = {{{0, tokens}, {100, tokens}}};
    for (const double wait : FirstTokenSecondsInChunks(s, prompts, 4096)) {
      EXPECT_NEAR(wait, PrefillSeconds(s, tokens), 1e-9) << tokens;
    }
  }
}

// Played out: requests in step from the first token to the last, each step of its own length.
TEST(Capacity, IsWhatStepsOfGrowingRequestsTake) {
  const Server s = Of("llama3_70b", 4, kH800);
  for (const Load& load : {Load{128, 1024}, Load{8192, 128}, Load{1024, 1}}) {
    const Capacity c = CapacityOf(s, 80e9, kOverhead, load).value();
    EXPECT_EQ(c.batch, RequestsThatFit(s, 80e9, kOverhead, load.input + load.output - 1));
    double clock = static_cast<double>(c.batch) * PrefillSeconds(s, load.input);
    for (std::int64_t made = 1; made < load.output; ++made) {
      clock += DecodeSeconds(s, c.batch, load.input + made);
    }
    EXPECT_NEAR(c.request_s * static_cast<double>(c.batch) / clock, 1, 0.01);
  }
}

TEST(Capacity, IsNothingWhereNoRequestFits) {
  EXPECT_FALSE(CapacityOf(Of("llama3_70b", 1, kH800), 80e9, kOverhead, {128, 128}));
  EXPECT_EQ(CapacityOf(Of("llama3_70b", 4, kH800), 80e9, kOverhead, {128, 128}, 32)->batch, 32);
}

// Copies that are always busy cost a million tokens as often as there are millions a day; a peak of twice the
// mean takes twice as many and leaves them idle half of the time.
TEST(Deployment, CostsItsTokensWhereItIsAlwaysBusy) {
  const Server s = Of("llama3_70b", 4, kH800);
  const Load load{1024, 1024};
  const Capacity c = CapacityOf(s, 80e9, kOverhead, load).value();
  const double requests = 86'400 * 10 * c.requests_per_s() * (1 - 1e-9);
  const Deployment d = DeploymentFor(s, c, requests, 0, 2);
  EXPECT_EQ(d.copies, 10);
  EXPECT_EQ(d.devices, 40);
  EXPECT_DOUBLE_EQ(d.usd_per_day, 40 * 2 * 24);
  EXPECT_NEAR(d.use, 1, 1e-6);
  EXPECT_NEAR(UsdPerMillionOutputs(s, c, load, 2) * requests * 1024 * 1e-6, d.usd_per_day, 1e-3);
  const Deployment peak = DeploymentFor(s, c, requests, 1, 2);
  EXPECT_EQ(peak.copies, 20);
  EXPECT_NEAR(peak.use, 0.5, 1e-6);
}

// Dollars a million tokens on an H800 over those on an H20: above 1 the H20 is cheaper.
double H20Cheaper(const char* model, std::int64_t tensor, const Load& load, std::int64_t most = INT64_MAX) {
  const Server h800 = Of(model, tensor, kH800), h20 = Of(model, tensor, kH20);
  return UsdPerMillionOutputs(h800, CapacityOf(h800, 80e9, kOverhead, load, most).value(), load,
                              RentedPriceOf("h800_sxm")->usd_per_hour) /
         UsdPerMillionOutputs(h20, CapacityOf(h20, 96e9, kOverhead, load, most).value(), load,
                              RentedPriceOf("h20")->usd_per_hour);
}

// Table 17-137, a row each. An H800 has 2.5 times the price, 6.7 times the FLOP/s and 0.84 of the bytes/s: it
// is the cheaper one by 2.7 where both compute, and the H20 by 3.0 where both read weights and keys.
TEST(DeviceChoice, OfTable17137HoldsWhereDecodeStepsReadAndNotWhereTheyCompute) {
  // Training computes; so do long prompts with short answers.
  EXPECT_NEAR(989.5 / RentedPriceOf("h800_sxm")->usd_per_hour / (148 / RentedPriceOf("h20")->usd_per_hour),
              2.67, 0.01);
  EXPECT_NEAR(H20Cheaper("llama3_70b", 4, {8192, 128}), 1 / 2.45, 0.01);
  // Short prompts with long answers: an H20 of 103.6 TFLOP/s reads 35 GB as long as it computes for 36
  // requests. Below that the table is right, beyond it is not.
  const Load answers{128, 1024};
  EXPECT_NEAR(H20Cheaper("llama3_70b", 4, answers, 8), 2.9, 0.05);
  EXPECT_NEAR(H20Cheaper("llama3_70b", 4, answers, 32), 2.33, 0.05);
  EXPECT_GT(H20Cheaper("llama3_70b", 4, answers, 64), 1);
  EXPECT_LT(H20Cheaper("llama3_70b", 4, answers, 128), 1);
  // So offline batches, which take all that fits, and a hundred requests of 4,096 tokens at once are cheaper
  // on an H800, though an H20 holds more of them.
  EXPECT_NEAR(H20Cheaper("llama3_70b", 4, {1024, 1024}), 1 / 2.1, 0.02);
  EXPECT_NEAR(H20Cheaper("llama3_70b", 4, {2048, 2048}), 1 / 1.33, 0.02);
  EXPECT_EQ(CapacityOf(Of("llama3_70b", 4, kH800), 80e9, kOverhead, {2048, 2048})->batch, 127);
  EXPECT_EQ(CapacityOf(Of("llama3_70b", 4, kH20), 96e9, kOverhead, {2048, 2048})->batch, 175);
  // A model with experts reads more weights for a FLOP, and is cheaper on an H20 whatever the batch.
  EXPECT_GT(H20Cheaper("qwen3_235b_a22b", 8, answers), 2.5);
  EXPECT_GT(H20Cheaper("qwen3_235b_a22b", 8, {2048, 2048}), 2.5);
  EXPECT_GT(H20Cheaper("mixtral_8x7b", 2, answers), 1);
}

// The last row: of a load with as many requests of either kind, 32 at once, each kind on the device that is
// cheaper for it costs less than all of them on either.
TEST(DeviceChoice, OfAMixedLoadIsBoth) {
  const auto usd = [](const char* device, const hardware::Roof& roof, double memory, const Load& load) {
    const Server s = Of("llama3_70b", 4, roof);
    const Capacity c = CapacityOf(s, memory, kOverhead, load, 32).value();
    return UsdPerMillionOutputs(s, c, load, RentedPriceOf(device)->usd_per_hour) *
           static_cast<double>(load.output) * 1e-6;
  };
  const Load answers{128, 1024}, documents{8192, 128};
  const double answers_h800 = usd("h800_sxm", kH800, 80e9, answers),
               answers_h20 = usd("h20", kH20, 96e9, answers);
  const double documents_h800 = usd("h800_sxm", kH800, 80e9, documents),
               documents_h20 = usd("h20", kH20, 96e9, documents);
  EXPECT_LT(answers_h20 + documents_h800, 0.8 * (answers_h800 + documents_h800));
  EXPECT_LT(answers_h20 + documents_h800, 0.8 * (answers_h20 + documents_h20));
}

}  // namespace
}  // namespace scenarios
