#include "scenarios/kernel_use.h"

#include <gtest/gtest.h>

#include <fstream>

#include "models/transformer.h"
#include "scenarios/stage_plan.h"
#include "tests/scenarios/playing.h"

namespace scenarios {
namespace {

sim::Duration TimeOf(const std::vector<KernelReport>& kernels) {
  sim::Duration sum;
  for (const KernelReport& row : kernels) sum += row.time;
  return sum;
}

std::int64_t CountOf(const std::vector<KernelReport>& kernels) {
  std::int64_t sum = 0;
  for (const KernelReport& row : kernels) sum += row.kernels;
  return sum;
}

// Where communication slows nothing down, kernels by how well they are known add up to what the compute
// stream works, whatever runs again, moves or is cut.
TEST(KernelsOf, AddUpToTheWorkOfTheirRank) {
  const Sets jobs[] = {
      {},
      {{"training.recompute", "FULL"}},
      {{"training.recompute", "SELECTIVE"}, {"layout.sequence", "true"}},
      {{"model", "\"mixtral_8x7b\""}, {"layout.expert", "8"}, {"layout.tensor", "1"}, {"layout.data", "8"}},
      {{"layout.sequence", "true"}, {"training.tensor_overlap", "PIPELINED"}},
      {{"layout.context", "4"}, {"layout.tensor", "1"}},
      {{"pipeline.schedule", "ZB1P"}},
      {{"training.attention", "UNFUSED"}, {"training.dropout", "true"}},
      {{"training.optimizer_sharding", "ZERO_3"}, {"layout.pipeline", "1"}, {"layout.tensor", "1"}},
  };
  for (Sets sets : jobs) {
    SCOPED_TRACE(testing::PrintToString(sets));
    sets.emplace_back("model.layers", "4");
    sets.emplace_back("hardware.interference.communication_sms", "0");
    sets.emplace_back("hardware.interference.memory_bytes_per_wire_byte", "0");
    const Loading loading = Load(sets);
    if (!loading.scenario) {
      ADD_FAILURE() << testing::PrintToString(loading.errors());
      continue;
    }
    const auto run = scenarios::Run(*loading.scenario);
    ASSERT_TRUE(run.ok()) << run.error().message;
    for (const StageReport& stage : run.value().report.stages) {
      EXPECT_EQ(TimeOf(KernelsOf(*loading.scenario, sim::Rank(stage.rank))).ps(), stage.busy.ps());
    }
  }
}

// Blocks of a stage once a micro-batch, forward and backward; the norm and Adam's three kernels once.
TEST(KernelsOf, CountLaunches) {
  const Scenario s = Loaded({{"layout.pipeline", "1"}, {"devices", "8"}, {"model.layers", "3"}});
  const models::Execution execution = ExecutionOf(s);
  const auto size = [](const models::Block& b) {
    return static_cast<std::int64_t>(b.before_gather.size() + b.main.size() + b.after_reduce.size() +
                                     b.backward_head.size() + b.backward_main.size() +
                                     b.backward_weight.size() + b.backward_tail.size());
  };
  const std::int64_t layer =
      size(models::AttentionBlock(s.model, execution, 0)) + size(models::MlpBlock(s.model, execution, 0));
  const std::int64_t ends =
      size(models::EmbeddingBlock(s.model, execution)) + size(models::HeadBlock(s.model, execution));
  EXPECT_EQ(CountOf(KernelsOf(s, sim::Rank(0u))), s.batch.micro_batches * (3 * layer + ends) + 4);
}

// The query, key and value product of LLaMA-7B on a quarter of its heads: 2,048 tokens by 3,072 by 4,096,
// once a layer, a micro-batch and a step. Measured, it is charged what was measured, and told apart.
TEST(KernelsOf, TellMeasuredProductsApart) {
  const std::string path = testing::TempDir() + "kernel_use_test_measured.textproto";
  std::ofstream(path) << R"(name: "measured"
derived_from: "h100_sxm"
basis: MEASURED
source { title: "made for the tests" }
measured_gemm {
  formats: BF16
  points { m: 2048 n: 3072 k: 4096 us: 123 }
  basis: MEASURED
  source { title: "made for the tests" }
}
)";
  const Sets sets = {{"layout.pipeline", "1"}, {"devices", "8"}, {"model.layers", "3"}};
  Sets measured = sets;
  measured.emplace_back("hardware", '"' + path + '"');
  const Scenario s = Loaded(measured);
  const std::vector<KernelReport> kernels = KernelsOf(s, sim::Rank(0u));
  const std::int64_t products = 3 * s.batch.micro_batches;
  EXPECT_EQ(kernels.front().basis, "measurement");
  EXPECT_EQ(kernels.front().kernels, products);
  EXPECT_EQ(kernels.front().time, products * sim::Duration::Microseconds(123));
  EXPECT_EQ(CountOf(kernels), CountOf(KernelsOf(Loaded(sets), sim::Rank(0u))));
}

}  // namespace
}  // namespace scenarios
