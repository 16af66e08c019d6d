#include "models/optimizer.h"

#include <gtest/gtest.h>

namespace models {
namespace {

using sim::NumberFormat;

std::int64_t BytesOf(std::int64_t held, std::int64_t owned, NumberFormat format, NumberFormat gradient) {
  std::int64_t sum = 0;
  for (const sim::Kernel& kernel : OptimizerKernels(held, owned, format, gradient))
    sum += kernel.bytes.count();
  return sum;
}

TEST(Optimizer, Bf16WithFp32GradientsMoves38BytesForWhatItOwnsAndClears4ForWhatItHolds) {
  // Norm 4; Adam reads 16 and writes 12; weights read 4, write 2.
  EXPECT_EQ(BytesOf(1000, 1000, NumberFormat::kBf16, NumberFormat::kFp32), 1000 * (4 + 28 + 6 + 4));
  EXPECT_EQ(BytesOf(1000, 250, NumberFormat::kBf16, NumberFormat::kFp32), 250 * 38 + 1000 * 4);
}

TEST(Optimizer, Fp16AlsoWidensItsGradientsAndUndoesTheLossScale) {
  EXPECT_EQ(BytesOf(1000, 1000, NumberFormat::kFp16, NumberFormat::kFp16), 1000 * (6 + 8 + 4 + 28 + 6 + 2));
}

TEST(Optimizer, Fp32WeightsNeedNoCopy) {
  EXPECT_EQ(BytesOf(1000, 1000, NumberFormat::kFp32, NumberFormat::kFp32), 1000 * (4 + 28 + 4));
}

}  // namespace
}  // namespace models
