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
//   ZeRO-3    weights gathered in the forward and in the backward of every micro-batch

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
  static constexpr std::int64_t kActivations = 2 * tiny::kTokens * tiny::kHidden;

  void Add(sim::TaskClass purpose, std::vector<sim::Rank> group, std::int64_t moved) {
    if (group.size() < 2 || moved == 0) return;
    std::sort(group.begin(), group.end());
    bytes_[{purpose, group}] += moved;
  }

  std::int64_t pieces() const { return at_.stages * at_.chunks; }
  std::int64_t layers_of_piece() const { return tiny::kLayers / pieces(); }
  bool first() const { return stage_ == 0; }
  bool last() const { return stage_ == at_.stages - 1; }
  bool IsDense(std::int64_t layer) const { return !at_.has_experts() || layer == 0; }

  // Calls f(layer, runs again in the backward) for each layer of the stage.
  template <class F>
  void ForEachLayer(F&& f) const {
    for (std::int64_t piece = stage_; piece < pieces(); piece += at_.stages) {
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
  // The last stage has a copy of a tied table, unless it is also the first.
  std::int64_t OfHead() const { return tiny::kHidden + (at_.tied && at_.stages == 1 ? 0 : OfTable()); }
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
    const std::int64_t once = (at_.tensor - 1) * kActivations;  // one gather, or one scatter
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
    if (last()) a_micro_batch += (at_.sequence ? 3 : 2) * once + 3 * 2 * (at_.tensor - 1) * 4 * tiny::kTokens;
    // Norms and routers see a part of the tokens only.
    const std::int64_t a_step = at_.sequence ? 2 * (at_.tensor - 1) * kGradient * of_cut_tokens : 0;
    return kSteps * (at_.micro_batches() * a_micro_batch + a_step);
  }

  // Weights gathered before a step's forward; those before the first step are there.
  std::int64_t GathersOnce() const { return at_.gathers_once() ? (at_.overlap ? kSteps - 1 : kSteps) : 0; }

  // Parameters times how often a micro-batch gathers them: twice, but for the last unit,
  // which the backward begins with, and the table that it reads.
  std::int64_t GatheredByUnit() const { return 2 * OfStage() - OfHead() - (at_.tied ? OfTable() : 0); }

  void AddData(sim::Rank rank) {
    const std::vector<sim::Rank> data = layout_.Group(rank, Dimension::kData);
    const std::int64_t n = GridLayout::kData / at_.copies,
                       reductions = at_.cuts_gradients() ? at_.micro_batches() : 1;
    if (data.front() == rank) {
      for (std::int64_t copy = 0; copy < at_.copies; ++copy) {
        const auto begin = data.begin() + copy * n;
        AddShard({begin, begin + n}, OfStage(), reductions);
      }
      // Rank i of each copy reduces its share.
      for (std::int64_t i = 0; i < n && at_.copies > 1; ++i) {
        std::vector<sim::Rank> replicas;
        for (std::int64_t copy = 0; copy < at_.copies; ++copy) {
          replicas.push_back(data[static_cast<std::size_t>(copy * n + i)]);
        }
        Add(sim::TaskClass::kData, replicas,
            kSteps * reductions * 2 * (at_.copies - 1) * kGradient * OfStage() / n);
      }
    }
    if (!at_.spreads()) return;
    const std::vector<sim::Rank> experts = layout_.Group(rank, ExpertDimension::kExpertData);
    if (experts.front() == rank) AddShard(experts, OfSpreadExperts(), 1);
  }

  // One copy's gradients reduced or scattered, and its weights gathered.
  void AddShard(const std::vector<sim::Rank>& group, std::int64_t parameters, std::int64_t reductions) {
    const auto others = static_cast<std::int64_t>(group.size()) - 1;
    const std::int64_t ways = at_.sharding == std::string("NONE") ? 2 : 1;
    std::int64_t moved = kSteps * reductions * ways * others * kGradient * parameters;
    moved += GathersOnce() * others * kWeight * parameters;
    if (at_.cuts_weights()) moved += kSteps * at_.micro_batches() * others * kWeight * GatheredByUnit();
    Add(sim::TaskClass::kData, group, moved);
  }

  void AddPipeline(sim::Rank rank) {
    const std::vector<sim::Rank> column = layout_.Group(rank, Dimension::kPipeline);
    if (column.front() != rank || at_.stages == 1) return;
    const std::int64_t boundary = kActivations / (at_.sequence ? at_.tensor : 1);
    for (std::int64_t piece = 0; piece + 1 < pieces(); ++piece) {
      Add(sim::TaskClass::kPipeline,
          {column[static_cast<std::size_t>(piece % at_.stages)],
           column[static_cast<std::size_t>((piece + 1) % at_.stages)]},
          kSteps * at_.micro_batches() * 2 * boundary);
    }
    if (at_.tied)
      Add(sim::TaskClass::kEmbedding, {column.front(), column.back()}, kSteps * 2 * kGradient * OfTable());
  }

  void AddExperts(sim::Rank rank) {
    const std::int64_t own = tiny::kTokens / at_.tensor;  // tokens that a rank takes to experts
    const std::int64_t row = kWeight * tiny::kHidden;
    std::int64_t ways = 0;  // out or home, a micro-batch
    ForEachLayer([&](std::int64_t layer, bool again) { ways += IsDense(layer) ? 0 : again ? 6 : 4; });
    ways *= kSteps * at_.micro_batches();
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
