// Orders run over streams as the simulation has them: a send or receive takes its
// place in a stream, and nothing behind it moves until its partner is there too.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <tuple>

#include "sim/schedule/pipeline_order.h"

namespace sim {
namespace {

enum class Streams { kOneAPartner, kOneForAllPartners };

// Whether an order comes to its end. Each stage has a stream for each of sends and
// receives, of inputs and of gradients; one, or one for every partner.
class Rendezvous {
 public:
  Rendezvous(const PipelineOrder& order, Streams streams) : order_(order), streams_(streams) {
    next_.resize(order.stages.size());
    std::map<StepNeed, std::size_t> ids;  // of a transfer, by what it carries
    const auto id_of = [&](const StepNeed& what) { return ids.emplace(what, ids.size()).first->second; };
    for (std::uint32_t stage = 0; stage < order.stages.size(); ++stage) {
      for (const PipelineStep& step : order.stages[stage]) {
        for (const StepNeed& need : NeedsOf(order, stage, step)) {
          if (const std::uint32_t from = StageOf(need); from != stage)
            Queue(stage, from, need, false, id_of(need));
        }
        const auto made = MadeBy(order, stage, step);
        if (made && HasTaker(*made)) {
          if (const std::uint32_t to = TakerOf(*made); to != stage)
            Queue(stage, to, *made, true, id_of(*made));
        }
      }
    }
  }

  bool Runs() {
    for (bool moved = true; moved;) {
      moved = Transfer();
      for (std::uint32_t stage = 0; stage < next_.size(); ++stage) {
        while (next_[stage] < order_.stages[stage].size() && Step(stage)) moved = true;
      }
    }
    for (std::size_t stage = 0; stage < next_.size(); ++stage) {
      if (next_[stage] < order_.stages[stage].size()) return false;
    }
    return true;
  }

 private:
  struct Stream {
    std::vector<std::size_t> queue;
    std::size_t head = 0;
  };
  struct Ends {
    StepNeed what;
    std::tuple<std::uint32_t, bool, bool, std::uint32_t> streams[2];  // receiver's, sender's
  };

  std::uint32_t StageOf(const StepNeed& what) const {
    return SeatOf(order_.placement, order_.shape, what.piece, what.microbatch).stage;
  }
  bool HasTaker(const StepNeed& made) const {
    return made.gradient ? made.piece > 0 : made.piece + 1 < PieceCount(order_.placement, order_.shape);
  }
  std::uint32_t TakerOf(StepNeed made) const {
    made.piece = made.gradient ? made.piece - 1 : made.piece + 1;
    return StageOf(made);
  }

  void Queue(std::uint32_t stage, std::uint32_t partner, const StepNeed& what, bool sends, std::size_t id) {
    const auto key = std::tuple(stage, sends, what.gradient,
                                streams_ == Streams::kOneAPartner ? partner : std::uint32_t{0});
    streams_by_key_[key].queue.push_back(id);
    if (id >= transfers_.size()) transfers_.resize(id + 1);
    transfers_[id].what = what;
    transfers_[id].streams[sends ? 1 : 0] = key;
  }

  // Everything made whose two ends are both at the head of their streams.
  bool Transfer() {
    bool moved = false;
    for (auto& [key, sender] : streams_by_key_) {
      if (!std::get<1>(key)) continue;
      while (sender.head < sender.queue.size()) {
        const std::size_t id = sender.queue[sender.head];
        Stream& receiver = streams_by_key_[transfers_[id].streams[0]];
        if (made_.count(transfers_[id].what) == 0 || receiver.queue[receiver.head] != id) break;
        ++sender.head;
        ++receiver.head;
        there_.insert(transfers_[id].what);
        moved = true;
      }
    }
    return moved;
  }

  // One step, or two that are joined.
  bool Step(std::uint32_t stage) {
    const std::vector<PipelineStep>& steps = order_.stages[stage];
    const std::size_t first = next_[stage], end = first + (steps[first].joined ? 2 : 1);
    for (std::size_t i = first; i < end; ++i) {
      for (const StepNeed& need : NeedsOf(order_, stage, steps[i])) {
        if ((StageOf(need) == stage ? made_ : there_).count(need) == 0) return false;
      }
    }
    for (std::size_t i = first; i < end; ++i) {
      if (const auto made = MadeBy(order_, stage, steps[i])) made_.insert(*made);
    }
    next_[stage] = end;
    return true;
  }

  const PipelineOrder& order_;
  Streams streams_;
  std::map<std::tuple<std::uint32_t, bool, bool, std::uint32_t>, Stream> streams_by_key_;
  std::vector<Ends> transfers_;
  std::vector<std::size_t> next_;
  std::set<StepNeed> made_, there_;
};

bool Runs(const PipelineSchedule& schedule, const PipelineShape& shape, Streams streams) {
  const PipelineOrder order = OrderOf(schedule, shape);
  return Rendezvous(order, streams).Runs();
}

TEST(EverySchedule, RunsOverAStreamAPartnerWhoseTransfersWaitInOrder) {
  for (const PipelineSchedule* schedule : PipelineSchedules()) {
    for (std::uint32_t p = 1; p <= 8; ++p) {
      for (const std::uint32_t m : {1U, 2U, p, 2 * p, 2 * p + 2, 3 * p}) {
        const PipelineShape shape{p, m, schedule->chunks, 0, schedule->parts};
        if (schedule->refuse(shape)) continue;
        ASSERT_TRUE(Runs(*schedule, shape, Streams::kOneAPartner))
            << schedule->name << " p " << p << " m " << m;
      }
    }
  }
}

// Why the streams are apart: in a V a stage sends both ways.
TEST(ZeroBubbleV, BlocksFromSixStagesOnIfOneStreamSendsToBothPartners) {
  for (const char* name : {"zbv", "dualpipev"}) {
    const PipelineSchedule& schedule = *FindPipelineSchedule(name);
    EXPECT_TRUE(Runs(schedule, {4, 10, 2}, Streams::kOneForAllPartners)) << name;
    EXPECT_FALSE(Runs(schedule, {6, 14, 2}, Streams::kOneForAllPartners)) << name;
    EXPECT_TRUE(Runs(schedule, {6, 14, 2}, Streams::kOneAPartner)) << name;
  }
}

}  // namespace
}  // namespace sim
