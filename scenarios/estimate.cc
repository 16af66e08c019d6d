#include "scenarios/estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "scenarios/lowering.h"
#include "scenarios/sharding.h"

namespace scenarios {
namespace {

// Measured at the peak of runs: 26 to 31 B a task of 4 to 150 million, of which
// 16 are its times; 250 B a task where nearly all are transfers of chunks, which
// have a row and a flow of their own.
constexpr double kBytesPerTask = 32, kBytesPerTaskOfChunks = 80, kBytesPerTransfer = 300;
// What folding keeps of a rank's groups; at the most some 2 kB, of rings over many thousands.
constexpr double kBytesToFoldARank = 3000;
// A program's tasks have 30-bit ids; see sim::ProgramBuilder.
constexpr double kMostTasks = 1.0e9;

// A group as far as its chunk expansions are concerned.
struct GroupSize {
  double members = 1, channels = 1;
};

GroupSize SizeOf(const Scenario& scenario, const std::vector<sim::Rank>& ranks) {
  const std::vector<std::uint32_t>& domain = scenario.fabric.domain;
  const std::uint32_t first = domain[ranks.front().pos()];
  const auto inside =
      std::count_if(ranks.begin(), ranks.end(), [&](sim::Rank rank) { return domain[rank.pos()] == first; });
  const bool one_domain = inside == static_cast<std::ptrdiff_t>(ranks.size());
  return {static_cast<double>(ranks.size()), one_domain ? 1.0 : static_cast<double>(inside)};
}

// What one rank adds to the program: its own tasks, and its part of the
// transfers of chunks.
class Counter {
 public:
  Counter(const Scenario& scenario, const StagePlan& plan)
      : scenario_(scenario), plan_(plan), chunks_(scenario.fidelity == Fidelity::kChunk) {
    const sim::Rank rank(std::uint32_t{0});
    tensor_ = SizeOf(scenario, scenario.layout.Group(rank, Dimension::kTensor));
    data_ = SizeOf(scenario, scenario.layout.Copies(rank));
    ring_ = scenario.layout.context / scenario.layout.ulysses;
    ulysses_ = scenario.layout.ulysses;
    ring_size_ = SizeOf(scenario, scenario.layout.RingGroup(rank));
    if (plan.spread > 0) {
      expert_data_ = SizeOf(scenario, scenario.layout.Group(rank, ExpertDimension::kExpertData));
      experts_[0] = SizeOf(scenario, scenario.layout.Group(rank, ExpertDimension::kExpert));
      experts_[1] = SizeOf(scenario, scenario.layout.Group(rank, ExpertDimension::kExpertTensor));
      experts_[2] = SizeOf(scenario, scenario.layout.Group(rank, ExpertDimension::kExpertModel));
    }
  }

  // One step.
  Estimate Count() {
    const Pipeline& pipeline = scenario_.pipeline;
    const bool in_halves = pipeline.splits_backward() || pipeline.delays_weight_gradients;
    for (const std::vector<Unit>& units : plan_.chunks) {
      for (const Unit& unit : units) {
        for (const std::uint32_t block : unit.blocks) {
          Forward(plan_.blocks[block]);
          if (unit.recompute == Recompute::kFull) Forward(plan_.blocks[block]);
          Backward(plan_.blocks[block]);
          if (in_halves) WeightHalf(plan_.blocks[block]);
        }
        if (unit.offloaded > sim::Bytes()) tasks_ += 2;  // out and in
      }
      if (scenario_.layout.pipeline > 1) {
        tasks_ += 4;  // a send and a receive each way
        if (chunks_) transfers_ += 2 * ChunksOf(plan_.boundary);
      }
      if (plan_.scales > sim::Bytes()) {
        tasks_ += 2;
        Tensor(plan_.scales, true);
        Tensor(plan_.scales, true);
      }
    }
    const auto micro_batches = static_cast<double>(scenario_.pipeline.passes_of_chunk());
    tasks_ *= micro_batches;
    transfers_ *= micro_batches;
    for (std::size_t b = 0; b < plan_.buckets.size(); ++b) Data(static_cast<std::uint32_t>(b));
    tasks_ += 2 * static_cast<double>(plan_.casts);  // of both blocks of a layer
    if (plan_.host_numbers > 0) {
      // Two marks; out, update and in, of each bucket where they overlap.
      const bool overlap = scenario_.training.offload.overlap;
      tasks_ += 2 + 3 * (overlap ? static_cast<double>(plan_.buckets.size()) : 1);
    }
    tasks_ += 6;  // norms, tied embedding, clip, optimizer, end
    Ring(plan_.tied_gradient, {.members = 2}, 2);
    const double bytes = chunks_ ? kBytesPerTaskOfChunks : kBytesPerTask;
    return {tasks_ + transfers_, tasks_ * bytes + transfers_ * kBytesPerTransfer};
  }

