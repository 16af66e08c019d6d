// Which variables NCCL looks at for which collective.

#include "sim/collective/nccl_heed.h"

#include <gtest/gtest.h>

namespace sim {
namespace {

using enum CollectiveKind;

constexpr NcclGroup kOneNode{8, 1, 8}, kFourWholeNodes{32, 4, 8}, kOneOfEach{4, 4, 1};

// Eight H100 of a node, 18 links at 25 GB/s to switches that add up, 400 Gbit/s NICs.
NcclSetup SwitchedHopper() {
  return {.capability = 90, .nvlinks = 18, .nvswitch = true, .pcie_gb_per_s = 55, .nic_gb_per_s = 50};
}

NcclSetup HopperWith(NcclVersion version) {
  NcclSetup setup = SwitchedHopper();
  setup.version = version;
  return setup;
}

TEST(NcclHeed, ListsOfOneFunctionSayNothingOfOthers) {
  EXPECT_TRUE(Heeds(SwitchedHopper(), kOneNode, kAllReduce, "NCCL_ALGO", "allreduce:tree"));
  EXPECT_FALSE(Heeds(SwitchedHopper(), kOneNode, kAllGather, "NCCL_ALGO", "allreduce:tree"));
  EXPECT_TRUE(Heeds(SwitchedHopper(), kOneNode, kAllGather, "NCCL_ALGO", "ring;allreduce:tree"));
  EXPECT_FALSE(Heeds(SwitchedHopper(), kOneNode, kBroadcast, "NCCL_PROTO", "reduce:LL"));
  EXPECT_TRUE(Heeds(SwitchedHopper(), kOneNode, kBroadcast, "NCCL_PROTO", "^LL128"));
}

// Before 2.24 all functions but all-reduce went round rings, whatever NCCL_ALGO said.
TEST(NcclHeed, AlgorithmsWereOnceOfAllReduceAlone) {
  for (const CollectiveKind kind : {kAllGather, kReduceScatter, kBroadcast, kReduce}) {
    EXPECT_FALSE(Heeds(HopperWith({2, 23}), kFourWholeNodes, kind, "NCCL_ALGO", "Ring"));
    EXPECT_TRUE(Heeds(HopperWith({2, 24}), kFourWholeNodes, kind, "NCCL_ALGO", "Ring"));
  }
  EXPECT_TRUE(Heeds(HopperWith({2, 23}), kFourWholeNodes, kAllReduce, "NCCL_ALGO", "Ring"));
}

TEST(NcclHeed, SendsHaveAThresholdAndNothingElse) {
  for (const CollectiveKind kind : {kAllToAll, kSendRecv, kGather, kScatter}) {
    EXPECT_TRUE(Heeds(SwitchedHopper(), kOneNode, kind, "NCCL_P2P_LL_THRESHOLD", "0"));
    for (const char* name : {"NCCL_NVLS_ENABLE", "NCCL_PAT_ENABLE", "NCCL_MAX_NCHANNELS"}) {
      EXPECT_FALSE(Heeds(SwitchedHopper(), kOneNode, kind, name, "1")) << name;
    }
    EXPECT_FALSE(Heeds(SwitchedHopper(), kOneNode, kind, "NCCL_ALGO", "Ring"));
  }
  EXPECT_FALSE(Heeds(SwitchedHopper(), kOneNode, kAllReduce, "NCCL_P2P_LL_THRESHOLD", "0"));
}

TEST(NcclHeed, SwitchesAndPatAreOfGroupsThatHaveThem) {
  EXPECT_TRUE(Heeds(SwitchedHopper(), kOneNode, kAllReduce, "NCCL_NVLS_ENABLE", "0"));
  EXPECT_TRUE(Heeds(SwitchedHopper(), kFourWholeNodes, kAllReduce, "NCCL_NVLS_ENABLE", "0"));
  EXPECT_FALSE(Heeds(SwitchedHopper(), kOneNode, kBroadcast, "NCCL_NVLS_ENABLE", "0"));
  NcclSetup ampere = SwitchedHopper();
  ampere.capability = 80;
  EXPECT_FALSE(Heeds(ampere, kOneNode, kAllReduce, "NCCL_NVLS_ENABLE", "0"));
  // Off by itself is no reason not to look.
  NcclSetup off = SwitchedHopper();
  off.environment.nvls = false;
  EXPECT_TRUE(Heeds(off, kOneNode, kAllReduce, "NCCL_NVLS_ENABLE", "0"));
  EXPECT_TRUE(Heeds(HopperWith({2, 23}), kOneOfEach, kAllGather, "NCCL_PAT_ENABLE", "0"));
  EXPECT_FALSE(Heeds(HopperWith({2, 22}), kOneOfEach, kAllGather, "NCCL_PAT_ENABLE", "0"));
  EXPECT_FALSE(Heeds(HopperWith({2, 23}), kFourWholeNodes, kAllGather, "NCCL_PAT_ENABLE", "0"));
}

TEST(NcclHeed, NothingIsLookedAtForOneRank) {
  EXPECT_FALSE(Heeds(SwitchedHopper(), {1, 1, 1}, kAllReduce, "NCCL_ALGO", "Ring"));
  EXPECT_FALSE(Heeds(SwitchedHopper(), {1, 1, 1}, kAllToAll, "NCCL_P2P_LL_THRESHOLD", "0"));
}

TEST(NcclHeed, WhatMovesNoTimeSaysWhy) {
  for (const char* name : {"NCCL_DEBUG", "NCCL_IB_HCA", "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS"}) {
    EXPECT_TRUE(WhyMovesNoTime(name)) << name;
  }
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_P2P_LL_THRESHOLD"}) {
    EXPECT_FALSE(WhyMovesNoTime(name)) << name;
  }
}

}  // namespace
}  // namespace sim
