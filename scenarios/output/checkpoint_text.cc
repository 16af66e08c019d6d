#include "scenarios/output/checkpoint_text.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

// Decimal, as storage is sold.
std::string Gigabytes(sim::Bytes bytes) {
  std::array<char, 48> text;
  std::snprintf(text.data(), text.size(), "%.4g GB", static_cast<double>(bytes.count()) * 1e-9);
  return text.data();
}

std::string Line(const std::string& name, const std::string& value) {
  return "  " + name + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + " " + value + "\n";
}

std::string Times(std::int64_t n) { return CountText(n) + (n == 1 ? " save" : " saves"); }

// "14 a parameter"; of a delta also how much of it is written.
std::string PerParameter(const CheckpointReport& c) {
  std::array<char, 80> written = {};
  if (c.format == "DELTA") {
    std::snprintf(written.data(), written.size(), ", of which %.4g %% are written", 100 * c.written_fraction);
  }
  return std::to_string(c.bytes_per_parameter) + " a parameter" + written.data();
}

std::string Sizes(const CheckpointReport& c) {
  return Line("saved", Gigabytes(c.bytes) + " (" + CountText(c.bytes.count()) + " bytes, " + PerParameter(c) +
                           "), " + Gigabytes(c.largest_rank) + " by a rank") +
         Line("staging", Gigabytes(c.staging_per_node) + " a node, room for " + Times(c.saves_in_staging) +
                             " of " + Gigabytes(c.largest_node));
}

// The rank that waits longest may begin its copy after the first one, and wait for less than all of them.
std::string Blocks(const CheckpointReport& c) {
  if (c.blocked == sim::Duration()) return "not at all";
  return "a rank at most " + TimeText(c.blocked) + " a save";
}

std::string Durations(const CheckpointReport& c) {
  std::string text =
      Line("copy, write", TimeText(c.copy_time) + ", " + TimeText(c.write_time) + " (idle fabric " +
                              TimeText(c.copy_idle) + ", " + TimeText(c.write_idle) + ")");
  text += Line("blocks training", Blocks(c) + "; costs " + TimeText(c.cost) + " with all it slows down");
  text += Line("step with saves", TimeText(c.effective_step_time) + " in the long run");
  const std::string safe = "; never stalls from " + TimeText(c.earliest_interval) + " on";
  text += Line("interval", SecondsText(c.interval_s) + (c.mode == "SYNC" ? "" : safe));
  if (c.backlog_per_interval > sim::Bytes()) {
    text += Line("unstable", "backlog grows by " + Gigabytes(c.backlog_per_interval) +
                                 " an interval: " + Gigabytes(c.bytes) + " arrive, " +
                                 Gigabytes(c.served_per_interval) + " are written");
  }
  if (c.first_stall_save) {
    text +=
        Line("first stall", "save " + CountText(*c.first_stall_save) + ", " + TimeText(c.first_stall_since) +
                                " after the first one, for " + TimeText(c.first_stall));
  }
  return text;
}

std::string SaveLines(const CheckpointReport& c) {
  constexpr std::size_t kMost = 10;
  std::string text;
  for (std::size_t i = 0; i < c.saves.size() && i < kMost; ++i) {
    const SaveReport& save = c.saves[i];
    text += Line("save " + std::to_string(i + 1), "after step " + CountText(save.after_step) + ", at " +
                                                      TimeText(save.start) + ": blocked " +
                                                      TimeText(save.blocked));
    if (save.stall == sim::Duration()) continue;
    text += Line("", "of it stalled " + TimeText(save.stall) + ", since " + TimeText(save.stalled_since) +
                         ": staging was full, the write before not finished");
  }
  if (c.saves.size() > kMost) {
    text += Line("...",
                 CountText(static_cast<std::int64_t>(c.saves.size() - kMost)) + " more; --json has them all");
  }
  return text;
}

std::string At(double interval_s, double waste) {
  std::array<char, 48> percent;
  std::snprintf(percent.data(), percent.size(), ", which would take %.2f %%", 100 * waste);
  return SecondsText(interval_s) + percent.data();
}

std::string Planning(const CheckpointReport& c) {
  std::string servers = std::to_string(c.servers);
  if (c.replicas > 1) servers += ", which write each byte " + std::to_string(c.replicas) + " times";
  if (c.mode != "SYNC") {
    servers += "; this cadence needs ";
    servers += c.servers_needed ? CountText(*c.servers_needed) : "faster hosts or networks, not servers";
  }
  std::string text = Line("servers", servers);
  if (c.restart) {
    text += Line("restart", TimeText(*c.restart) + ", of it reading " + TimeText(*c.restart_read) +
                                " (idle fabric " + TimeText(c.restart_idle) + ")");
  }
  if (c.waste) {
    std::array<char, 160> waste;
    std::snprintf(waste.data(), waste.size(), "%.2f %% of the time at a failure every %.4g h%s",
                  100 * *c.waste, *c.mtbf_hours, *c.waste < 1 ? "" : ": the job makes no progress");
    text += Line("saves, lost work", waste.data());
  }
  if (c.young_interval_s) {
    text += Line("Young's interval", At(*c.young_interval_s, *c.young_waste));
    if (*c.advised_interval_s > *c.young_interval_s) {
      text += Line("", "saves would stall; without stalls " + At(*c.advised_interval_s, *c.advised_waste));
    }
  }
  return text;
}

}  // namespace

std::string CheckpointText(const Report& report) {
  if (!report.checkpoint) return "";
  const CheckpointReport& c = *report.checkpoint;
  const std::string how = c.mode + (c.mode == "ASYNC" ? ", copy " + c.copy : "") + ", " + c.format + ", " +
                          c.path + ", every " + CountText(c.every_steps) +
                          (c.every_steps == 1 ? " step" : " steps");
  return "\nCheckpoint (" + how + ")\n" + Sizes(c) + Durations(c) + SaveLines(c) + Planning(c);
}

}  // namespace scenarios
