// Measured dispatches and combines (deepep_measured.csv) beside what Orrery gives for them.

#ifndef TESTS_NETWORK_DEEPEP_CURVES_H_
#define TESTS_NETWORK_DEEPEP_CURVES_H_

#include <string>
#include <vector>

#include "scenarios/expert_exchange.h"

namespace network {

struct MeasuredExchange {
  int line = 0;  // of the table
  std::string source, gpu, network, sms;
  std::int64_t ranks = 0, nodes = 0;
  scenarios::ExpertExchange exchange;
  double seconds = 0;  // as measured, or from the bandwidth that was printed
  bool printed_bandwidth = false;
};

struct ComparedExchange {
  MeasuredExchange row;
  scenarios::ExchangeVolume volume;
  double simulated = 0;  // seconds
  double error() const { return simulated / row.seconds - 1; }
};

// Every row of the table, in its order, simulated on an idle fabric of its device's nodes.
std::vector<ComparedExchange> CompareExchanges();

// docs/deepep.md.
std::string ExchangePage(const std::vector<ComparedExchange>& compared);

}  // namespace network

#endif  // TESTS_NETWORK_DEEPEP_CURVES_H_
