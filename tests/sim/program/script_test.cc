// Scripts: rows that several ranks share, and tasks that each has for itself.

#include <gtest/gtest.h>

#include <map>

#include "sim/base/random.h"
#include "sim/program/executor.h"
#include "sim/program/program_builder.h"

namespace sim {
namespace {

using namespace literals;

struct Job {
  std::uint32_t ranks = 6, kinds = 2;  // rank r does as all ranks do that leave the same rest by `kinds`
  bool share = true;
  std::uint64_t seed = 1;
};

// Each rank computes and communicates at random: with a neighbour of its kind on
// one stream, with all ranks on another. All that is random depends on the kind alone.
Program Build(const Job& job) {
  ProgramBuilder builder(job.ranks, std::vector<ByteRate>(job.ranks, 3_GB_per_s));
  const std::uint16_t name = builder.Name("task");
  std::map<std::pair<std::uint32_t, int>, CommunicationId> pairs;
  std::map<int, CommunicationId> all;
  const auto meet = [&](auto& table, auto key, Bytes size, std::uint32_t link) {
    const auto [at, is_new] = table.try_emplace(key);
    if (is_new) {
      TrafficDescription traffic{.name = "move", .size = size, .latency = 2_ns};
      traffic.flows.push_back({.volume = Volume::Of(size), .uses = {{LinkId(link), 1}}});
      at->second = builder.AddCommunication(builder.AddTraffic(traffic));
    }
    return at->second;
  };
  for (std::uint32_t rank = 0; rank < job.ranks; ++rank) {
    Random random(job.seed, "kind " + std::to_string(rank % job.kinds));
    const StreamId compute = builder.AddStream(Rank(rank), StreamKind::kCompute);
    const StreamId tensor = builder.AddStream(Rank(rank), StreamKind::kTensor);
    const StreamId data = builder.AddStream(Rank(rank), StreamKind::kData);
    const std::uint32_t pair = rank / (2 * job.kinds) * job.kinds + rank % job.kinds;
    for (int i = 0; i < 40; ++i) {
      const Duration alone = Duration::Nanoseconds(1 + random.Below(20));
      const Label label{name, static_cast<std::int16_t>(i)};
      const TaskId work =
          builder.Work(compute, builder.AddWork({alone, alone + 3_ns}), TaskClass::kForward, label);
      const CommunicationId c = meet(pairs, std::pair(pair, i), Bytes(1 + random.Below(50)), pair);
      const TaskId seat = builder.Seat(tensor, c, TaskClass::kTensor, label);
      builder.After(seat, work);
      if (random.Below(2) == 0) {
        builder.After(builder.Work(compute, builder.AddWork({1_ns, 1_ns}), TaskClass::kBackward, label),
                      seat);
      }
      if (i % 10 == 9)
        builder.After(builder.Seat(data, meet(all, i, 30_B, 0), TaskClass::kData, label), seat);
    }
    if (job.share) builder.CloseScript();
  }
  return std::move(builder).Build().value();
}

// What happens on each stream in its order, which does not depend on ids.
std::vector<std::vector<std::pair<Time, Time>>> TimesByStream(const Program& program,
                                                              const Timeline& timeline) {
  std::vector<std::vector<std::pair<Time, Time>>> times;
  for (const TaskId head : program.stream_head) {
    times.emplace_back();
    for (TaskId t = head; t.valid(); t = program.next_in_stream(t))
      times.back().emplace_back(timeline.start[t.pos()], timeline.end[t.pos()]);
  }
  return times;
}

TEST(Script, RanksThatDoTheSameShareTheirRows) {
  const Program program = Build({.ranks = 12, .kinds = 3});
  ASSERT_EQ(program.scripts.size(), 3u);
  std::size_t rows = 0;
  for (const Script& script : program.scripts) {
    EXPECT_EQ(script.players, 4u);
    rows += script.rows;
  }
  EXPECT_EQ(program.rows.size(), rows);
  EXPECT_EQ(program.tasks(), 4 * rows);
}

TEST(Script, RanksThatDifferInOneTaskDoNot) { EXPECT_EQ(Build({.ranks = 6, .kinds = 6}).scripts.size(), 6u); }

TEST(Script, SharingChangesNoTime) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(seed);
    Job job{.ranks = 12, .kinds = static_cast<std::uint32_t>(1 + seed % 4), .share = true, .seed = seed};
    const Program shared = Build(job);
    job.share = false;
    const Program whole = Build(job);
    EXPECT_EQ(whole.scripts.size(), 1u);
    const Timeline a = Simulate(shared).value(), b = Simulate(whole).value();
    EXPECT_EQ(a.digest, b.digest);
    EXPECT_EQ(TimesByStream(shared, a), TimesByStream(whole, b));
  }
}

