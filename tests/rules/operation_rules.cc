// Rules 14 and 15: failures, and the hosts' part.

#include <cmath>

#include "scenarios/budget/data_storage.h"
#include "scenarios/budget/save_storage.h"
#include "scenarios/checkpoint_forms.h"
#include "tests/rules/rules.h"
#include "tests/rules/sweep.h"

namespace rules {
namespace {

constexpr double kHour = 3600;
// As the rule prints them.
constexpr double kDevices = 1000, kDeviceHours = 500;

// Cost and pace of a save of Llama-2-70B on 64 H800, simulated; a short step, which they do not depend on.
scenarios::CheckpointReport Save() {
  return *Simulate("llama_70b_64xh800_checkpoint", {{"batch.global", "8"}, {"steps", "6"}}).checkpoint;
}

double WaitForSave(const scenarios::CheckpointReport& save) {
  return save.copy_idle.seconds() + save.write_idle.seconds();
}

Sweep Failures() {
  Sweep sweep{
      .setting = "Not simulated: what it means when one device fails every so many hours.",
      .columns = {"device-hours", "of the devices, a day", "1,000 devices: hours", "16,384 devices: hours"},
      .claims = {"1 to 2 % of the devices fail a day"},
      .rows = {}};
  struct Source {
    const char* name;
    double hours;
  };
  for (const Source& source :
       {Source{"500, as the rule prints", kDeviceHours}, Source{"10,000, as 17.7.4 prints", 10000},
        Source{"50,700, Llama 3's 419 interruptions", scenarios::kDeviceHoursBetweenFailures}}) {
    const double a_day = 24 / source.hours;
    sweep.rows.push_back(
        {{source.name, Percent(a_day, 2), Number(scenarios::HoursBetweenFailures(source.hours, kDevices), 1),
          Number(scenarios::HoursBetweenFailures(source.hours, 16384), 2)},
         {Answer(a_day >= 0.01 && a_day <= 0.02)}});
  }
  return sweep;
}

Sweep Intervals(const scenarios::CheckpointReport& save) {
  const double mtbf = scenarios::HoursBetweenFailures(kDeviceHours, kDevices) * kHour;
  const double beside = save.cost.seconds(), earliest = save.earliest_interval.seconds();
  const double waiting = WaitForSave(save);
  Sweep sweep{
      .setting =
          R"(A run that fails every half hour (500 hours a device, 1,000 devices). A save of Llama-2-70B
to a storage of 100 GB/s, simulated on 64 H800, costs )" +
          Number(beside, 2) + " s where it is written beside the steps, " + Number(waiting, 1) +
          R"( s where they wait for it. The part of all time that saves and work done again take, to first
order.)",
      .columns = {"interval, s", "beside the steps", "steps wait"},
      .claims = {"at the printed bound, N x MTBF, time is left to train",
                 "beside the steps: saving less often loses more (the row below)",
                 "steps wait: saving less often loses more"},
      .rows = {}};
  const double printed = kDevices * kDeviceHours * kHour;
  const double intervals[] = {10, 30, 60, 180, 600, mtbf, 2 * mtbf, printed};
  const auto lost_beside = [&](double s) { return scenarios::WasteWithStalls(beside, s, earliest, mtbf); };
  const auto lost_waiting = [&](double s) { return scenarios::WasteOf(waiting, s, mtbf); };
  for (std::size_t i = 0; i < std::size(intervals); ++i) {
    const double s = intervals[i], one = lost_beside(s), other = lost_waiting(s);
    const char at_bound = s == printed ? Answer(one < 1 || other < 1) : '-';
    Row row{{Number(s), Percent(one), Percent(other)}, std::string(1, at_bound)};
    const double* below = s < mtbf ? &intervals[i + 1] : nullptr;
    row.answers += below != nullptr ? Answer(one < lost_beside(*below)) : '-';
    row.answers += below != nullptr ? Answer(other < lost_waiting(*below)) : '-';
    sweep.rows.push_back(row);
  }
  return sweep;
}

}  // namespace

Rule OneFailureStopsAll() {
  const scenarios::CheckpointReport save = Save();
  const double mtbf = scenarios::HoursBetweenFailures(kDeviceHours, kDevices) * kHour;
  const double beside = scenarios::YoungInterval(save.cost.seconds(), mtbf);
  const double waiting = scenarios::YoungInterval(WaitForSave(save), mtbf);
  return {.id = "Rule 14",
          .says =
              R"(One failed device stops the run: save often, at least every N x MTBF; 1 to 2 % of a
thousand devices fail a day.)",
          .turns =
              R"(Not N x MTBF: beyond twice MTBF / N nothing is left; more often than its root with a
save's cost loses as well.)",
          .sweeps = {Failures(), Intervals(save)},
          .because =
              R"(The printed bound is upside down: the run fails every MTBF / N, and from twice that on no
time is left (correction E18). Often is right, as far as the square root of 2 x cost x MTBF / N (Young),
here )" + Number(beside) +
              " s and " + Number(waiting) + R"( s; more often than that, saves cost more than failures. The
cost of a save is simulated, failures are not.)"};
}

Rule TokenisersStarveTraining() {
  Sweep sweep{
      .setting =
          R"(Tokens a second that eight H800 train, simulated (data 8, ZeRO-1, 8 sequences of 1,024 each).
Not simulated: cores for 4 bytes of text a token at 1 MB/s a core (17.7.7); a DGX H100 has 112. Loading is
not part of a step.)",
      .columns = {"model", "parameters, 1e6", "tokens/s", "cores"},
      .claims = {"one core a device is too slow", "the node's 112 cores are too slow"},
      .rows = {}};
  for (const char* model : {"llama_68m", "gpt2", "mcore_gpt_1_7b", "llama_7b"}) {
    const scenarios::Report report =
        Simulate("llama_7b_256xh800", {{"model", model},
                                       {"devices", "8"},
                                       {"topology", "single_node"},
                                       {"batch.global", "64"},
                                       {"batch.micro", "8"},
                                       {"batch.sequence_length", "1024"},
                                       {"training.recompute", "NONE"},
                                       {"training.optimizer_sharding", "ZERO_1"}});
    const std::int64_t cores = scenarios::TokenizerCores(report.tokens_per_s, 4, 1e6);
    sweep.rows.push_back({{model, Number(static_cast<double>(report.parameters) / 1e6),
                           Number(report.tokens_per_s), std::to_string(cores)},
                          {Answer(cores > 8), Answer(cores > 112)}});
  }
  return {.id = "Rule 15",
          .says = "Tokenising on the CPU can become the hidden bottleneck.",
          .turns = R"(Models of some hundred million parameters with one process a device; else not.)",
          .sweeps = {sweep},
          .because =
              R"(The larger the model, the fewer tokens it takes a second. Only small ones outrun a single
process a device, and none here outruns all cores of its node.)"};
}

}  // namespace rules
