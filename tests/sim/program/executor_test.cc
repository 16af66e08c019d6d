#include "sim/program/executor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/random.h"
#include "sim/program/program_builder.h"

namespace sim {
namespace {

using namespace literals;
using testing::HasSubstr;

// Two ranks on one link of 1 GB/s each way.
class ExecutorTest : public testing::Test {
 protected:
  ProgramBuilder builder_{3, {1_GB_per_s, 1_GB_per_s}};

  StreamId Compute(std::uint32_t rank) { return builder_.AddStream(Rank(rank), StreamKind::kCompute); }
  StreamId Tensor(std::uint32_t rank) { return builder_.AddStream(Rank(rank), StreamKind::kTensor); }
  TaskId Work(StreamId stream, Duration time) { return Work(stream, {time, time}); }
  TaskId Work(StreamId stream, WorkTimes times) {
    return builder_.Work(stream, builder_.AddWork(times), TaskClass::kForward, {builder_.Name("work")});
  }
  TaskId Seat(StreamId stream, CommunicationId c) {
    return builder_.Seat(stream, c, TaskClass::kTensor, {builder_.Name("meet")});
  }
  CommunicationId Move(Bytes bytes, Duration latency = {}) {
    TrafficDescription traffic{.name = "move", .size = bytes, .latency = latency};
    if (bytes > 0_B) traffic.flows.push_back({.volume = Volume::Of(bytes), .uses = {{LinkId(0), 1}}});
    return builder_.AddCommunication(builder_.AddTraffic(traffic));
  }
  Timeline Run() {
    program_ = std::move(builder_).Build().value();
    return Simulate(program_).value();
  }
  static std::int64_t At(Time t) { return t.since_start().ps(); }

