#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/text_reader.h"

namespace proto {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Nearest, IgnoresCaseAndUnderscores) {
  EXPECT_THAT(Nearest("microBatchSize", {"global_batch_size", "micro_batch_size"}),
              ElementsAre("micro_batch_size"));
}

// One letter more; the beginning of a name (which counts 1); two letters more. Of those as near,
// what differs least as a whole comes first.
TEST(Nearest, PutsTheBestFirstAndTiesInOrder) {
  EXPECT_THAT(Nearest("llama_7", {"llama_13b", "llama_7b", "llama2_7b", "llama_70b", "gpt2"}),
              ElementsAre("llama_7b", "llama_70b", "llama2_7b"));
  EXPECT_THAT(Nearest("A10", {"A100-40GB", "A100-SXM4-40GB", "A800", "A100"}),
              ElementsAre("A100", "A100-40GB", "A100-SXM4-40GB"));
}

// HB-211: "H1OO" with the letter O is not the H100, but near it.
TEST(Nearest, KnowsTheBeginningOfAName) {
  EXPECT_EQ(Nearest("H1OO", {"a100_80_sxm", "h100_sxm", "b200"}).front(), "h100_sxm");
  EXPECT_THAT(Nearest("pipe", {"tensor", "pipeline"}), ElementsAre("pipeline"));
}

TEST(Nearest, KnowsANameInsideAnother) {
  EXPECT_THAT(Nearest("compute_capability", {"name", "capability"}), ElementsAre("capability"));
}

TEST(Nearest, CountsASwapAsOneSlip) { EXPECT_THAT(Nearest("tesnor", {"tensor"}), ElementsAre("tensor")); }

TEST(Nearest, OffersNothingThatIsFar) {
  EXPECT_THAT(Nearest("wombat", {"tensor", "pipeline"}), IsEmpty());
  EXPECT_THAT(Nearest("xy", {"ab", "tp"}), IsEmpty());
  EXPECT_THAT(Nearest("", {"ab", "a"}), IsEmpty());
  EXPECT_THAT(Nearest(std::string(1'000'000, 'x'), {"tensor"}), IsEmpty());
}

}  // namespace
}  // namespace proto
