#include "scenarios/budget/serving.h"

#include <gtest/gtest.h>

#include <bit>

#include "models/parameters.h"
#include "scenarios/budget/network_sizing.h"
#include "tests/models/shapes.h"

namespace scenarios {
namespace {

constexpr hardware::Roof kH800{0.7 * 989.5e12, 3.35e12};

Server Of(models::Model model, std::int64_t tensor = 1) {
  return {.model = std::move(model), .roof = kH800, .tensor = tensor};
}

// HB-150 (paiml/realizar#113): 864 MB of weights are read once a step, whatever the batch.
TEST(Serving, ABatchReadsTheWeightsOnce) {
  EXPECT_NEAR(RateNeeded(864e6, 3605e-6), 240e9, 1e9);
  EXPECT_NEAR(RateNeeded(864e6, 3605e-6) / 1008e9, 0.238, 0.001);
  EXPECT_NEAR(Throughput(1, 3605e-6), 277, 1);
  EXPECT_NEAR(Throughput(4, 3605e-6), 1110, 1);
}

// Slowly: of 4 experts and 2 a token, all 6 x 6 x 6 pairs that three tokens may choose, and what they visit.
TEST(Serving, ABatchReadsTheExpertsThatSomeTokenVisits) {
  const models::Experts experts{.routed = 4, .per_token = 2};
  const unsigned pairs[] = {0b0011, 0b0101, 0b1001, 0b0110, 0b1010, 0b1100};
  int visited = 0;
  for (const unsigned a : pairs) {
    for (const unsigned b : pairs) {
      for (const unsigned c : pairs) visited += std::popcount(a | b | c);
    }
  }
  EXPECT_DOUBLE_EQ(ExpertsVisited(experts, 3), visited / 216.0);
  EXPECT_DOUBLE_EQ(ExpertsVisited(experts, 1), 2);
}

// One token reads the active parameters, very many all of them, and a batch between more than fewer.
TEST(Serving, AStepOfOneRequestReadsTheActiveWeights) {
  const Server s = Of(models::WithExperts(models::Llama(4, 1024, 2816, 16, 4, 32000), 8, 2, 512), 2);
  const models::ModelParameters p = models::ParametersOf(s.model);
  EXPECT_DOUBLE_EQ(WeightBytesRead(s, 1), static_cast<double>(p.active()));  // 2 bytes, 2 devices
  EXPECT_DOUBLE_EQ(WeightBytesRead(s, 100'000), WeightBytes(s));
  for (std::int64_t b = 1; b < 40; ++b) EXPECT_LT(WeightBytesRead(s, b), WeightBytesRead(s, b + 1));
  const double read_s = (WeightBytesRead(s, 1) + KvBytes(s, 4096)) / kH800.bytes_per_s;
  EXPECT_DOUBLE_EQ(DecodeSeconds(s, 1, 4096), read_s);
  const Server dense = Of(models::Llama7b());
  EXPECT_EQ(WeightBytesRead(dense, 1), WeightBytes(dense));
}

// HB-156 (openvinotoolkit/openvino.genai#3108).
TEST(Serving, ARequestGetsATokenAStepAndTheBatchAsManyAsItHas) {
  EXPECT_DOUBLE_EQ(Throughput(8, 0.02), 400);
  EXPECT_DOUBLE_EQ(RatePerRequest(0.02), 50);
  // The first token comes with the prefill (B17).
  EXPECT_DOUBLE_EQ(RequestSeconds(0.5, 1, 0.02), 0.5);
  EXPECT_DOUBLE_EQ(RequestSeconds(0.5, 101, 0.02), 2.5);
}

// HB-159 (meta-pytorch/gpt-fast#111): 34.5 ms halved and 64 reductions of 500 us.
TEST(Serving, TwoDevicesAreSlowerThanOneWhereReductionsAre) {
  const double step = StepWithReductions(1.0 / 29, 2, 2 * 32, 500e-6);
  EXPECT_NEAR(step, 49.2e-3, 0.1e-3);
  EXPECT_NEAR(RatePerRequest(step), 20.3, 0.05);
}

// HB-158 (vllm-project/vllm#31474): 96 heads on 6 are well; the vocabulary is padded to 6 x 25,259.
TEST(Serving, AVocabularyThatDoesNotDivideIsPadded) {
  models::Model m = models::Llama(1, 96 * 128, 6 * 1024, 96, 96, 151'552);
  EXPECT_TRUE(models::CanShare(m, 6));
  EXPECT_EQ(models::PadVocabulary(151'552, 1, 6), 151'554);
  EXPECT_EQ(models::ParametersOfRank(m, {1, true, false}, {.tensor = 6}).embedding.sharded,
            25'259 * m.hidden);
}

// HB-155 (GitM-Labs/runtime#76).
TEST(CopiesOn, LeaveNoDeviceUnseenAndTakeNoneThatIsNotThere) {
  const Copies copies = CopiesOn(4, std::nullopt, 4).value();
  EXPECT_EQ(copies.tensor, 1);
  EXPECT_EQ(copies.idle, 0);
  EXPECT_EQ(CopiesOn(4, 4, 4).error().message,
            "tensor 4 x data 4 is more than the 4 devices there are; fewer are wanted");
  EXPECT_EQ(CopiesOn(4, 1, 2).value().idle, 2);
  EXPECT_EQ(CopiesOn(8, 4, std::nullopt).value().data, 2);
  EXPECT_FALSE(CopiesOn(4, 8, std::nullopt).ok());
}

// (27.11): M_f + B m(T) + W <= M_0 for B requests and for none more.
TEST(Serving, RequestsFitIntoWhatWeightsAndOverheadLeave) {
  const Server s = Of(models::Llama(12, 1024, 2816, 16, 4, 32000));
  const std::int64_t requests = RequestsThatFit(s, 2e9, 0.5e9, 2048);
  EXPECT_LE(WeightBytes(s) + 0.5e9 + static_cast<double>(requests) * KvBytes(s, 2048), 2e9);
  EXPECT_GT(WeightBytes(s) + 0.5e9 + static_cast<double>(requests + 1) * KvBytes(s, 2048), 2e9);
  EXPECT_EQ(RequestsThatFit(s, 0.5e9, 0.5e9, 2048), 0);
}

// Table 17-108: who reads an answer for nine tenths of the time needs a device for the rest.
TEST(Serving, UsersAreMoreThanRequests) { EXPECT_DOUBLE_EQ(UsersServed(64, 0.1), 640); }

TEST(Serving, TheLargestBatchWithinAStepIsTheLast) {
  const Server s = Of(models::Llama70b(), 4);
  const std::int64_t most = MostBatchWithin(s, 4096, 0.05, 100'000);
  EXPECT_LE(DecodeSeconds(s, most, 4096), 0.05);
  EXPECT_GT(DecodeSeconds(s, most + 1, 4096), 0.05);
  EXPECT_EQ(MostBatchWithin(s, 4096, 1e-6, 100), 0);
  EXPECT_EQ(MostBatchWithin(s, 4096, 1e6, 100), 100);
}

// Chunks of a prompt attend to all pairs that the whole does; each reads the weights again.
TEST(Serving, ChunksComputeWhatTheWholePromptDoes) {
  const Server s{.model = models::Llama7b(), .roof = {1, 1e30}};  // seconds are FLOPs
  double sum = 0;
  for (std::int64_t end = 512; end <= 4096; end += 512) sum += LastChunkSeconds(s, end, 512);
  // Each chunk has logits of its last token.
  const double logits = 2.0 * 4096 * 32000;
  EXPECT_NEAR(sum - 7 * logits, PrefillSeconds(s, 4096), 1e-9 * sum);
}

// Leviathan et al. 2023: 1 + a + ... + a^k.
TEST(Speculation, YieldsOneTokenAtLeastAndAllDraftedAndOneAtMost) {
  EXPECT_DOUBLE_EQ(SpeculatedTokens(0, 5), 1);
  EXPECT_DOUBLE_EQ(SpeculatedTokens(1, 5), 6);
  EXPECT_DOUBLE_EQ(SpeculatedTokens(0.5, 2), 1.75);
  EXPECT_NEAR(SpeculatedTokens(0.8, 5), (1 - 0.262144) / 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(SpeculationSpeedup(0.8, 5, 0), SpeculatedTokens(0.8, 5));
  EXPECT_LT(SpeculationSpeedup(0.2, 5, 0.1), 1);
}

TEST(StaticBatch, WorksForItsShortRequestsAsLongAsForItsLongest) {
  const std::int64_t lengths[] = {10, 20, 30, 40};
  EXPECT_DOUBLE_EQ(StaticBatchUse(lengths, 4), 100.0 / 160);
}

}  // namespace
}  // namespace scenarios