  Program program_;
};

TEST_F(ExecutorTest, TasksOfOneStreamRunOneAfterAnother) {
  const StreamId stream = Compute(0);
  const TaskId first = Work(stream, 5_ns), second = Work(stream, 7_ns);
  const Timeline timeline = Run();
  EXPECT_EQ(At(timeline.start[first.pos()]), 0);
  EXPECT_EQ(At(timeline.end[first.pos()]), 5'000);
  EXPECT_EQ(At(timeline.start[second.pos()]), 5'000);
  EXPECT_EQ(At(timeline.end[second.pos()]), 12'000);
}

TEST_F(ExecutorTest, StreamsRunSideBySideUntilADependencyHoldsOneBack) {
  const StreamId a = Compute(0), b = Compute(1);
  const TaskId slow = Work(a, 9_ns);
  Work(b, 2_ns);
  const TaskId held = Work(b, 1_ns);
  builder_.After(held, slow);
  const Timeline timeline = Run();
  EXPECT_EQ(At(timeline.start[held.pos()]), 9'000);
  EXPECT_EQ(At(timeline.finish), 10'000);
}

TEST_F(ExecutorTest, ACommunicationBeginsWithItsLastSeatAndEndsForAllAtOnce) {
  const StreamId a = Compute(0), at = Tensor(0), b = Compute(1), bt = Tensor(1);
  const CommunicationId c = Move(3_B, 10_ns);  // 10 ns of latency, then 3 B at 1 B/ns
  const TaskId early = Seat(at, c), late = Seat(bt, c);
  builder_.After(early, Work(a, 2_ns));
  builder_.After(late, Work(b, 6_ns));
  const Timeline timeline = Run();
  EXPECT_EQ(At(timeline.start[early.pos()]), 2'000);
  EXPECT_EQ(At(timeline.start[late.pos()]), 6'000);
  EXPECT_EQ(At(timeline.begin[0]), 6'000);
  EXPECT_EQ(At(timeline.end[early.pos()]), 19'000);
  EXPECT_EQ(At(timeline.end[late.pos()]), 19'000);
}

TEST_F(ExecutorTest, TwoFlowsOnOneLinkShareItAndTheSecondSpeedsUpAlone) {
  const CommunicationId small = Move(10_B), large = Move(30_B);
  Seat(Tensor(0), small);
  Seat(Tensor(1), large);
  const Timeline timeline = Run();
  // Half of 1 B/ns each until the small one ends at 20 ns; the large one has 20 B left.
  EXPECT_EQ(At(timeline.end[0]), 20'000);
  EXPECT_EQ(At(timeline.end[1]), 40'000);
}

TEST_F(ExecutorTest, WorkSlowsDownOnlyWhileACommunicationHoldsItsRanksSms) {
  // Rank 0 works 100 ns alone, 150 ns beside. Rank 1 comes late: the seat of rank 0
  // spins from 40 ns on and is through at 40 + 60 = 100 ns.
  const StreamId a = Compute(0);
  const TaskId warm = Work(a, 40_ns);
  const TaskId slowed = Work(a, {100_ns, 150_ns});
  const CommunicationId c = Move(10_B);
  builder_.After(Seat(Tensor(0), c), warm);
  builder_.After(Seat(Tensor(1), c), Work(Compute(1), 90_ns));
  const Timeline timeline = Run();
  // Beside for 60 of 150 ns: 40 % done. The other 60 % takes 60 ns alone.
  EXPECT_EQ(At(timeline.end[slowed.pos()]), 160'000);
}

// 16 and 8 SMs are 24: 100 ns alone, 130 beside 8, 140 beside 16, 160 beside 24, which is on the level of 24.
TEST_F(ExecutorTest, CommunicationsTakeTheirSmsTogether) {
  WorkTimes times(100_ns, 200_ns);
  times.beside[SmLevel(4)] = times.beside[SmLevel(8)] = times.beside[SmLevel(12)] = 130_ns;
  times.beside[SmLevel(16)] = times.beside[SmLevel(20)] = 140_ns;
  times.beside[SmLevel(24)] = 160_ns;
  const auto move = [&](std::int32_t sms, Bytes bytes) {
    TrafficDescription traffic{.name = "move", .size = bytes, .taken = {.sms = sms, .memory = 0}};
    traffic.flows.push_back({.volume = Volume::Of(bytes), .uses = {{LinkId(sms == 16 ? 0 : 1), 1}}});
    return builder_.AddCommunication(builder_.AddTraffic(traffic));
  };
  const TaskId work = Work(Compute(0), times);
  Seat(Tensor(0), move(16, 80_B));
  Seat(Tensor(0), move(8, 112_B));
  const Timeline timeline = Run();
  // Both until 80 ns: half is done. The other half takes 65 ns beside 8 SMs, which are free at 112 ns; then
  // 33 of 130 are left, which are 25.385 of 100.
  EXPECT_EQ(At(timeline.end[work.pos()]), 112'000 + (33'000 * 100 + 129) / 130);
}

// Memory is taken while bytes flow, not before: 10 ns of latency, then 40 ns at a half of the rate.
TEST_F(ExecutorTest, MemoryIsTakenWhileBytesFlow) {
  WorkTimes times(100_ns, 100_ns);
  times.memory = 60_ns;  // at half of the rate
  TrafficDescription traffic{
      .name = "move", .size = 40_B, .latency = 10_ns, .taken = {.sms = 4, .memory = kWholeMemory / 2}};
  traffic.flows.push_back({.volume = Volume::Of(40_B), .uses = {{LinkId(0), 1}}});
  const TaskId work = Work(Compute(0), times);
  Seat(Tensor(0), builder_.AddCommunication(builder_.AddTraffic(traffic)));
  const Timeline timeline = Run();
  // 10 ns alone; the other 90 take 144 beside it, of which 40 pass; 104 of 160 are left, 65 alone.
  EXPECT_EQ(At(timeline.end[work.pos()]), 50'000 + 65'000);
}

TEST(WorkTimes, CountSmsUpToTheNextLevelAndMemoryByWhatIsLeft) {
  EXPECT_EQ(SmLevel(1), 0u);
  EXPECT_EQ(SmLevel(4), 0u);
  EXPECT_EQ(SmLevel(5), 1u);
  EXPECT_EQ(SmLevel(24), 5u);
  EXPECT_EQ(SmLevel(1000), kSmsTaken.size() - 1);
  WorkTimes times(100_ns, 100_ns);
  times.memory = 10_ns;
  EXPECT_EQ(times.Beside({.sms = 0, .memory = 256}), 100_ns + Duration::Picoseconds(3'333));  // s/(1-s) = 1/3
  EXPECT_EQ(times.Beside({.sms = 9, .memory = 512}), 110_ns);
  EXPECT_EQ(times.Beside({.sms = 9, .memory = 5'000}), 130_ns);  // no more than three quarters
  EXPECT_EQ(times.longest(), 130_ns);
}

TEST_F(ExecutorTest, CopyEnginesSlowNothingDown) {
  const TaskId work = Work(Compute(0), {100_ns, 150_ns});
  TrafficDescription copy{.name = "copy", .size = 10_B, .taken = {}};
  copy.flows.push_back({.volume = Volume::Of(10_B), .uses = {{LinkId(0), 1}}});
  Seat(Tensor(0), builder_.AddCommunication(builder_.AddTraffic(copy)));
  const Timeline timeline = Run();
  EXPECT_EQ(At(timeline.end[work.pos()]), 100'000);
}

TEST_F(ExecutorTest, ZeroLengthTasksEndInTheInstantThatStartsThem) {
  const StreamId stream = Compute(0);
  const TaskId work = Work(stream, 5_ns);
  TaskId last = work;
  for (int i = 0; i < 100'000; ++i)
    last = builder_.Mark(stream, TaskClass::kStepEnd, {builder_.Name("mark")});
  const Timeline timeline = Run();
  EXPECT_EQ(At(timeline.end[last.pos()]), 5'000);
  EXPECT_EQ(timeline.events, 1u);
}

TEST_F(ExecutorTest, CrossedRendezvousIsADeadlockThatNamesRanksAndOperations) {
  const StreamId a = Tensor(0), b = Tensor(1);
  const CommunicationId first = Move(1_B), second = Move(1_B);
  builder_.Seat(a, first, TaskClass::kTensor, {builder_.Name("alpha")});
  builder_.Seat(a, second, TaskClass::kTensor, {builder_.Name("beta")});
  builder_.Seat(b, second, TaskClass::kTensor, {builder_.Name("beta")});
  builder_.Seat(b, first, TaskClass::kTensor, {builder_.Name("alpha")});
  const Program program = std::move(builder_).Build().value();
  const Result<Timeline> result = Simulate(program);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("deadlock: 0 of 4 tasks"));
  EXPECT_THAT(result.error().message, HasSubstr("in \"alpha\" rank 0 waits for rank 1 (at \"beta\")"));
  EXPECT_THAT(result.error().message, HasSubstr("in \"beta\" rank 1 waits for rank 0 (at \"alpha\")"));
}

TEST_F(ExecutorTest, TrafficBeyondTheClocksRangeIsRefusedNotWaitedFor) {
  Seat(Tensor(0), Move(Bytes(std::int64_t{1} << 60)));  // 1.15e18 B at 1e9 B/s: 36 years
  const Program program = std::move(builder_).Build().value();
  const Result<Timeline> result = Simulate(program);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("106 days"));
}

TEST_F(ExecutorTest, WorkBeyondTheClocksRangeIsRefusedAndNamed) {
  const StreamId stream = Compute(0);
  for (int day = 0; day < 200; ++day) Work(stream, 86'400'000_ms);
  const Program program = std::move(builder_).Build().value();
  const Result<Timeline> result = Simulate(program);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("\"work\" of rank 0 would end after more than the 106 days"));
}

TEST_F(ExecutorTest, ACycleOfDependenciesIsRefusedAndNamed) {
  const StreamId a = Compute(0), b = Compute(1);
  const TaskId x = Work(a, 1_ns), y = Work(b, 1_ns);
  builder_.After(x, y);
  builder_.After(y, x);
  const Result<Program> program = std::move(builder_).Build();
  ASSERT_FALSE(program.ok());
  EXPECT_THAT(program.error().message, HasSubstr("cycle: rank "));
}

TEST_F(ExecutorTest, AnEmptyProgramIsRefused) {  // HB-187
  EXPECT_FALSE(std::move(builder_).Build().ok());
}

TEST_F(ExecutorTest, DependenciesHoldAcrossStreams) {  // HB-185: 20 us, not 10
  const TaskId first = Work(Compute(0), 10_us), second = Work(Compute(1), 10_us);
  builder_.After(second, first);
  EXPECT_EQ(At(Run().finish), 20'000'000);
}

TEST_F(ExecutorTest, PrintsItselfAsText) {
  const StreamId a = Compute(0);
  const TaskId work = Work(a, 5_ns);
  const TaskId seat = Seat(Tensor(1), Move(7_B));
  builder_.After(seat, work);
  Run();
  EXPECT_EQ(ToText(program_),
            "0. rank 0 compute: work (forward) 5000 ps -> 1\n"
            "1. rank 1 tensor: meet (tensor) #0 move 7 B\n");
}

// A random program that can finish: tasks in one global order, each waiting only
// for earlier ones; a communication's seats are added side by side.
Program RandomProgram(std::uint64_t seed, bool reversed_links) {
  Random random(seed, "program");
  constexpr std::uint32_t kRanks = 4;
  ProgramBuilder builder(kRanks, {3_GB_per_s, 2_GB_per_s, 5_GB_per_s});
  std::vector<StreamId> compute, tensor;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    compute.push_back(builder.AddStream(Rank(r), StreamKind::kCompute));
    tensor.push_back(builder.AddStream(Rank(r), StreamKind::kTensor));
  }
  const Label label{builder.Name("t")};
  for (int i = 0; i < 40; ++i) {
    std::vector<TaskId> added;
    if (random.Below(2) == 0) {
      const Duration alone = Duration::Picoseconds(random.Between(0, 9'000));
      const Duration slower =
          alone == Duration() ? alone : alone + Duration::Picoseconds(random.Between(0, 5'000));
      const WorkId work = builder.AddWork({alone, slower});
      added.push_back(builder.Work(compute[random.Below(kRanks)], work, TaskClass::kForward, label));
    } else {
      TrafficDescription traffic{.name = "m", .size = 9_B};
      std::vector<Use> uses = {{LinkId(random.Below(3)), 1 + random.Below(3)}};
      const LinkId other(random.Below(3));
      if (other != uses[0].link) uses.push_back({other, 1});
      if (reversed_links) std::reverse(uses.begin(), uses.end());
      traffic.flows.push_back(
          {.volume = Volume::Of(Bytes(random.Between(0, 50))), .uses = uses, .weight_denominator = 2});
      const CommunicationId c = builder.AddCommunication(builder.AddTraffic(traffic));
      const std::uint32_t first = random.Below(kRanks);
      for (std::uint32_t k = 0; k < 1 + random.Below(kRanks); ++k) {
        added.push_back(builder.Seat(tensor[(first + k) % kRanks], c, TaskClass::kTensor, label));
      }
    }
    const std::uint32_t earlier = added.front().value();
    for (const TaskId task : added) {
      if (earlier > 0 && random.Below(2) == 0) builder.After(task, TaskId(random.Below(earlier)));
    }
  }
  return std::move(builder).Build().value();
}

TEST(Executor, RandomProgramsObeyStreamsDependenciesAndRendezvous) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Program program = RandomProgram(seed, false);
    const Timeline t = Simulate(program).value();
    for (std::size_t i = 0; i < program.tasks(); ++i) {
      EXPECT_LE(t.start[i], t.end[i]);
      const TaskId next = program.next_in_stream(TaskId(i));
      if (next.valid()) {
        EXPECT_LE(t.end[i], t.start[next.pos()]);
      }
      program.ForEachSuccessor(TaskId(i), [&](TaskId after) { EXPECT_LE(t.end[i], t.start[after.pos()]); });
      if (program.row(TaskId(i)).kind != TaskKind::kSeat) continue;
      const CommunicationId c = program.communication_of(TaskId(i));
      EXPECT_LE(t.start[i], t.begin[c.pos()]);
      EXPECT_EQ(t.end[i], t.end[program.seats_of(c).front().pos()]);
    }
  }
}

TEST(Executor, TheSameProgramGivesTheSameDigestAndTheOrderOfLinksDoesNotMatter) {  // HB-228
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::string digest = Simulate(RandomProgram(seed, false)).value().digest;
    EXPECT_EQ(digest, Simulate(RandomProgram(seed, false)).value().digest);
    EXPECT_EQ(digest, Simulate(RandomProgram(seed, true)).value().digest);
  }
}

}  // namespace
}  // namespace sim