 private:
  // `steps` rounds of a ring, in which each member sends one chunk.
  void Ring(sim::Bytes size, const GroupSize& group, double steps) {
    if (!chunks_ || group.members < 2 || size == sim::Bytes()) return;
    const double loop = group.members * static_cast<double>(kNcclChunk.count());
    const double loops = std::ceil(static_cast<double>(size.count()) / group.channels / loop);
    transfers_ += group.channels * loops * steps;
    tasks_ += 2;  // members enter and leave
  }
  // A gather or scatter in pieces, and its product: so many tasks more than without.
  void Pieces(sim::Bytes size, std::int64_t pieces) {
    const auto moves = static_cast<double>(pieces - 1);
    tasks_ += 2 * moves - 1;
    if (!chunks_) return;
    tasks_ += moves;  // members enter and leave
    transfers_ += moves * ChunksOf(sim::Bytes(size.count() / pieces));
  }
  void Tensor(sim::Bytes size, bool all_reduce) {
    if (size > sim::Bytes()) Ring(size, tensor_, (all_reduce ? 2 : 1) * (tensor_.members - 1));
  }

  // Of experts that are spread: the tokens' way there and back, and the shared experts.
  void Spread(const BlockPlan& block, bool forward) {
    tasks_ += 3;  // before, experts, after
    const bool shared = (forward ? block.main : block.backward_main).alone > sim::Duration();
    if (shared) tasks_ += forward ? 1 : 2;
    if (shared && scenario_.layout.tensor > 1) {
      tasks_ += forward ? 2 : 3;
      Tensor(forward ? block.gather_forward : block.gather_backward, false);
      Tensor(forward ? block.reduce_forward : block.reduce_backward, false);
      if (!forward) Tensor(block.gather_again, false);
    }
    if (block.experts[0].gather > sim::Bytes()) tasks_ += 1;
    Tensor(block.experts[0].gather, false);
    for (const models::ExpertMove& move : block.experts[0].outward) Move(move);
    for (const models::ExpertMove& move : block.experts[0].homeward) Move(move);
  }

  void Move(const models::ExpertMove& move) {
    tasks_ += 1;
    const GroupSize& group = experts_[static_cast<std::size_t>(move.group)];
    if (move.group != models::ExpertMove::Group::kExpert || move.kind == sim::CollectiveKind::kAllGather ||
        move.kind == sim::CollectiveKind::kReduceScatter) {
      Ring(move.size, group, group.members - 1);
    } else {
      AllToAll(move.size, static_cast<std::int64_t>(group.members));
    }
  }

