#include "sim/analysis/breakdown.h"

#include <gtest/gtest.h>

#include "sim/analysis/step.h"
#include "sim/program/executor.h"
#include "sim/program/program_builder.h"
#include "tests/sim/analysis/hand_made.h"
#include "tests/sim/analysis/random_program.h"

namespace sim {
namespace {

Duration Ps(std::int64_t n) { return Duration::Picoseconds(n); }

// A rank with one stream of each kind that is asked for.
class Job {
 public:
  explicit Job(std::uint32_t ranks) : builder_(ranks, {}) {}
  StreamId Stream(int rank, StreamKind kind) { return builder_.AddStream(Rank(rank), kind); }
  TaskId Work(StreamId stream, TaskClass c, Span span) {
    return Put(builder_.Work(stream, builder_.AddWork({Ps(1), Ps(1)}), c, {builder_.Name("work"), -1, -1}),
               span);
  }
  TaskId Mark(StreamId stream, std::int64_t at) {
    return Put(builder_.Mark(stream, TaskClass::kStepEnd, {builder_.Name("end"), -1, 0}), {at, at});
  }
  CommunicationId Communication(std::int64_t begin) {
    begin_.push_back(begin);
    return builder_.AddCommunication(builder_.AddTraffic(Latency("move")));
  }
  TaskId Seat(StreamId stream, CommunicationId communication, TaskClass c, Span span) {
    return Put(builder_.Seat(stream, communication, c, {builder_.Name("seat"), -1, -1}), span);
  }
  void After(TaskId task, TaskId earlier) { builder_.After(task, earlier); }

  Breakdown Of(int rank, Interval window) && {
    const Program program = std::move(builder_).Build().value();
    return BreakdownOf(program, HandMade(program, spans_, begin_), FindPredecessors(program), Rank(rank),
                       window);
  }

