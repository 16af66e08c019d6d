// RankBuilder: writes all tasks of one rank, step by step.

#ifndef SCENARIOS_RANK_BUILDER_H_
#define SCENARIOS_RANK_BUILDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scenarios/block_writer.h"
#include "scenarios/data_parallel.h"
#include "scenarios/host_optimizer.h"
#include "scenarios/job.h"
#include "scenarios/offload_writer.h"
#include "scenarios/pipeline_transfers.h"

namespace scenarios {

class RankBuilder {
 public:
  // Joins all groups of the rank, in the same order for ranks of one stage. The job must outlive this.
  RankBuilder(const Job& job, sim::Rank rank);
  // All steps.
  void Build();

 private:
  void Step(std::int64_t step);
  std::size_t Batch(std::int64_t step, std::span<const sim::PipelineStep> order, std::size_t sent,
                    std::size_t at);
  // A forward and the whole backward of another micro-batch, in turns.
  void Pair(std::int64_t step, const sim::PipelineStep& forward, const sim::PipelineStep& backward);
  void Pass(std::int64_t step, const sim::PipelineStep& at, bool in_pair = false);
  void Forward(std::int64_t step, const sim::PipelineStep& at, bool first_of_chunk);
  // The whole, or the input half.
  void Backward(std::int64_t step, const sim::PipelineStep& at, bool last_of_chunk, bool weights_later);
  void BackwardWeight(const sim::PipelineStep& at, bool last_of_chunk);
  void FinishStep(std::int64_t step);
  void Save(std::int64_t step);

  const Job& job_;
  const std::int64_t stage_;
  const StagePlan& plan_;
  RankTape tape_;
  BlockWriter blocks_;
  PipelineTransfers transfers_;
  DataParallel data_;
  std::optional<OffloadWriter> offload_;
  std::optional<HostOptimizer> host_;
  Membership world_, tied_;
  std::vector<std::int64_t> to_start_, left_;  // micro-batches of the step, by chunk: forwards, backwards
};

}  // namespace scenarios

#endif  // SCENARIOS_RANK_BUILDER_H_