TEST(Script, EveryTaskHasOnePlace) {
  const Program program = Build({.ranks = 30, .kinds = 7});
  std::uint32_t next = 0;
  program.ForEachTask([&](TaskId task, const Place& at) {
    EXPECT_EQ(task.value(), next++);
    EXPECT_EQ(at.task(), task);
    const Place found = program.PlaceOf(task);
    EXPECT_EQ(found.script, at.script);
    EXPECT_EQ(found.row, at.row);
    EXPECT_EQ(found.player, at.player);
  });
  EXPECT_EQ(next, program.tasks());
}

// Written 1, 2, 3 and put as 3, 1, 2: each ends when those before it on the stream have.
TEST(Script, HeldTasksRunInTheOrderInWhichTheyArePut) {
  ProgramBuilder builder(1, {});
  const StreamId stream = builder.AddStream(Rank(0), StreamKind::kCompute);
  builder.Hold();
  for (const Duration d : {1_ns, 10_ns, 100_ns}) {
    builder.Work(stream, builder.AddWork({d, d}), TaskClass::kForward, {});
  }
  EXPECT_FALSE(builder.Last(stream).valid());
  builder.Enqueue(2, 3);
  builder.Enqueue(0, 2);
  builder.Release();
  EXPECT_EQ(builder.Last(stream), TaskId(1));
  const Program program = std::move(builder).Build().value();
  EXPECT_EQ(program.stream_head[0], TaskId(2));
  EXPECT_EQ(Simulate(program).value().end,
            (std::vector<Time>{Time() + 101_ns, Time() + 111_ns, Time() + 100_ns}));
}

TEST(Script, SeatsAndTheirCommunicationsFindEachOther) {
  const Program program = Build({.ranks = 8, .kinds = 2});
  std::size_t seats = 0;
  for (std::size_t c = 0; c < program.communications.size(); ++c) {
    for (const TaskId seat : program.seats_of(CommunicationId(c))) {
      EXPECT_EQ(program.communication_of(seat).pos(), c);
      ++seats;
    }
  }
  // By construction a rank sits in 40 communications of its pair and 4 of all.
  EXPECT_EQ(seats, 8u * 44u);
}

// The row, its link to one later task and its seat in both directions. Rows that ranks
// share cost less.
TEST(Script, ATaskThatNobodySharesTakesAtMost60Bytes) {
  EXPECT_LE(sizeof(TaskRow) + sizeof(std::uint32_t) + sizeof(TaskId) + sizeof(CommunicationId), 60u);
}

TEST(ScriptDeathTest, TasksOfAClosedScriptAreNotToBeNamed) {
  ProgramBuilder builder(1, {});
  const WorkId work = builder.AddWork({1_ns, 1_ns});
  const StreamId stream = builder.AddStream(Rank(0), StreamKind::kCompute);
  const TaskId early = builder.Work(stream, work, TaskClass::kForward, {});
  builder.CloseScript();
  EXPECT_DEATH(builder.Work(stream, work, TaskClass::kForward, {}), "");
  const TaskId late =
      builder.Work(builder.AddStream(Rank(0), StreamKind::kCompute), work, TaskClass::kForward, {});
  EXPECT_DEATH(builder.After(late, early), "");
}

}  // namespace
}  // namespace sim
