#include "scenarios/buckets.h"

#include <algorithm>
#include <vector>

#include "models/kernels.h"
#include "models/optimizer.h"
#include "scenarios/block_plan.h"
#include "scenarios/sharding.h"
#include "scenarios/whole_units.h"

namespace scenarios {
namespace {

// One series of buckets; experts that are spread have buckets of their own.
struct BucketSeries {
  bool experts = false;
  std::int64_t Unit::*held;
  std::int64_t Unit::*eight_bits;  // of them, gathered in eight bits; null: none
  std::uint32_t Unit::*bucket;
  bool Unit::*closes;
  Unit* previous = nullptr;

  // A bucket closes when it has reached `full` bytes; of zero, with each unit.
  void Add(Unit* unit, std::int64_t width, sim::Bytes full, std::vector<Bucket>* buckets) {
    if (previous == nullptr || (*buckets)[previous->*bucket].parameters * width >= full.count()) {
      Close();
      buckets->push_back({.experts = experts});
      (*unit).*bucket = static_cast<std::uint32_t>(buckets->size() - 1);
    } else {
      (*unit).*bucket = previous->*bucket;
    }
    (*buckets)[(*unit).*bucket].parameters += (*unit).*held;
    if (eight_bits != nullptr) (*buckets)[(*unit).*bucket].eight_bits += (*unit).*eight_bits;
    previous = unit;
  }
  void Close() {
    if (previous != nullptr) previous->*closes = true;
  }
};

}  // namespace

void PlaceTiedTable(std::int64_t table, StagePlan* plan) {
  Unit* embedding = nullptr;
  for (const std::uint32_t chunk : plan->by_end) {
    for (Unit& unit : plan->chunks[chunk]) {
      if (unit.kind == Unit::Kind::kHead && embedding != nullptr) {
        unit.parameters += table;
        embedding->parameters -= table;
      }
    }
    if (!plan->chunks[chunk].empty() && plan->chunks[chunk].front().kind == Unit::Kind::kEmbedding) {
      if (plan->chunks[chunk].back().kind != Unit::Kind::kHead) embedding = &plan->chunks[chunk].front();
    }
  }
}

namespace {

// What is cast of a share before each gather: weights are read in their format, their scales are known.
void FillUnits(const Scenario& scenario, const hardware::CostModel& cost,
               std::span<const sim::PipelineStep> steps, StagePlan* plan) {
  const Matmul& matmul = scenario.training.matmul;
  if (matmul.recipe != models::Recipe::kNone) plan->casts = PlayUnits(scenario, *plan, steps).casts;
  if (!matmul.cast_each_gather) return;
  for (Bucket& bucket : plan->buckets) {
    const std::int64_t ranks = SharingOf(scenario, bucket.experts).ranks;
    const std::int64_t share = (bucket.eight_bits + ranks - 1) / ranks;
    const std::int64_t bytes = share * (sim::ByteWidth(scenario.training.format) + 1);
    if (share > 0) bucket.share_cast = TimesOf(cost, {models::Moves("cast_weights", bytes)});
  }
}

}  // namespace

void FillBuckets(const Scenario& scenario, const hardware::CostModel& cost,
                 std::span<const sim::PipelineStep> steps, StagePlan* plan) {
  const std::int64_t width = sim::ByteWidth(scenario.training.gradient_format);
  const bool by_unit = SharingOf(scenario).weights;
  const sim::Bytes full = by_unit ? sim::Bytes() : scenario.training.bucket;
  const bool eight = scenario.training.matmul.parameter_gather;
  BucketSeries experts{true, &Unit::spread, eight ? &Unit::spread_cast_weights : nullptr,
                       &Unit::expert_bucket, &Unit::closes_expert_bucket};
  BucketSeries others{false, &Unit::parameters, eight ? &Unit::cast_weights : nullptr, &Unit::bucket,
                      &Unit::closes_bucket};
  for (const std::uint32_t at : plan->by_end) {
    std::vector<Unit>& chunk = plan->chunks[at];
    for (auto unit = chunk.rbegin(); unit != chunk.rend(); ++unit) {
      if (unit->spread > 0) experts.Add(&*unit, width, full, &plan->buckets);
      others.Add(&*unit, width, full, &plan->buckets);
      if (unit->kind == Unit::Kind::kHead) plan->buckets[unit->bucket].head = true;
    }
  }
  experts.Close();
  others.Close();
  if (by_unit) return FillUnits(scenario, cost, steps, plan);
  for (Bucket& bucket : plan->buckets) {
    const std::int64_t most = std::max<std::int64_t>(1, bucket.parameters);
    bucket.parts =
        std::clamp<std::int64_t>(bucket.parameters * width / scenario.training.bucket.count(), 1, most);
  }
}

namespace {

// One FP32 number a matrix, or for 128 x 128 of it.
sim::Bytes ScalesOf(const Matmul& matmul, std::int64_t matrices, std::int64_t numbers) {
  constexpr std::int64_t kNumber = 4, kBlock = 128 * 128;
  const bool blocks = matmul.recipe == models::Recipe::kBlock;
  return sim::Bytes(kNumber * (blocks ? (numbers + kBlock - 1) / kBlock : matrices));
}

void Add(const hardware::CostModel& cost, const std::vector<sim::Kernel>& kernels, PhaseTimes* times) {
  *times = *times + TimesOf(cost, kernels);
}

}  // namespace

// Delayed scaling has its scales from earlier steps, and notes the largest numbers as it casts.
std::int64_t PlanShares(const Scenario& scenario, const hardware::CostModel& cost, StagePlan* plan) {
  const Matmul& matmul = scenario.training.matmul;
  if (!SharingOf(scenario).weights || !matmul.parameter_gather) return 0;
  std::int64_t matrices = 0, numbers = 0, expert_matrices = 0, expert_numbers = 0;
  for (const std::vector<Unit>& units : plan->chunks) {
    for (const Unit& unit : units) {
      matrices += unit.cast_matrices;
      numbers += unit.cast_weights;
      expert_matrices += unit.spread_cast_matrices;
      expert_numbers += unit.spread_cast_weights;
    }
  }
  plan->share_scales = ScalesOf(matmul, matrices, numbers);
  plan->expert_share_scales = ScalesOf(matmul, expert_matrices, expert_numbers);
  const auto share = [&](std::int64_t all, bool experts) {
    const std::int64_t ranks = SharingOf(scenario, experts).ranks;
    return (all + ranks - 1) / ranks;
  };
  const std::int64_t cast = share(numbers, false) + share(expert_numbers, true);
  if (matmul.recipe != models::Recipe::kTensorDelayed) {
    Add(cost, models::FindLargestKernels(cast), &plan->optimizer);
  }
  if (!HoldsEightBits(scenario)) return 0;
  Add(cost, models::CastKernels(cast), &plan->share_cast);
  return cast;
}

}  // namespace scenarios
