// Whatever small program it is: it is refused with a reason, or it runs and keeps
// the rules of every run; where work has one speed it gives what the plain player
// gives. The first byte chooses what kind of program it is.

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/base/check.h"
#include "sim/program/executor.h"
#include "tests/sim/program/plain_player.h"
#include "tests/sim/program/program_from_bytes.h"
#include "tests/sim/program/run_rules.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const sim::ByteProgram options{.constant_speed = data[0] % 2 == 0, .acyclic = data[0] / 2 % 2 == 0};
  const auto bytes = std::span(data, size).subspan(1);
  const bool scripts = options.constant_speed && data[0] / 4 % 2 == 1;
  const sim::Result<sim::Program> program =
      scripts ? sim::ScriptsFromBytes(bytes) : sim::ProgramFromBytes(bytes, options);
  if (!program.ok()) {
    CHECK(!program.error().message.empty());
    return 0;
  }
  const sim::Result<sim::Timeline> timeline = sim::Simulate(program.value(), {.log_rates = true});
  if (timeline.ok()) CHECK(sim::FaultsOf(program.value(), timeline.value()).empty());
  if (!options.constant_speed) return 0;
  const sim::PlainTimeline plain = sim::PlayPlainly(program.value());
  CHECK(timeline.ok() == plain.finished);
  if (!timeline.ok()) return 0;
  CHECK(timeline.value().start == plain.start && timeline.value().end == plain.end);
  return 0;
}
