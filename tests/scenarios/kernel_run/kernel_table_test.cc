#include "scenarios/kernel_run/kernel_table.h"

#include <gtest/gtest.h>

#include "hardware/device_reader.h"
#include "hardware/roofline.h"
#include "scenarios/kernel_costs.h"
#include "scenarios/kernel_run/roofline_table.h"
#include "scenarios/step_builder.h"
#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

hardware::Device ReadH100() {
  proto::Diagnostics diagnostics;
  return *hardware::ReadDevice("h100_sxm", {}, "", &diagnostics);
}

KernelRow RowOf(const hardware::Device& device, const sim::Kernel& kernel) {
  return KernelTable(device, hardware::DeviceCostModel(device), {&kernel, 1}).front();
}

// Two sequences of eight tokens, four heads of 16 and two of keys. Queries and outputs are 64 rows, keys and
// values 32, each 16 numbers of 2 bytes: 2 (64 + 32) 32 = 6,144 B; statistics 4 a row. The backward reads
// all of it, writes as many gradients, and has two statistics a row. 4 64 8 16 FLOPs without a mask, which
// leaves 4.5 of 8 keys; five products instead of two backward.
TEST(AttentionKernel, MovesEachTensorOnce) {
  sim::AttentionShape shape{.batch = 2,
                            .query_heads = 4,
                            .kv_heads = 2,
                            .query_length = 8,
                            .kv_length = 8,
                            .head_dim = 16,
                            .causal = false};
  const auto kernel = [&](bool backward) {
    return AttentionKernel(shape, sim::NumberFormat::kBf16, backward);
  };
  EXPECT_EQ(kernel(false).bytes, sim::Bytes(6144 + 256));
  EXPECT_EQ(kernel(true).bytes, sim::Bytes(2 * (6144 + 256)));
  EXPECT_EQ(kernel(false).flops, sim::Flops(32'768));
  EXPECT_EQ(kernel(true).flops, sim::Flops(81'920));
  shape.causal = true;
  EXPECT_EQ(kernel(false).flops, sim::Flops(18'432));
}

// [4,3] x [3,2] in BF16: 12 + 6 numbers read and 8 written; an FP32 sum of them is read and written instead.
TEST(ProductKernel, MovesItsOperandsAndItsResultOrASum) {
  EXPECT_EQ(ProductKernel({4, 2, 3, 1}, sim::NumberFormat::kBf16).bytes, sim::Bytes(52));
  EXPECT_EQ(ProductKernel({4, 2, 3, 1}, sim::NumberFormat::kBf16, true).bytes, sim::Bytes(36 + 64));
  EXPECT_EQ(ProductKernel({4, 2, 3, 5}, sim::NumberFormat::kBf16, true).bytes, sim::Bytes(500));
  EXPECT_EQ(ProductKernel({4, 2, 3, 5}, sim::NumberFormat::kBf16).flops, sim::Flops(240));
}

// Every kernel of a step, by the numbers that a user would give: the very time that the step is charged.
TEST(KernelTable, SaysWhatAStepIsCharged) {
  class Recorder final : public hardware::CostModel {
   public:
    explicit Recorder(std::vector<sim::Kernel>* kernels) : kernels_(kernels) {}
    hardware::KernelTimes TimeOf(const sim::Kernel& kernel) const override {
      kernels_->push_back(kernel);
      return {};
    }

   private:
    std::vector<sim::Kernel>* kernels_;
  };
  std::size_t products = 0, sums = 0, attention = 0, memory = 0;
  for (const Sets& sets : {Sets{}, Sets{{"model", "\"mixtral_8x7b\""}}, Sets{{"model", "\"llama3_8b\""}}}) {
    const Loading loading = Load(sets);
    ASSERT_TRUE(loading.scenario) << testing::PrintToString(loading.errors());
    const Scenario& scenario = *loading.scenario;
    std::vector<sim::Kernel> kernels;
    PlanStages(scenario, Recorder(&kernels));
    const hardware::DeviceCostModel cost = CostModelOf(scenario);
    for (const sim::Kernel& kernel : kernels) {
      sim::Kernel asked;
      if (kernel.kind == sim::KernelKind::kMemory) {
        asked = MemoryKernel(kernel.bytes, kernel.memory_class);
        ++memory;
      } else if (kernel.kind == sim::KernelKind::kGemm) {
        const bool accumulates = ProductKernel(kernel.gemm, kernel.format).bytes < kernel.bytes;
        asked = ProductKernel(kernel.gemm, kernel.format, accumulates);
        ++(accumulates ? sums : products);
        ASSERT_EQ(asked.flops, kernel.flops) << kernel.name;
      } else {
        asked = AttentionKernel(kernel.attention, kernel.format,
                                kernel.kind == sim::KernelKind::kAttentionBackward);
        ++attention;
      }
      ASSERT_EQ(asked.bytes, kernel.bytes) << kernel.name;
      const KernelRow row = KernelTable(scenario.device, cost, {&asked, 1}).front();
      ASSERT_EQ(row.times.alone, cost.TimeOf(kernel).alone) << kernel.name;
      ASSERT_EQ(row.times.beside_communication, cost.TimeOf(kernel).beside_communication) << kernel.name;
    }
  }
  EXPECT_GT(products, 20u);
  EXPECT_GT(sums, 10u);
  EXPECT_GT(attention, 4u);
  EXPECT_GT(memory, 20u);
}

// Two numbers wait for the start of a kernel, a large cube for the matrix units, and one row for its weights.
TEST(KernelTable, SaysWhatBoundsAKernel) {
  const hardware::Device device = ReadH100();
  const auto product = [&](sim::GemmShape shape) {
    return RowOf(device, ProductKernel(shape, sim::NumberFormat::kBf16)).bound;
  };
  EXPECT_EQ(product({1, 1, 1, 1}), KernelBound::kLaunch);
  EXPECT_EQ(product({8192, 8192, 8192, 1}), KernelBound::kTensor);
  EXPECT_EQ(product({1, 16'384, 16'384, 1}), KernelBound::kMemory);
  EXPECT_EQ(RowOf(device, MemoryKernel(sim::Bytes(), sim::MemoryClass::kNorm)).bound, KernelBound::kLaunch);
  EXPECT_EQ(RowOf(device, MemoryKernel(sim::Bytes(1 << 30), sim::MemoryClass::kNorm)).bound,
            KernelBound::kMemory);
  sim::AttentionShape shape{.batch = 1,
                            .query_heads = 32,
                            .kv_heads = 32,
                            .query_length = 8192,
                            .kv_length = 8192,
                            .head_dim = 128};
  const auto attention = [&] {
    return RowOf(device, AttentionKernel(shape, sim::NumberFormat::kBf16, false));
  };
  EXPECT_EQ(attention().bound, KernelBound::kTensor);
  shape.query_length = shape.kv_length = 1;
  EXPECT_EQ(attention().bound, KernelBound::kLaunch);
}

// By definition: FLOP/s and bytes/s are over the time, and intensity is their ratio.
TEST(KernelTable, IsConsistent) {
  const hardware::Device device = ReadH100();
  const KernelRow row = RowOf(device, ProductKernel({4096, 4096, 4096, 1}, sim::NumberFormat::kFp8));
  EXPECT_DOUBLE_EQ(row.flops, 2.0 * 4096 * 4096 * 4096);
  EXPECT_DOUBLE_EQ(row.bytes, 4096.0 * 4096 * (1 + 1 + 2));
  EXPECT_DOUBLE_EQ(row.intensity(), 2048);
  EXPECT_NEAR(row.flops_per_s() / row.bytes_per_s(), 2048, 1e-6);
  EXPECT_DOUBLE_EQ(row.part_of_peak(), row.flops_per_s() / 1978.9e12);
}

// No kernel beats its device: products and attention stay below the peak, memory below the data sheet's rate.
TEST(Rooflines, AreAboveWhatKernelsReachOnEveryDevice) {
  proto::Diagnostics diagnostics;
  for (const hardware::Device& device : hardware::ReadCatalogue(&diagnostics)) {
    const RooflineTable table =
        RooflinesOf(device, hardware::DeviceCostModel(device, {.random_data = false}));
    ASSERT_FALSE(table.formats.empty());
    ASSERT_NE(table.memory, nullptr);
    for (const FormatRoof& roof : table.formats) {
      EXPECT_LE(roof.best_flops_per_s, roof.peak_flops_per_s) << device.name;
      EXPECT_GT(roof.best_flops_per_s, 0.4 * roof.peak_flops_per_s) << device.name;
      EXPECT_DOUBLE_EQ(roof.ridge, roof.peak_flops_per_s / table.memory_bytes_per_s);
      ASSERT_NE(roof.peak, nullptr);
      ASSERT_NE(roof.model, nullptr);
      EXPECT_NE(roof.peak->source, "");
    }
    EXPECT_EQ(table.classes.size(), std::size(kMemoryClassNames));
    for (const MemoryRoof& roof : table.classes) EXPECT_LT(roof.bytes_per_s, table.memory_bytes_per_s);
    for (const AttentionRoof& roof : table.attention) {
      const double peak = hardware::PeakFlopsPerSecond(device, AttentionFormat(device));
      EXPECT_LT(roof.causal_flops_per_s, peak) << device.name;
      EXPECT_LT(roof.full_flops_per_s, peak) << device.name;
      ASSERT_NE(roof.model, nullptr);
    }
  }
}

}  // namespace
}  // namespace scenarios
