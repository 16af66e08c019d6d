// Properties of every run, on programs made of arbitrary bytes. rapidcheck
// shrinks what fails; RC_PARAMS="max_success=100000" looks further.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdint>
#include <vector>

#include "sim/program/executor.h"
#include "tests/sim/program/plain_player.h"
#include "tests/sim/program/program_from_bytes.h"
#include "tests/sim/program/run_rules.h"

namespace sim {
namespace {

// Long enough for some tens of tasks.
rc::Gen<std::vector<std::uint8_t>> Bytes() {
  return rc::gen::withSize(
      [](int size) { return rc::gen::resize(size * 4, rc::gen::arbitrary<std::vector<std::uint8_t>>()); });
}

void ExpectAsPlain(const Program& program) {
  const PlainTimeline plain = PlayPlainly(program);
  const Result<Timeline> timeline = Simulate(program);
  RC_ASSERT(timeline.ok() == plain.finished);
  RC_CLASSIFY(!timeline.ok(), "deadlock");
  RC_CLASSIFY(timeline.ok() && program.tasks() >= 20, "20 tasks or more");
  if (!timeline.ok()) return;
  RC_ASSERT(timeline.value().start == plain.start);
  RC_ASSERT(timeline.value().end == plain.end);
  RC_ASSERT(timeline.value().begin == plain.begin);
}

RC_GTEST_PROP(Executor, GivesWhatThePlainPlayerGives, ()) {
  const Result<Program> program = ProgramFromBytes(*Bytes(), {.constant_speed = true, .acyclic = true});
  RC_PRE(program.ok());
  ExpectAsPlain(program.value());
}

RC_GTEST_PROP(Executor, GivesWhatThePlainPlayerGivesWhereRanksShareRows, ()) {
  const Result<Program> program = ScriptsFromBytes(*Bytes());
  RC_PRE(program.ok());
  RC_CLASSIFY(program.value().scripts.size() < program.value().ranks, "shared");
  ExpectAsPlain(program.value());
}

RC_GTEST_PROP(Executor, KeepsOrderAndWaitsWhateverTheSpeedOfWork, ()) {
  const Result<Program> program = ProgramFromBytes(*Bytes(), {.constant_speed = false, .acyclic = true});
  RC_PRE(program.ok());
  const Result<Timeline> timeline = Simulate(program.value(), {.log_rates = true});
  RC_PRE(timeline.ok());
  RC_ASSERT(FaultsOf(program.value(), timeline.value()) == "");
}

RC_GTEST_PROP(Executor, GivesTheSameTwice, ()) {
  const Result<Program> program = ProgramFromBytes(*Bytes(), {.constant_speed = false, .acyclic = true});
  RC_PRE(program.ok());
  const Result<Timeline> once = Simulate(program.value()), twice = Simulate(program.value());
  RC_ASSERT(once.ok() == twice.ok());
  if (once.ok()) RC_ASSERT(once.value().digest == twice.value().digest);
}

// Tasks that wait for any task: the builder names a cycle, or the program runs,
// or the executor names what waits.
RC_GTEST_PROP(Executor, EndsOrSaysWhyNot, ()) {
  const Result<Program> program = ProgramFromBytes(*Bytes(), {.constant_speed = false, .acyclic = false});
  if (!program.ok()) {
    RC_ASSERT(!program.error().message.empty());
    return;
  }
  const Result<Timeline> timeline = Simulate(program.value());
  if (!timeline.ok()) RC_ASSERT(timeline.error().message.find("deadlock") == 0u);
}

}  // namespace
}  // namespace sim