  // Of an attention core whose sequence is cut: pieces of work, and what moves between them.
  void Context(const ContextPlan& context, bool forward) {
    if (context.pieces.empty()) return;
    const auto ring = static_cast<double>(ring_);
    const bool exchanges = context.query_heads > sim::Bytes();
    tasks_ += 1 + (exchanges ? 6 : 0);  // what goes before; four exchanges, and work behind both ends
    if (exchanges) {
      for (const sim::Bytes size :
           {context.query_heads, context.key_heads, context.value_heads, context.output_heads}) {
        AllToAll(size, ulysses_);
      }
    }
    if (context.gathers) {
      tasks_ += forward ? 3 : 5;
      for (const sim::Bytes size : {context.keys, context.values}) {
        Ring(size, ring_size_, (forward ? 1 : 2) * (ring - 1));
      }
      return;
    }
    if (ring == 1) {
      tasks_ += 1;
      return;
    }
    tasks_ += forward ? 2 * ring - 1 : 3 * ring - 1;  // pieces, shifts, merges
    // Ranks that are not balanced skip blocks behind them: half of all, on average.
    const bool balanced = context.pieces[2].forward.alone > sim::Duration();
    if (!balanced) tasks_ -= (forward ? ring - 1 : 2 * ring - 3) / 2;
    if (!chunks_) return;
    const double shifts = forward ? ring - 1 : 2 * (ring - 1);  // of one block of keys and values
    transfers_ += shifts * ChunksOf(context.passed);
    tasks_ += 2 * (forward ? ring - 1 : ring);
  }

  static double ChunksOf(sim::Bytes size) {
    return std::ceil(static_cast<double>(size.count()) / static_cast<double>(kNcclChunk.count()));
  }

  void AllToAll(sim::Bytes size, std::int64_t members) {
    if (!chunks_ || members < 2) return;
    const auto others = static_cast<double>(members - 1);
    const double part = static_cast<double>(size.count()) / static_cast<double>(members);
    transfers_ += others * std::ceil(part / static_cast<double>(kNcclChunk.count()));
    tasks_ += 2;
  }

  void Forward(const BlockPlan& block) {
    if (!block.experts.empty()) return Spread(block, true);
    Context(block.context, true);
    const bool sequence = scenario_.layout.sequence;
    tasks_ += 1;
    if (scenario_.layout.tensor == 1) return;
    tasks_ += (block.reduce_forward > sim::Bytes() ? 2 : 0) + 2 * static_cast<double>(block.small_reduces);
    const bool in_pieces = block.pieced.pieces > 1;
    if (in_pieces) {
      Pieces(block.gather_forward, block.pieced.pieces);
      Pieces(block.reduce_forward, block.pieced.pieces);
    } else {
      Tensor(block.reduce_forward, !sequence);
    }
    tasks_ += block.gather_output > sim::Bytes() ? 2 : 0;
    Tensor(block.gather_output, false);
    for (std::int64_t i = 0; i < block.small_reduces; ++i) Tensor(block.small_reduce, true);
    if (!sequence) return;
    tasks_ += block.gather_forward > sim::Bytes() ? 2 : 0;
    if (!in_pieces) Tensor(block.gather_forward, false);
  }

  // What selective recomputation runs, and the work before it that becomes a task of its own.
  void Again(const BlockPlan& block) {
    const AgainPlan& again = block.again;
    if (again.core) Context(block.context, true);
    if (again.travel) Spread(block, true);
    const bool experts = !block.experts.empty() && block.experts[0].again.alone > sim::Duration();
    if (again.work().alone > sim::Duration() || experts) tasks_ += 2;
    if (again.travel || scenario_.layout.tensor == 1) return;
    tasks_ += (again.gather > sim::Bytes() ? 2 : 0) + (again.reduce > sim::Bytes() ? 2 : 0);
    Tensor(again.gather, false);
    Tensor(again.reduce, !scenario_.layout.sequence);
  }

  void Backward(const BlockPlan& block) {
    Again(block);
    if (!block.experts.empty()) return Spread(block, false);
    const bool sequence = scenario_.layout.sequence;
    Context(block.context, false);
    tasks_ += 1;
    if (scenario_.layout.tensor == 1) return;
    tasks_ += block.reduce_backward > sim::Bytes() ? 3 : 0;
    Tensor(block.reduce_backward, !sequence);
    if (!sequence) return;
    tasks_ += (block.gather_backward > sim::Bytes() ? 2 : 0) + (block.gather_again > sim::Bytes() ? 1 : 0);
    if (block.pieced.pieces > 1) {
      Pieces(block.gather_backward, block.pieced.pieces);
    } else {
      Tensor(block.gather_backward, false);
    }
    Tensor(block.gather_again, false);
  }

