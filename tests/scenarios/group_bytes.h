// The bytes of every group of a grid layout, as chapter 17.6 of the textbook counts
// them after its corrections; written from these formulas alone.
//
// A ring of n moves (n-1) G to gather or scatter G bytes and 2 (n-1) G to reduce
// them; an all-to-all moves (n-1) G where each rank sends G, its own part included.
// Each rank holds, and reduces, only its part of the weights. Activations of a
// micro-batch are 2 B S d bytes:
//   tensor    a layer reduces them twice forward and twice backward, 16 B S d (t-1)/t a
//             rank; sequence parallelism gathers and scatters in their place, and the
//             input once more for the weight gradient (Korthikanti et al. 2022)
//   pipeline  once forward and once backward over each boundary
//   experts   k copies of each token, out and home, forward and backward
//   context   each rank's keys and values to all others of its ring, 2 x 2 B S/c d_kv bytes, and
//             in the backward again, with as much of gradients; with heads exchanged for tokens
//             queries, keys, values and outputs, and their gradients
//   ZeRO-3    weights gathered in the forward and in the backward of every micro-batch; in a pipeline,
//             whose backwards give nothing back before the last, once more than there are micro-batches.
//             Experts likewise over those ranks of one copy that hold them

#ifndef TESTS_SCENARIOS_GROUP_BYTES_H_
#define TESTS_SCENARIOS_GROUP_BYTES_H_

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/program/program.h"
#include "tests/scenarios/layout_grid.h"

namespace scenarios {

// Bytes that all members of a group send to one another for one purpose in a whole run.
using GroupBytes = std::map<std::pair<sim::TaskClass, std::vector<sim::Rank>>, std::int64_t>;

class GroupVolumes {
 public:
  // Of a run of three steps.
  GroupVolumes(const GridLayout& at, const Layout& layout) : at_(at), layout_(layout) {}

  GroupBytes All() {
    for (const sim::Rank rank : layout_.AllRanks()) {
      stage_ = layout_.Coordinate(rank, Dimension::kPipeline);
      const auto group = layout_.Group(rank, Dimension::kTensor);
      if (group.front() == rank) Add(sim::TaskClass::kTensor, group, TensorBytes());
      AddContext(rank);
      AddData(rank);
      AddPipeline(rank);
      if (at_.spreads()) AddExperts(rank);
    }
    // The gradient norm: one FP32 number over all ranks.
    Add(sim::TaskClass::kNorm, layout_.AllRanks(), kSteps * 2 * (at_.ranks() - 1) * 4);
    return std::move(bytes_);
  }

 private:
  static constexpr std::int64_t kSteps = 3, kWeight = 2, kGradient = 4;  // BF16, FP32

  void Add(sim::TaskClass purpose, std::vector<sim::Rank> group, std::int64_t moved) {
    if (group.size() < 2 || moved == 0) return;
    std::sort(group.begin(), group.end());
    bytes_[{purpose, group}] += moved;
  }

  bool both_ends() const { return at_.pipeline.order == PieceOrder::kBothEnds; }
  std::int64_t tokens() const { return tiny::kTokens / at_.context.ranks; }
  std::int64_t activations() const { return 2 * tokens() * tiny::kHidden; }
  // Of a step and one piece on one stage.
  std::int64_t micro_batches() const { return at_.pipeline.micro_batches / (both_ends() ? 2 : 1); }
  std::int64_t pieces() const { return at_.pipeline.stages * (both_ends() ? 1 : at_.pipeline.chunks); }
  std::int64_t layers_of_piece() const { return tiny::kLayers / pieces(); }
  std::vector<std::int64_t> PiecesOfStage() const {
    const std::int64_t p = at_.pipeline.stages;
    if (both_ends()) return {stage_, p - 1 - stage_};
    std::vector<std::int64_t> of_stage = {stage_};
    for (std::int64_t chunk = 1; chunk < at_.pipeline.chunks; ++chunk) {
      of_stage.push_back(at_.pipeline.order == PieceOrder::kVee ? 2 * p - 1 - stage_ : chunk * p + stage_);
    }
    return of_stage;
  }
  bool Holds(std::int64_t piece) const {
    for (const std::int64_t own : PiecesOfStage()) {
      if (own == piece) return true;
    }
    return false;
  }
  bool first() const { return Holds(0); }
  bool last() const { return Holds(pieces() - 1); }
  bool IsDense(std::int64_t layer) const { return !at_.has_experts() || layer == 0; }

