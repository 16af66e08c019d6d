#include "models/kv_pool.h"

#include <gtest/gtest.h>

#include "models/kv_cache.h"
#include "models/parameters.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

using sim::Bytes;
using namespace sim::literals;

// Exercise 27.4: 4, 8 and 12 pages of 256 for 1,000, 2,000 and 3,000 tokens.
TEST(PagedTokens, RoundsEachRequestUpToWholeBlocks) {
  const std::int64_t lengths[] = {1000, 2000, 3000};
  EXPECT_EQ(PagedTokens(lengths, 256), 6144);
  EXPECT_EQ(PagedTokens(lengths, 1), 6000);
}

// HB-154 (vllm-project/vllm#18121, #10517): 0.9 of 80 GiB, less half of the weights of Llama 3 70B in BF16
// and 3 GiB: 3.29 GiB. 2 x 4 heads x 128 x 2 bytes x 80 layers are 163,840 bytes a token and rank.
TEST(KvBudget, IsAPartOfTheWholeMemoryLessWhatIsHeld) {
  const Model m = Llama70b();
  const Bytes weights(2 * ParametersOf(m).total() / 2);
  const Bytes budget = KvBudget(80_GiB, 0.9, weights, 3_GiB);
  EXPECT_NEAR(static_cast<double>(budget.count()) / (1 << 30), 3.29, 0.005);
  const KvPool pool{budget, KvCacheBytes(m, 1, 2, 2)};
  EXPECT_EQ(pool.bytes_per_token, Bytes(163'840));
  EXPECT_EQ(pool.tokens(), 21'572);
  EXPECT_EQ(KvBudget(80_GiB, 0.9, 80_GiB, 3_GiB), Bytes());
}

// HB-167 (casys-kaist/LLMServingSim#29): 6 GiB free at 131,072 bytes a token.
TEST(KvPool, FreeBytesAreDividedByATokensBytesOnce) {
  EXPECT_EQ((10_GiB - 4_GiB).count(), 6'442'450'944);
  EXPECT_EQ((KvPool{10_GiB - 4_GiB, Bytes(131'072)}).tokens(), 49'152);
}

// HB-172 (vllm-project/vllm#40691, #51163): 290,864 tokens and 32,768 at most make 8.88 requests, not 33.04.
TEST(KvPool, TokensBlocksAndConcurrencyAreOneFigure) {
  const KvPool pool{Bytes(290'864 * 10), Bytes(10), 16};
  EXPECT_EQ(pool.blocks(), 18'179);
  EXPECT_EQ(pool.tokens(), 290'864);
  EXPECT_EQ(pool.requests(32'768), 8);
  EXPECT_NEAR(static_cast<double>(pool.tokens()) / 32'768, 8.88, 0.005);
}

// HB-177 (sgl-project/sglang#29575): 2,086,558 tokens are for all requests together.
TEST(KvPool, IsSharedByAllRequests) {
  const KvPool pool{Bytes(2'086'558), Bytes(1)};
  EXPECT_EQ(pool.requests(256'000), 8);
  EXPECT_GE(pool.requests(63'229), 33);
  EXPECT_LT(pool.requests(63'230), 33);
}

// HB-174 (vllm-project/vllm#3942, #11186).
TEST(ReusedTokens, AreWholeBlocksAndLeaveOneToCompute) {
  EXPECT_EQ(ReusedTokens(35, 34, 32), 32);
  EXPECT_EQ(ReusedTokens(36, 34, 32), 32);
  EXPECT_EQ(ReusedTokens(64, 64, 16), 48);
  EXPECT_EQ(ReusedTokens(1200, 1000, 16), 992);
}

// HB-175 (vllm-project/vllm-ascend#16270).
TEST(CommonBlock, IsTheLeastCommonMultipleOfTheGroups) {
  const std::int64_t blocks[] = {128, 4096, 32, 2, 8};
  EXPECT_EQ(CommonBlock(blocks), 4096);
  EXPECT_EQ(ReusedTokens(2048, 2048, CommonBlock(blocks)), 0);
  EXPECT_EQ(ReusedTokens(10'000, 10'000, CommonBlock(blocks)), 8192);
}

}  // namespace
}  // namespace models