  // Weight gradients are a task of their own already where they run beside a reduction.
  void WeightHalf(const BlockPlan& block) {
    if (scenario_.layout.tensor == 1 || !block.experts.empty()) tasks_ += 1;
    if (scenario_.pipeline.delays_weight_gradients && !block.experts.empty()) tasks_ += 1;  // experts' apart
  }

  void Data(std::uint32_t at) {
    const Bucket& bucket = plan_.buckets[at];
    const GroupSize& group = bucket.experts ? expert_data_ : data_;
    const Sharing sharing = SharingOf(scenario_, bucket.experts);
    const auto parts = static_cast<double>(bucket.parts);
    const auto reductions = parts * static_cast<double>(ReductionsOfStep(scenario_));
    double gathers = sharing.optimizer ? parts : 0;
    if (sharing.weights) gathers = static_cast<double>(GathersOfStep(scenario_, plan_, at));
    if (bucket.share_cast.alone > sim::Duration() || scenario_.training.offload.parameters) tasks_ += gathers;
    if (sharing.ranks == 1) gathers = 0;
    tasks_ += gathers + reductions * ((sharing.ranks > 1 ? 1 : 0) + (sharing.replicas > 1 ? 1 : 0));
    const double before = transfers_;
    const GroupSize shard{static_cast<double>(sharing.ranks), group.channels};
    const GroupSize replicas{static_cast<double>(sharing.replicas), group.channels};
    const sim::Bytes gradients(GradientsOf(scenario_, bucket).count() / bucket.parts);
    Ring(gradients, shard, reductions * (shard.members - 1));
    Ring(sim::Bytes(gradients.count() / sharing.ranks), replicas, reductions * 2 * (replicas.members - 1));
    Ring(sim::Bytes(WeightsOf(scenario_, bucket).count() / bucket.parts), shard,
         gathers * (shard.members - 1));
    if (transfers_ > before) tasks_ += gathers + reductions;  // members enter and leave
  }