  // Calls f(layer, runs again in the backward) for each layer of the stage.
  template <class F>
  void ForEachLayer(F&& f) const {
    for (const std::int64_t piece : PiecesOfStage()) {
      for (std::int64_t i = 0; i < layers_of_piece(); ++i) {
        f(piece * layers_of_piece() + i, at_.recompute == "FULL" || (at_.recompute == "BLOCK" && i == 0));
      }
    }
  }

  // Parameters that one rank holds, but for experts that are spread.
  std::int64_t OfLayer(std::int64_t layer) const {
    const std::int64_t d = tiny::kHidden, t = at_.tensor;
    const std::int64_t query = tiny::kHeads * tiny::kHeadDim, key = tiny::kKvHeads * tiny::kHeadDim;
    const std::int64_t attention = 2 * d * query / t + 2 * d * key / t, norms = 2 * d;
    if (IsDense(layer)) return attention + norms + 3 * d * tiny::kFfn / t;
    const std::int64_t router = d * tiny::kExperts, shared = 3 * d * tiny::kSharedFfn / t;
    const std::int64_t routed = tiny::kExperts * 3 * d * tiny::kExpertFfn / t;
    return attention + norms + router + shared + (at_.spreads() ? 0 : routed);
  }
  std::int64_t OfTable() const { return tiny::kVocabulary * tiny::kHidden / at_.tensor; }
  // The stage of the head has a copy of a tied table, unless it has the embedding too.
  std::int64_t OfHead() const { return tiny::kHidden + (at_.tied && first() ? 0 : OfTable()); }
  std::int64_t OfStage() const {
    std::int64_t parameters = (first() ? OfTable() : 0) + (last() ? OfHead() : 0);
    ForEachLayer([&](std::int64_t layer, bool) { parameters += OfLayer(layer); });
    return parameters;
  }
  std::int64_t OfSpreadExperts() const {
    std::int64_t parameters = 0;
    ForEachLayer([&](std::int64_t layer, bool) {
      if (IsDense(layer)) return;
      parameters += tiny::kExperts / at_.expert * 3 * tiny::kHidden * tiny::kExpertFfn / at_.expert_tensor;
    });
    return parameters;
  }

  std::int64_t TensorBytes() const {
    const std::int64_t once = (at_.tensor - 1) * activations();  // one gather, or one scatter
    std::int64_t a_micro_batch = 0, of_cut_tokens = last() ? tiny::kHidden : 0;
    ForEachLayer([&](std::int64_t layer, bool again) {
      // Attention and feed-forward; what comes home from experts is gathered where the
      // tensor group had shared out its tokens.
      const std::int64_t home = !IsDense(layer) && at_.spreads() && !at_.sequence ? once : 0;
      const std::int64_t forward = 2 * 2 * once + home;
      const std::int64_t backward = 2 * (at_.sequence ? 3 : 2) * once + home;
      a_micro_batch += (again ? 2 : 1) * forward + backward;
      of_cut_tokens += 2 * tiny::kHidden + (IsDense(layer) ? 0 : tiny::kHidden * tiny::kExperts);
    });
    if (first()) a_micro_batch += 2 * once;
    // The loss reduces three FP32 numbers a token over the parts of the vocabulary.
    if (last()) a_micro_batch += (at_.sequence ? 3 : 2) * once + 3 * 2 * (at_.tensor - 1) * 4 * tokens();
    // Norms and routers see a part of the tokens only.
    const std::int64_t a_step = at_.sequence ? 2 * (at_.tensor - 1) * kGradient * of_cut_tokens : 0;
    return kSteps * (micro_batches() * a_micro_batch + a_step);
  }

  // Weights gathered before a step's forward; those before the first step are there.
  std::int64_t GathersOnce() const { return at_.gathers_once() ? (at_.overlap ? kSteps - 1 : kSteps) : 0; }

  bool piped() const { return at_.pipeline.stages > 1; }
  // How often a step gathers weights that are given back behind the forward, and those that are not.
  std::int64_t Gathers() const { return piped() ? micro_batches() + 1 : 2 * micro_batches(); }
  std::int64_t GathersOfWhole() const { return piped() ? 1 : micro_batches(); }
  // Of a step, parameters times that: the last unit, which the backward begins with, and the table that it
  // reads stay whole.
  std::int64_t GatheredByUnit() const {
    const std::int64_t stay = last() ? OfHead() + (at_.tied ? OfTable() : 0) : 0;
    return Gathers() * (OfStage() - stay) + GathersOfWhole() * stay;
  }

