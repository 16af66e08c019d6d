// Checkpoint: how a job saves its state, as plain values. See the message of
// the same name in proto/scenario.proto for what each choice means.

#ifndef SCENARIOS_CHECKPOINT_H_
#define SCENARIOS_CHECKPOINT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/units.h"

namespace scenarios {

enum class SaveMode : std::uint8_t { kSync, kAsync };
enum class SaveCopy : std::uint8_t { kBlocking, kOverlapped };
enum class SaveFormat : std::uint8_t { kSharded, kConsolidated, kDelta };

// Parts of a whole, in 10^-9.
inline constexpr std::int64_t kBillion = 1'000'000'000;

struct Checkpoint {
  std::int64_t every_steps = 1;
  SaveMode mode = SaveMode::kAsync;
  SaveCopy copy = SaveCopy::kBlocking;
  SaveFormat format = SaveFormat::kSharded;
  std::int64_t delta_parts = kBillion;  // of kBillion: what a delta writes of a whole save
  bool weights = true, master_weights = true, moments = true;
  bool replicas_spread =
      true;  // what data ranks hold alike is written by all of them in parts, or by the first
  bool through_nics = false;    // or through a front-end network
  sim::ByteRate frontend;       // of a node, each way; zero = through the NICs, or refused
  sim::ByteRate serialise;      // of one rank's process; zero = no limit
  sim::Bytes staging_per_node;  // zero = exactly one save of the node
  std::int64_t servers = 1, replicas = 1;
  sim::ByteRate server_write;  // of one server, what it achieves
  sim::ByteRate write, read;   // of a save's bytes, all servers together, replicas counted
  std::optional<double> mtbf_hours;
  std::string source, storage_source;
};

// Steps that are simulated before the first save starts, after the last of
// them: three that give the steady step, and one at whose end it may disturb others.
inline constexpr std::int64_t kStepsBeforeSave = 4;

// How many saves start within `steps` simulated steps. One after the last step
// would hold up nothing, and is left out.
constexpr std::int64_t SavesWithin(std::int64_t steps, std::int64_t every_steps) {
  return steps <= kStepsBeforeSave ? 0 : (steps - 1 - kStepsBeforeSave) / every_steps + 1;
}

// Whether one follows step `step` (from 0), and which one it is, from 0; else -1.
constexpr std::int64_t SaveAfterStep(std::int64_t step, std::int64_t steps, std::int64_t every_steps) {
  const std::int64_t since = step + 1 - kStepsBeforeSave;
  if (since < 0 || step + 1 >= steps || since % every_steps != 0) return -1;
  return since / every_steps;
}

}  // namespace scenarios

#endif  // SCENARIOS_CHECKPOINT_H_
