#include "scenarios/verdict/resized.h"

#include "scenarios/layout_rules.h"

namespace scenarios {

sim::Result<std::int64_t> GrownBatch(const Scenario& scenario, std::int64_t batch, std::int64_t devices) {
  const sim::Wide grown = static_cast<sim::Wide>(batch) * devices;
  if (grown % scenario.devices == 0 && grown / scenario.devices <= INT64_MAX) {
    return static_cast<std::int64_t>(grown / scenario.devices);
  }
  return sim::Error{"a batch of " + std::to_string(batch) + " on " + std::to_string(scenario.devices) +
                    " devices grows to no whole number of sequences on " + std::to_string(devices)};
}

sim::Result<Scenario> Resized(const Scenario& s, std::int64_t devices, std::int64_t batch,
                              const Changes& changes, const Reload& reload) {
  const auto data = DataRanks(devices, s.layout.tensor, s.layout.context, s.layout.pipeline);
  if (!data.ok()) return sim::Error{"devices: " + data.error().message};
  const auto accumulation = Accumulation(batch, s.batch.micro, data.value());
  if (!accumulation.ok()) return sim::Error{"batch: " + accumulation.error().message};
  Changes sets = {"devices=" + std::to_string(devices), "batch.global=" + std::to_string(batch)};
  sets.insert(sets.end(), changes.begin(), changes.end());
  sets.push_back("layout.data=" + std::to_string(data.value()));
  sets.push_back("batch.accumulation=" + std::to_string(accumulation.value()));
  return reload(sets);
}

}  // namespace scenarios