  // Keys and values go round a ring, or are gathered, of every ulysses-th rank; neighbours
  // exchange heads before and after.
  void AddContext(sim::Rank rank) {
    if (at_.context.ranks == 1) return;
    std::int64_t forwards = 0, backwards = 0;
    ForEachLayer([&](std::int64_t, bool again) {
      forwards += again || at_.recompute == "SELECTIVE" ? 2 : 1;  // selective: of the attention core
      backwards += 1;
    });
    const std::int64_t u = at_.context.ulysses, ring = at_.context.ranks / u,
                       times = kSteps * micro_batches();
    const std::int64_t token = kWeight * tiny::kHeadDim / at_.tensor;
    const std::int64_t keys = 2 * tokens() * token * tiny::kKvHeads;        // and values, of one rank
    const std::int64_t heads = 2 * tokens() * token * tiny::kHeads + keys;  // and queries and outputs
    const std::vector<sim::Rank> group = layout_.Group(rank, Dimension::kContext);
    const auto at = static_cast<std::int64_t>(std::find(group.begin(), group.end(), rank) - group.begin());
    std::vector<sim::Rank> around, neighbours;
    for (std::int64_t i = 0; i < at_.context.ranks; ++i) {
      if (i % u == at % u) around.push_back(group[static_cast<std::size_t>(i)]);
      if (i / u == at / u) neighbours.push_back(group[static_cast<std::size_t>(i)]);
    }
    if (around.front() == rank) {
      Add(sim::TaskClass::kContext, around, times * (forwards + 2 * backwards) * ring * (ring - 1) * keys);
    }
    if (neighbours.front() == rank) {
      Add(sim::TaskClass::kContext, neighbours, times * (forwards + backwards) * (u - 1) * heads);
    }
  }

  // Those that hold the same parameters, in order; from both ends, on two stages.
  std::vector<sim::Rank> Holders(sim::Rank rank) const {
    std::vector<sim::Rank> holders;
    for (const sim::Rank other : layout_.AllRanks()) {
      const std::int64_t stage = layout_.Coordinate(other, Dimension::kPipeline);
      const bool same = stage == stage_ || (both_ends() && stage == at_.pipeline.stages - 1 - stage_);
      const auto tensor = [&](sim::Rank r) { return layout_.Coordinate(r, Dimension::kTensor); };
      if (same && tensor(other) == tensor(rank)) holders.push_back(other);
    }
    return holders;
  }

  // Likewise those that hold the same experts.
  std::vector<sim::Rank> ExpertHolders(sim::Rank rank) const {
    std::vector<sim::Rank> holders = layout_.Group(rank, ExpertDimension::kExpertData);
    if (!both_ends()) return holders;
    const std::size_t own = holders.size();
    for (std::size_t i = 0; i < own; ++i) {
      const std::vector<sim::Rank> column = layout_.Group(holders[i], Dimension::kPipeline);
      holders.push_back(column[static_cast<std::size_t>(at_.pipeline.stages - 1 - stage_)]);
    }
    std::sort(holders.begin(), holders.end());
    return holders;
  }

  void AddData(sim::Rank rank) {
    const std::vector<sim::Rank> holders = Holders(rank);
    if (holders.front() == rank) AddCopies(holders, OfStage(), GatheredByUnit());
    if (!at_.spreads()) return;
    const std::vector<sim::Rank> experts = ExpertHolders(rank);
    if (experts.front() == rank) AddCopies(experts, OfSpreadExperts(), Gathers() * OfSpreadExperts());
  }

  // Neighbours share a copy; rank i of each copy reduces its share.
  void AddCopies(const std::vector<sim::Rank>& holders, std::int64_t parameters, std::int64_t gathered) {
    const std::int64_t copies = at_.data.copies, n = static_cast<std::int64_t>(holders.size()) / copies;
    const std::int64_t reductions = at_.cuts_gradients() && !piped() ? micro_batches() : 1;
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      const auto begin = holders.begin() + copy * n;
      AddShard({begin, begin + n}, parameters, reductions, gathered);
    }
    for (std::int64_t i = 0; i < n && copies > 1; ++i) {
      std::vector<sim::Rank> replicas;
      for (std::int64_t copy = 0; copy < copies; ++copy) {
        replicas.push_back(holders[static_cast<std::size_t>(copy * n + i)]);
      }
      Add(sim::TaskClass::kData, replicas,
          kSteps * reductions * 2 * (copies - 1) * kGradient * parameters / n);
    }
  }

