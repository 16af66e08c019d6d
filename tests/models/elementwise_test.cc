#include "models/elementwise.h"

#include <gtest/gtest.h>

#include "tests/models/shapes.h"

namespace models {
namespace {

// 5 a channel of 65 RMS norms; 5 of 11,008 in 32 layers; 5 a score of 32 heads.
TEST(Elementwise, CountsNormsNonlinearityAndSoftmaxOfLlama7b) {
  const ElementwiseFlops f = ElementwiseFlopsOf(Llama7b(), 2, 1024);
  EXPECT_EQ(f.norms, sim::Wide{5} * 2048 * 65 * 4096);
  EXPECT_EQ(f.nonlinearity, sim::Wide{5} * 2048 * 32 * 11008);
  EXPECT_EQ(f.softmax, sim::Wide{5} * 2 * 1024 * 1024 * 32 * 32);
}

TEST(Elementwise, OfExpertsCountsThoseThatATokenVisits) {
  EXPECT_EQ(ElementwiseFlopsOf(Mixtral8x7b(), 1, 1).nonlinearity, 5 * 32 * 2 * 14336);
}

TEST(Elementwise, ALayerNormCountsTwiceAnRmsNorm) {
  EXPECT_EQ(ElementwiseFlopsOf(Gpt2(), 1, 1).norms, 10 * 25 * 768);
}

// HB-030 (pytorch/pytorch#69782, deepspeedai/DeepSpeed#2565): two layers of 1,024 x 1,024, 512 rows; the
// first one's input needs no gradient. Model FLOPs of a whole network count twice the forward throughout
// (models/flops.h).
TEST(Elementwise, TheFirstLayerNeedsNoGradientOfItsInput) {
  const sim::Wide forward = 2 * ProductFlops(512, 1024, 1024);
  const sim::Wide backward =
      BackwardFlops(512, 1024, 1024, false, true) + BackwardFlops(512, 1024, 1024, true, true);
  EXPECT_EQ(forward, 2'147'483'648);
  EXPECT_EQ(backward, 3'221'225'472);
  EXPECT_EQ(forward + backward, 5'368'709'120);
}

// Exercise 27.3: frozen weights spare their own gradient only; what lies before them still learns.
TEST(Elementwise, AFrozenLayerStillPassesItsGradientOn) {
  EXPECT_EQ(BackwardFlops(8, 4, 2, true, false), ProductFlops(8, 4, 2));
  EXPECT_EQ(BackwardFlops(8, 4, 2, false, false), 0);
}

}  // namespace
}  // namespace models
