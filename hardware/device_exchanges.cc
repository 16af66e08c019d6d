#include "hardware/device_exchanges.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "hardware/file_units.h"
#include "proto/hardware.pb.h"

namespace hardware {
namespace {

using orrery::config::Hardware;

Exchange::Kernels ConvertKernels(Hardware::ExchangeKernels kernels) {
  if (kernels == Hardware::LOW_LATENCY) return Exchange::Kernels::kLowLatency;
  return kernels == Hardware::V2 ? Exchange::Kernels::kV2 : Exchange::Kernels::kNormal;
}

void CheckExchange(const Hardware::Exchange& exchange, const proto::Field& place,
                   proto::Diagnostics* diagnostics) {
  if (exchange.has_ramp_us() != exchange.has_ramp_mb()) {
    diagnostics->Error(place.At(exchange.has_ramp_us() ? "ramp_mb" : "ramp_us").place(),
                       "missing; ramp_us and ramp_mb go together");
  }
  const bool low_latency = exchange.kernels() == Hardware::LOW_LATENCY;
  if (low_latency && exchange.has_sm_gb_per_s()) {
    diagnostics->Error(place.At("sm_gb_per_s").place(), "LOW_LATENCY has none; leave it out");
  }
  if (!low_latency && !exchange.has_sm_gb_per_s()) {
    diagnostics->Error(place.At("sm_gb_per_s").place(), "missing");
  }
  if (low_latency && exchange.has_ramp_us()) {
    diagnostics->Error(place.At("ramp_us").place(), "LOW_LATENCY has none; leave it out");
  }
}

}  // namespace

void CheckExchanges(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  std::set<std::pair<int, int>> seen;
  for (int i = 0; i < message.exchanges_size(); ++i) {
    const Hardware::Exchange& exchange = message.exchanges(i);
    const proto::Field place = root.At("exchanges", i);
    if (!seen.insert({exchange.kernels(), exchange.operation()}).second) {
      diagnostics->Error(place.At("operation").place(),
                         Hardware::ExchangeOperation_Name(exchange.operation()) + " is given twice for " +
                             Hardware::ExchangeKernels_Name(exchange.kernels()));
    }
    CheckExchange(exchange, place, diagnostics);
  }
  for (int i = 0; i < message.exchanges_size(); ++i) {
    const Hardware::Exchange& exchange = message.exchanges(i);
    const int other = exchange.operation() == Hardware::DISPATCH ? Hardware::COMBINE : Hardware::DISPATCH;
    if (seen.contains({exchange.kernels(), other})) continue;
    diagnostics->Error(root.At("exchanges", i).At("kernels").place(),
                       Hardware::ExchangeKernels_Name(exchange.kernels()) +
                           " without the other operation; both or neither are wanted");
  }
}

std::vector<Exchange> ConvertExchanges(const Hardware& message) {
  std::vector<Exchange> exchanges;
  for (const Hardware::Exchange& from : message.exchanges()) {
    const auto ramp_bytes = static_cast<std::int64_t>(from.ramp_mb() * 1e6);
    exchanges.push_back({.kernels = ConvertKernels(from.kernels()),
                         .combine = from.operation() == Hardware::COMBINE,
                         .base = Us(from.base_us()),
                         .base_multi_node = Us(from.base_multi_node_us()),
                         .ramp = Us(from.ramp_us()),
                         .ramp_bytes = sim::Bytes(std::max<std::int64_t>(1, ramp_bytes)),
                         .of_sm = Gb(from.sm_gb_per_s()),
                         .inside = Gb(from.inside_gb_per_s()),
                         .between = Gb(from.between_gb_per_s())});
  }
  return exchanges;
}

}  // namespace hardware