  const Scenario& scenario_;
  const StagePlan& plan_;
  const bool chunks_;
  GroupSize tensor_, data_, expert_data_, ring_size_;
  std::int64_t ring_ = 1, ulysses_ = 1;
  GroupSize experts_[3];  // by models::ExpertMove::Group
  double tasks_ = 0, transfers_ = 0;
};

std::string Engineering(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

// Whether some phase of a block takes as long as a kernel may be said to take.
bool HasEndlessWork(const StagePlan& plan) {
  const auto endless = [](const PhaseTimes& t) { return t.longest() >= hardware::kLongestKernel; };
  return endless(plan.optimizer) ||
         std::any_of(plan.blocks.begin(), plan.blocks.end(), [&](const BlockPlan& b) {
           return endless(b.before_gather) || endless(b.main) || endless(b.after_reduce) ||
                  endless(b.backward_head) || endless(b.backward_main) || endless(b.backward_weight) ||
                  endless(b.backward_tail) || endless(b.again.work()) || endless(b.weight_casts) ||
                  endless(b.one_copy_casts) || endless(b.context.after) ||
                  endless(b.context.backward_after) ||
                  std::any_of(b.context.pieces.begin(), b.context.pieces.end(),
                              [&](const ContextPlan::Piece& p) {
                                return endless(p.forward) || endless(p.backward);
                              }) ||
                  std::any_of(b.experts.begin(), b.experts.end(),
                              [&](const ExpertPlan& e) { return endless(e.forward) || endless(e.backward); });
         });
}

// Whether a stage's launches take longer than its kernels: then each is a task, at the most.
bool HostIsBehind(const StagePlan& plan) {
  sim::Duration host, device;
  for (const std::vector<Unit>& units : plan.chunks) {
    for (const Unit& unit : units) {
      for (const std::uint32_t block : unit.blocks) {
        const BlockPlan& b = plan.blocks[block];
        const PhaseTimes work = b.before_gather + b.main + b.after_reduce + b.backward_head +
                                b.backward_main + b.backward_weight + b.backward_tail;
        host += work.host;
        device += work.alone;
      }
    }
  }
  return host > device;
}

// By stage, the ranks that are written.
std::vector<double> RanksByStage(const Scenario& scenario, const Fold* fold) {
  const Layout& layout = scenario.layout;
  const auto stages = static_cast<std::size_t>(layout.pipeline);
  if (fold == nullptr)
    return std::vector<double>(stages, static_cast<double>(layout.ranks() / layout.pipeline));
  std::vector<double> ranks(stages, 0);
  for (const sim::Rank rank : layout.AllRanks()) {
    if (fold->Acts(rank)) ++ranks[static_cast<std::size_t>(layout.Coordinate(rank, Dimension::kPipeline))];
  }
  return ranks;
}

Estimate EstimateOf(const Scenario& scenario, const std::vector<StagePlan>& stages,
                    const std::vector<double>& ranks) {
  Estimate estimate;
  if (scenario.checkpoint) {
    // Gather, copy, write, rendezvous and mark.
    const std::int64_t saves = SavesWithin(scenario.steps, scenario.checkpoint->every_steps);
    estimate.tasks = 5 * static_cast<double>(saves * scenario.layout.ranks());
    estimate.memory_bytes = estimate.tasks * kBytesPerTask;
  }
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const Estimate rank = Counter(scenario, stages[s]).Count();
    const bool blocking = scenario.training.launches == Launches::kBlocking;
    const double launched = blocking || HostIsBehind(stages[s]) ? 2 : 1;
    const double times = ranks[s] * static_cast<double>(scenario.steps) * launched;
    estimate.tasks += times * rank.tasks;
    estimate.memory_bytes += times * rank.memory_bytes;
  }
  return estimate;
}

std::optional<sim::Error> RefuseTooLarge(const Estimate& estimate, double memory_limit) {
  if (estimate.tasks <= kMostTasks && estimate.memory_bytes <= memory_limit) return std::nullopt;
  return sim::Error{
      "too large to simulate rank by rank: about " + Engineering(estimate.tasks) + " tasks, " +
      Engineering(estimate.memory_bytes / (1 << 30)) + " GiB of memory; there is room for " +
      Engineering(kMostTasks) + " tasks and " + Engineering(memory_limit / (1 << 30)) +
      " GiB; fewer data ranks or micro-batches would do, and `orrery check` gives the closed forms"};
}

}  // namespace

Estimate EstimateOf(const Scenario& scenario, const std::vector<StagePlan>& stages, const Fold* fold) {
  return EstimateOf(scenario, stages, RanksByStage(scenario, fold));
}

std::optional<sim::Error> RefuseToSimulate(const Scenario& scenario, const std::vector<StagePlan>& stages,
                                           double memory_limit, const Fold* fold) {
  if (std::any_of(stages.begin(), stages.end(), HasEndlessWork)) {
    return sim::Error{
        "a single piece of work would take more than a day; smaller micro-batches or a faster device would "
        "do"};
  }
  return RefuseTooLarge(EstimateOf(scenario, stages, fold), memory_limit);
}

std::optional<sim::Error> RefuseToFold(const Scenario& scenario, const std::vector<StagePlan>& stages,
                                       double memory_limit) {
  Estimate least = EstimateOf(scenario, stages, std::vector<double>(stages.size(), 1));
  least.memory_bytes += kBytesToFoldARank * static_cast<double>(scenario.layout.ranks());
  return RefuseTooLarge(least, memory_limit);
}

}  // namespace scenarios