 private:
  TaskId Put(TaskId task, Span span) {
    spans_.push_back(span);
    return task;
  }
  ProgramBuilder builder_;
  std::vector<Span> spans_;
  std::vector<std::int64_t> begin_;
};

TEST(Breakdown, CountsWorkByItsCauseAndTheEndAsOther) {
  Job job(1);
  const StreamId compute = job.Stream(0, StreamKind::kCompute);
  job.Work(compute, TaskClass::kForward, {0, 10});
  job.Work(compute, TaskClass::kRecompute, {10, 13});
  job.Work(compute, TaskClass::kBackward, {13, 33});
  job.Work(compute, TaskClass::kOptimizer, {33, 40});
  const Breakdown b = std::move(job).Of(0, {At(5), At(42)});
  EXPECT_EQ(b.of(Cause::kCompute), Ps(5 + 20));
  EXPECT_EQ(b.of(Cause::kRecompute), Ps(3));
  EXPECT_EQ(b.of(Cause::kOptimizer), Ps(7));
  EXPECT_EQ(b.of(Cause::kOther), Ps(2));
  EXPECT_EQ(b.total(), Ps(37));
}

// Forward [0,10); its all-reduce arrives at 10, a straggler comes at 12, done at
// 15; then work. Both the wait and the transfer are exposed tensor communication.
TEST(Breakdown, CountsAnExposedAllReduceAndItsWaitForAStragglerByClass) {
  Job job(1);
  const StreamId compute = job.Stream(0, StreamKind::kCompute), tensor = job.Stream(0, StreamKind::kTensor);
  const TaskId forward = job.Work(compute, TaskClass::kForward, {0, 10});
  const TaskId reduce = job.Seat(tensor, job.Communication(12), TaskClass::kTensor, {10, 15});
  const TaskId next = job.Work(compute, TaskClass::kForward, {15, 20});
  job.After(reduce, forward);
  job.After(next, reduce);
  const Breakdown b = std::move(job).Of(0, {At(0), At(20)});
  EXPECT_EQ(b.of(Cause::kCompute), Ps(15));
  EXPECT_EQ(b.of(Cause::kTensor), Ps(5));
}

// The receive is posted at 0, the sender is ready at 26, the bytes are there at
// 30: idle in [10,30), of which 16 wait for the stage and 4 for the wire. What
// the seat waited before 10 was hidden behind work.
TEST(Breakdown, CallsWaitingForAStageBubbleAndTheTransferPipeline) {
  Job job(1);
  const StreamId compute = job.Stream(0, StreamKind::kCompute),
                 from = job.Stream(0, StreamKind::kFromPrevious);
  job.Work(compute, TaskClass::kForward, {0, 10});
  const TaskId receive = job.Seat(from, job.Communication(26), TaskClass::kPipeline, {0, 30});
  job.After(job.Work(compute, TaskClass::kForward, {30, 40}), receive);
  const Breakdown b = std::move(job).Of(0, {At(0), At(40)});
  EXPECT_EQ(b.of(Cause::kBubble), Ps(16));
  EXPECT_EQ(b.of(Cause::kPipeline), Ps(4));
  EXPECT_EQ(b.of(Cause::kCompute), Ps(20));
}

// Idle in [10,30): the data loader works to 18, then a copy to 25, then the
// gradient norm to 30. A checkpoint that ends at 28 is not what was waited for.
TEST(Breakdown, FollowsTheChainThatEndedLast) {
  Job job(1);
  const StreamId compute = job.Stream(0, StreamKind::kCompute), host = job.Stream(0, StreamKind::kHost);
  const StreamId copy = job.Stream(0, StreamKind::kCopyIn), out = job.Stream(0, StreamKind::kCopyOut);
  const StreamId data = job.Stream(0, StreamKind::kData);
  job.Work(compute, TaskClass::kForward, {0, 10});
  const TaskId load = job.Work(host, TaskClass::kLoad, {4, 18});
  const TaskId arrive = job.Work(copy, TaskClass::kCheckpoint, {18, 25});
  const TaskId norm = job.Seat(data, job.Communication(25), TaskClass::kNorm, {25, 30});
  const TaskId checkpoint = job.Work(out, TaskClass::kCheckpoint, {0, 28});
  const TaskId next = job.Work(compute, TaskClass::kOptimizer, {30, 31});
  job.After(arrive, load);
  job.After(norm, arrive);
  job.After(next, norm);
  job.After(next, checkpoint);
  const Breakdown b = std::move(job).Of(0, {At(0), At(31)});
  EXPECT_EQ(b.of(Cause::kLoad), Ps(8));
  EXPECT_EQ(b.of(Cause::kCheckpoint), Ps(7));
  EXPECT_EQ(b.of(Cause::kNorm), Ps(5));
  EXPECT_EQ(b.total(), Ps(31));
}

TEST(Breakdown, CountsWorkOfAnotherRankThatIsWaitedForAsBubble) {
  Job job(2);
  const StreamId mine = job.Stream(0, StreamKind::kCompute), other = job.Stream(1, StreamKind::kCompute);
  const TaskId work = job.Work(other, TaskClass::kForward, {0, 8});
  job.After(job.Work(mine, TaskClass::kForward, {8, 9}), work);
  const Breakdown b = std::move(job).Of(0, {At(0), At(9)});
  EXPECT_EQ(b.of(Cause::kBubble), Ps(8));
}

TEST(Breakdown, CutsAtTheWindowThoughTheChainGoesOn) {
  Job job(1);
  const StreamId compute = job.Stream(0, StreamKind::kCompute), tensor = job.Stream(0, StreamKind::kTensor);
  const TaskId reduce = job.Seat(tensor, job.Communication(0), TaskClass::kTensor, {0, 30});
  job.After(job.Work(compute, TaskClass::kForward, {30, 50}), reduce);
  const Breakdown b = std::move(job).Of(0, {At(10), At(20)});
  EXPECT_EQ(b.of(Cause::kTensor), Ps(10));
  EXPECT_EQ(b.total(), Ps(10));
}

TEST(LeastIdleRank, IsTheBusiestOnItsComputeStreamAndOfEqualsTheLowest) {
  ProgramBuilder builder(4, {});
  const WorkId work = builder.AddWork({Ps(1), Ps(1)});
  const std::uint16_t name = builder.Name("work");
  for (int r = 0; r < 4; ++r) {
    builder.Work(builder.AddStream(Rank(r), StreamKind::kCompute), work, TaskClass::kForward, {name, -1, -1});
    builder.Work(builder.AddStream(Rank(r), StreamKind::kHost), work, TaskClass::kLoad, {name, -1, -1});
  }
  const Program program = std::move(builder).Build().value();
  const Timeline timeline =
      HandMade(program, {{0, 4}, {0, 20}, {0, 9}, {0, 0}, {1, 10}, {0, 0}, {0, 8}, {0, 20}});
  EXPECT_EQ(LeastIdleRank(program, timeline, {At(0), At(20)}), Rank(1));
  // In [9,20) only rank 2 still computes.
  EXPECT_EQ(LeastIdleRank(program, timeline, {At(9), At(20)}), Rank(2));
}

TEST(RankTimes, TellTransfersFromWaiting) {
  ProgramBuilder builder(1, {});
  const StreamId data = builder.AddStream(Rank(0), StreamKind::kData);
  const CommunicationId c = builder.AddCommunication(builder.AddTraffic(Latency("all-reduce")));
  builder.Seat(data, c, TaskClass::kData, {builder.Name("seat"), -1, -1});
  const Program program = std::move(builder).Build().value();
  const RankTimes row = RankTimesOf(program, HandMade(program, {{2, 10}}, {6}), {At(3), At(9)})[0];
  EXPECT_EQ(row.waiting, Ps(3));
  EXPECT_EQ(row.by_class[static_cast<std::size_t>(TaskClass::kData)], Ps(3));
  EXPECT_EQ(row.compute_busy, Ps(0));
}

// The slow oracle: what the definition says of one instant.
Cause CauseAt(const Program& program, const Timeline& timeline, const Predecessors& predecessors, Rank rank,
              Time t) {
  const auto covers = [&](TaskId task) {
    return timeline.start[task.pos()] <= t && t < timeline.end[task.pos()];
  };
  TaskId at = TaskId::None();
  for (std::size_t i = 0; i < program.tasks(); ++i) {
    const bool compute = program.stream_kind_of(TaskId(i)) == StreamKind::kCompute;
    if (!compute || program.rank_of(TaskId(i)) != rank || timeline.end[i] <= t) continue;
    at = TaskId(i);  // tasks of a stream are numbered in its order: the first that has not ended
    break;
  }
  while (at.valid() && !covers(at)) at = LatestPredecessor(program, timeline, predecessors, at);
  if (!at.valid()) return Cause::kOther;
  const TaskClass task_class = program.row(at).task_class;
  if (program.row(at).kind != TaskKind::kSeat) {
    return program.rank_of(at) == rank ? CauseOf(task_class) : Cause::kBubble;
  }
  if (t >= timeline.begin[program.communication_of(at).pos()]) return CauseOf(task_class);
  bool pipelined = false;  // the rank has to do with other stages
  for (std::size_t i = 0; i < program.tasks(); ++i) {
    const bool sends =
        program.row(TaskId(i)).task_class == TaskClass::kPipeline && program.rank_of(TaskId(i)) == rank;
    pipelined = pipelined || sends;
  }
  const bool crosses = task_class == TaskClass::kNorm || task_class == TaskClass::kEmbedding;
  const bool bubble = task_class == TaskClass::kPipeline || (crosses && pipelined);
  return bubble ? Cause::kBubble : CauseOf(task_class);
}

// Ranks of one stage that wait for each other's last gradients are late; where
// there are stages, it is the drain of the pipeline that they wait for.
TEST(Breakdown, WaitingForTheGradientNormIsBubbleWhereThereAreStages) {
  for (const bool pipelined : {false, true}) {
    Job job(1);
    const StreamId compute = job.Stream(0, StreamKind::kCompute), data = job.Stream(0, StreamKind::kData);
    if (pipelined) {
      job.Seat(job.Stream(0, StreamKind::kToNext), job.Communication(0), TaskClass::kPipeline, {0, 1});
    }
    const TaskId norm = job.Seat(data, job.Communication(7), TaskClass::kNorm, {0, 10});
    job.After(job.Work(compute, TaskClass::kOptimizer, {10, 11}), norm);
    const Breakdown b = std::move(job).Of(0, {At(0), At(11)});
    EXPECT_EQ(b.of(Cause::kBubble), Ps(pipelined ? 7 : 0));
    EXPECT_EQ(b.of(Cause::kNorm), Ps(pipelined ? 3 : 10));
  }
}

TEST(Breakdown, EqualsALookAtEachPicosecondAndAddsUpForEveryRank) {
  Breakdown all;  // so that no cause goes untested
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = RandomProgram(seed, 2);
    const Timeline timeline = Simulate(program).value();
    const Predecessors predecessors = FindPredecessors(program);
    const Interval window = FindSteps(program, timeline).period;
    for (std::uint32_t r = 0; r < program.ranks; ++r) {
      const Breakdown b = BreakdownOf(program, timeline, predecessors, Rank(r), window);
      ASSERT_EQ(b.total(), window.length());
      Breakdown slow;
      for (Time t = window.from; t < window.to; t = t + Ps(1)) {
        slow.time[static_cast<std::size_t>(CauseAt(program, timeline, predecessors, Rank(r), t))] += Ps(1);
      }
      for (int c = 0; c < kCauses; ++c) {
        all.time[static_cast<std::size_t>(c)] += b.of(static_cast<Cause>(c));
        ASSERT_EQ(b.of(static_cast<Cause>(c)), slow.of(static_cast<Cause>(c)))
            << ToText(static_cast<Cause>(c));
      }
    }
  }
  for (const Cause c : {Cause::kCompute, Cause::kRecompute, Cause::kOptimizer, Cause::kTensor, Cause::kExpert,
                        Cause::kPipeline, Cause::kData, Cause::kEmbedding, Cause::kNorm, Cause::kBubble}) {
    EXPECT_GT(all.of(c), Ps(0)) << ToText(c);
  }
}

}  // namespace
}  // namespace sim