  // One copy's gradients reduced or scattered, and its weights gathered.
  void AddShard(const std::vector<sim::Rank>& group, std::int64_t parameters, std::int64_t reductions,
                std::int64_t gathered) {
    const auto others = static_cast<std::int64_t>(group.size()) - 1;
    const std::int64_t ways = at_.data.sharding == std::string("NONE") ? 2 : 1;
    std::int64_t moved = kSteps * reductions * ways * others * kGradient * parameters;
    moved += GathersOnce() * others * kWeight * parameters;
    if (at_.cuts_weights()) moved += kSteps * others * kWeight * gathered;
    Add(sim::TaskClass::kData, group, moved);
  }

  std::int64_t StageOf(std::int64_t piece) const {
    const std::int64_t p = at_.pipeline.stages;
    return at_.pipeline.order == PieceOrder::kVee && piece >= p ? 2 * p - 1 - piece : piece % p;
  }

  // Each way over each boundary that lies between stages. From both ends the boundaries of one
  // direction are those of the other.
  void AddPipeline(sim::Rank rank) {
    const std::vector<sim::Rank> column = layout_.Group(rank, Dimension::kPipeline);
    if (column.front() != rank || at_.pipeline.stages == 1) return;
    const std::int64_t boundary = activations() / (at_.sequence ? at_.tensor : 1);
    const auto at = [&](std::int64_t stage) { return column[static_cast<std::size_t>(stage)]; };
    for (std::int64_t piece = 0; piece + 1 < pieces(); ++piece) {
      if (StageOf(piece) == StageOf(piece + 1)) continue;
      Add(sim::TaskClass::kPipeline, {at(StageOf(piece)), at(StageOf(piece + 1))},
          kSteps * at_.pipeline.micro_batches * 2 * boundary);
    }
    // A tied table is on two stages unless a stage has both ends of the model.
    if (at_.tied && at_.pipeline.order == PieceOrder::kLoop) {
      Add(sim::TaskClass::kEmbedding, {column.front(), column.back()}, kSteps * 2 * kGradient * OfTable());
    }
  }

  void AddExperts(sim::Rank rank) {
    const std::int64_t own = tokens() / at_.tensor;  // tokens that a rank takes to experts
    const std::int64_t row = kWeight * tiny::kHidden;
    std::int64_t ways = 0;  // out or home, a micro-batch
    ForEachLayer([&](std::int64_t layer, bool again) { ways += IsDense(layer) ? 0 : again ? 6 : 4; });
    ways *= kSteps * micro_batches();
    const auto add = [&](ExpertDimension d, std::int64_t moved) {
      const std::vector<sim::Rank> group = layout_.Group(rank, d);
      if (group.front() == rank) Add(sim::TaskClass::kExpert, group, ways * moved);
    };
    const std::int64_t e = at_.expert, t = at_.expert_tensor;
    if (at_.dispatcher == kDispatchers[1]) {
      // All tokens to all ranks that hold the layer's experts together.
      add(ExpertDimension::kExpertModel, (e * t - 1) * own * e * t * row);
    } else if (at_.dispatcher == kDispatchers[2]) {
      // One copy to each other rank visited, inside one node: a rank has E/e of the E experts and
      // misses both of two choices with (E - E/e)/E x (E - E/e - 1)/(E - 1).
      const double rest = static_cast<double>(tiny::kExperts - tiny::kExperts / e), all = tiny::kExperts;
      const double visited = static_cast<double>(e) * (1 - rest / all * (rest - 1) / (all - 1));
      const double sent =
          static_cast<double>(own) * visited * static_cast<double>(e - 1) / static_cast<double>(e);
      add(ExpertDimension::kExpert, e * std::llround(sent * static_cast<double>(row)));
    } else {
      const std::int64_t rows = own * tiny::kPerToken;
      add(ExpertDimension::kExpert, (e - 1) * rows * row);
      // Ranks that cut one expert gather one another's rows.
      add(ExpertDimension::kExpertTensor, (t - 1) * rows * t * row);
    }
  }

  const GridLayout& at_;
  const Layout& layout_;
  std::int64_t stage_ = 0;
  GroupBytes bytes_;
};

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_GROUP_BYTES_H_
