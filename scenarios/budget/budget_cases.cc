// Where the conclusions of a budget change: other cases, each with one thing different. Bad cases are not
// multiplied with each other, as not all come at once.
//
// Source: textbook, algorithm 27.1, 27.8 and exercise 27.9.

#include <algorithm>
#include <string>

#include "scenarios/budget/budget_parts.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/scaling.h"

namespace scenarios {
namespace {

void AddCase(const std::string& name, const Chosen& c, const std::string& what, Budget* budget) {
  const double seconds = TrainingSeconds(c.flops(), static_cast<double>(c.devices), c.peak, c.utilisation);
  Section s("case: " + name, &budget->lines);
  s.Add("time", seconds / kSecondsOfDay, "days", "17.5.3", what);
  s.Add("cost", CostUsd(DeviceHours(c.devices, seconds / 3600), c.usd_per_device_hour), "USD", "17.5.9", "");
  const sim::Bytes memory = MemoryOfDevice(c);
  s.AddBytes("memory of a device", memory, "(27.16)", memory <= c.memory() ? "fits" : "does not fit");
  if (c.days) {
    s.AddCount("devices for the deadline",
               DevicesFor(c.flops(), c.peak, c.utilisation, *c.days * kSecondsOfDay), "(27.19)",
               "days " + Short(*c.days));
  }
}

}  // namespace

void AddCases(const Chosen& c, Budget* budget) {
  AddCase("base", c, "u " + Short(c.utilisation), budget);
  // 27.8 compares .4 with .3: a third more device time.
  Chosen conservative = c;
  conservative.utilisation *= 0.75;
  AddCase("conservative", conservative, "u " + Short(conservative.utilisation) + ", three quarters", budget);
  // As many tokens a step, so half the sequences; attention and activations are those of the longer ones.
  Chosen stress = c;
  stress.sequence_length *= 2;
  const std::int64_t positions = c.model.learned_positions;
  if ((positions == 0 || stress.sequence_length <= positions) && SizesFit(stress)) {
    AddCase("stress", stress,
            "sequences twice as long, " + Short(static_cast<double>(stress.sequence_length)), budget);
  }
  Section s("where conclusions change", &budget->lines);
  if (c.days) {
    s.Add("utilisation that the deadline needs",
          UtilisationOf(c.flops(), *c.days * kSecondsOfDay, static_cast<double>(c.devices), c.peak), "",
          "(27.18)", "days " + Short(*c.days) + "; below it the run is late");
  }
  const sim::Bytes left = c.memory() - MemoryOfDevice(c);
  s.AddBytes("memory left", left, "(27.16)", "less than nothing does not fit");
}

}  // namespace scenarios
