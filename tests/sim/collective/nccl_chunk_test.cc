// How NCCL cuts what moves in loops.

#include "sim/collective/nccl_chunk.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

// 16 channels of 8 heads move 128 chunks at once. A chunk is 128 KiB from 64 such loops on (1 GiB), 64 KiB
// from 8 loops of those (64 MiB), 32 KiB from 2 of those (8 MiB), else 16 KiB.
// Source: NCCL, src/enqueue.cc, 2.18 to 2.29.
TEST(NvlsChunk, IsSmallerForSmallerBuffers) {
  const NcclGroup eight{.ranks = 8, .nodes = 1, .nics = 8};
  const auto kib = [&](std::int64_t bytes, int channels) {
    return NvlsChunk(eight, Bytes(bytes), channels).count() >> 10;
  };
  constexpr std::int64_t kMiB = 1 << 20;
  EXPECT_EQ(kib(1024 * kMiB, 16), 128);
  EXPECT_EQ(kib(1024 * kMiB - 1, 16), 64);
  EXPECT_EQ(kib(64 * kMiB, 16), 64);
  EXPECT_EQ(kib(64 * kMiB - 1, 16), 32);
  EXPECT_EQ(kib(8 * kMiB, 16), 32);
  EXPECT_EQ(kib(8 * kMiB - 1, 16), 16);
  EXPECT_EQ(kib(1, 16), 16);
  // Twice the channels: twice the sizes.
  EXPECT_EQ(kib(2048 * kMiB, 32), 128);
  EXPECT_EQ(kib(1024 * kMiB, 32), 64);
}

}  // namespace
}  // namespace sim
