// Dispatch and combine as DeepEP's tests print them, and as a document.

#ifndef SCENARIOS_OUTPUT_EXCHANGE_OUTPUT_H_
#define SCENARIOS_OUTPUT_EXCHANGE_OUTPUT_H_

#include <string>

#include "scenarios/collective_run/exchange_sweep.h"
#include "scenarios/output/collective_output.h"

namespace scenarios {

// Lines that begin with # are not rows. REQUIRES: a row or more; `head.links` is not looked at
std::string ExchangeText(const ExchangeTable& table, const Cluster& cluster, const CollectiveHead& head);
std::string ExchangeJson(const ExchangeTable& table, const Cluster& cluster, const CollectiveHead& head);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_EXCHANGE_OUTPUT_H_
