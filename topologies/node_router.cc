#include "topologies/node_router.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/digest.h"
#include "topologies/cables.h"

namespace topologies {
namespace {

// So many ways are tried around failed links; more have no other cable in common.
constexpr std::uint64_t kMostTries = 65'536;

// One route: out, then each of `middle` with an equal part, then in. Middles may have links in common.
Route Join(Route out, const std::vector<Route>& middle, const Route& in) {
  std::uint64_t denominator = 1;
  for (const Route& one : middle) denominator = std::lcm(denominator, std::uint64_t{one.denominator});
  const auto all = static_cast<std::uint32_t>(denominator * middle.size());
  for (RouteUse& use : out.uses) use.parts = all;
  const auto first = static_cast<std::ptrdiff_t>(out.uses.size());
  sim::Duration longest;
  for (const Route& one : middle) {
    longest = std::max(longest, one.latency);
    for (const RouteUse& use : one.uses) {
      const auto parts = static_cast<std::uint32_t>(use.parts * denominator / one.denominator);
      const auto same = std::find_if(out.uses.begin() + first, out.uses.end(),
                                     [&](const RouteUse& other) { return other.link == use.link; });
      same == out.uses.end() ? out.uses.push_back({use.link, parts}) : void(same->parts += parts);
    }
  }
  for (const RouteUse& use : in.uses) out.uses.push_back({use.link, all});
  std::uint32_t common = all;
  for (const RouteUse& use : out.uses) common = std::gcd(common, use.parts);
  for (RouteUse& use : out.uses) use.parts /= common;
  out.denominator = all / common;
  out.latency += longest + in.latency;
  return out;
}

}  // namespace

const char* ToText(Routing routing) {
  switch (routing) {
    case Routing::kSpray:
      return "SPRAY";
    case Routing::kEcmp:
      return "ECMP";
    case Routing::kDestination:
      return "DESTINATION";
  }
  return "";
}

void NodeRouter::InsideNode(Seat from, Seat to, RouteWriter* writer) const {
  const sim::NodeShape& shape = plan_.shape;
  if (plan_.nvlink) {
    writer->Use(plan_.Nvlink(from.node, from.device), shape.nvlink_latency);
    writer->Use(WayBack(plan_.Nvlink(to.node, to.device)), shape.nvlink_latency);
    return;
  }
  if (plan_.device_ports) {
    writer->Use(plan_.OfPort(from.node, from.device), shape.nic_latency + network_->switch_latency());
    writer->Use(WayBack(plan_.OfPort(to.node, to.device)), shape.nic_latency);
    return;
  }
  const std::uint32_t from_switch = plan_.PcieSwitchOf(from.device);
  const std::uint32_t to_switch = plan_.PcieSwitchOf(to.device);
  writer->Use(plan_.Pcie(from.node, from.device), shape.pcie_latency);
  BetweenSwitches(from.node, from_switch, to_switch, writer);
  writer->Use(WayBack(plan_.Pcie(to.node, to.device)), shape.pcie_latency);
}

void NodeRouter::BetweenSwitches(std::uint32_t node, std::uint32_t from, std::uint32_t to,
                                 RouteWriter* writer) const {
  if (from == to) return;
  const sim::NodeShape& shape = plan_.shape;
  if (plan_.bridges == 0) {
    writer->Use(plan_.Host(node, from), shape.pcie_latency);
    writer->Use(WayBack(plan_.Host(node, to)), shape.pcie_latency);
    return;
  }
  writer->Use(plan_.Bridge(node, from), shape.host_bridge_latency);
  const std::uint32_t here = plan_.BridgeOf(from), there = plan_.BridgeOf(to);
  if (here != there) {
    const sim::LinkId sockets = plan_.Sockets(node);
    writer->Use(here == 0 ? sockets : WayBack(sockets), shape.between_sockets_latency);
  }
  writer->Use(WayBack(plan_.Bridge(node, to)), shape.host_bridge_latency);
}

void NodeRouter::ToPort(Seat from, std::uint32_t index, std::uint32_t beside, RouteWriter* writer) const {
  if (plan_.device_ports) return;
  const sim::Duration hop = plan_.shape.pcie_latency;
  if (plan_.NicOf(from.device) != index && plan_.nvlink) {
    InsideNode(from, {from.node, beside}, writer);
    from.device = beside;
  }
  writer->Use(plan_.Pcie(from.node, from.device), hop);
  BetweenSwitches(from.node, plan_.NicOf(from.device), index, writer);
  writer->Use(plan_.Adapter(from.node, index), hop);
}

void NodeRouter::FromPort(std::uint32_t index, Seat to, RouteWriter* writer) const {
  if (plan_.device_ports) return;
  const sim::Duration hop = plan_.shape.pcie_latency;
  writer->Use(WayBack(plan_.Adapter(to.node, index)), hop);
  BetweenSwitches(to.node, index, plan_.NicOf(to.device), writer);
  writer->Use(WayBack(plan_.Pcie(to.node, to.device)), hop);
}

std::uint64_t NodeRouter::FirstWay(Seat from, Seat to, Port exit, Port entry, std::uint32_t flow,
                                   std::uint64_t ways) const {
  if (ways == 1 || rule_.routing == Routing::kSpray) return 0;
  if (rule_.routing == Routing::kDestination) return network_->WayByDestination(exit, entry);
  sim::Digest hash;
  hash.Add(rule_.seed).Add(from.node).Add(from.device).Add(to.node).Add(to.device).Add(exit.plane).Add(flow);
  return hash.value() % ways;
}

std::optional<Route> NodeRouter::Through(Seat from, Seat to, Port exit, Port entry, std::uint32_t flow,
                                         RouteWriter writer, bool whole) const {
  if (!network_->Joins(exit, entry)) return std::nullopt;
  const sim::Duration nic = plan_.shape.nic_latency;
  const std::uint64_t ways = network_->Ways(exit, entry), first = FirstWay(from, to, exit, entry, flow, ways);
  writer.Use(plan_.OfPort(exit.node, exit.index, exit.plane), nic + network_->switch_latency());
  const std::uint64_t tries = faults_ == nullptr ? 1 : std::min(ways, kMostTries);
  for (std::uint64_t i = 0; i < tries; ++i) {
    RouteWriter way = tries == 1 ? std::move(writer) : writer;
    const std::uint32_t denominator = network_->Cross(exit, entry, (first + i) % ways, &way);
    way.Use(WayBack(plan_.OfPort(entry.node, entry.index, entry.plane)), nic);
    if (whole) FromPort(entry.index, to, &way);
    if (!way.blocked()) return std::move(way).Take(denominator);
  }
  return std::nullopt;
}

std::optional<Route> NodeRouter::Across(Seat from, Seat to, std::uint32_t exit, std::uint32_t entry) const {
  // The device beside the NIC: the one at the destination's place, if it is.
  std::uint32_t beside = to.device;
  while (!plan_.device_ports && plan_.NicOf(beside) != exit) beside = (beside + 1) % plan_.devices;
  RouteWriter out(faults_.get());
  ToPort(from, exit, beside, &out);
  if (out.blocked()) return std::nullopt;
  const std::uint32_t flows = rule_.routing == Routing::kEcmp ? rule_.flows : 1;
  if (plan_.planes == 1 && flows == 1) {
    return Through(from, to, {from.node, exit, 0}, {to.node, entry, 0}, 0, std::move(out), /*whole=*/true);
  }
  RouteWriter in(faults_.get());
  FromPort(entry, to, &in);
  std::vector<Route> middle;
  for (std::uint32_t plane = 0; plane < plan_.planes && !in.blocked(); ++plane) {
    for (std::uint32_t flow = 0; flow < flows; ++flow) {
      auto one = Through(from, to, {from.node, exit, plane}, {to.node, entry, plane}, flow,
                         RouteWriter(faults_.get()), /*whole=*/false);
      if (one) middle.push_back(*std::move(one));
    }
  }
  if (middle.empty()) return std::nullopt;
  return Join(std::move(out).Take(1), middle, std::move(in).Take(1));
}

std::optional<Route> NodeRouter::AcrossNetwork(Seat from, Seat to) const {
  if (plan_.device_ports) return Across(from, to, from.device, to.device);
  const std::uint32_t entry = plan_.NicOf(to.device);
  const std::uint32_t exit = rule_.pxn ? entry : plan_.NicOf(from.device);
  const std::uint32_t tries = faults_ == nullptr ? 1 : plan_.nics;
  for (std::uint32_t i = 0; i < tries; ++i) {
    for (std::uint32_t j = 0; j < tries; ++j) {
      if (auto route = Across(from, to, (exit + j) % plan_.nics, (entry + i) % plan_.nics)) return route;
    }
  }
  return std::nullopt;
}

Route NodeRouter::Between(std::uint32_t from_device, std::uint32_t to_device) const {
  CHECK(from_device < plan_.nodes * plan_.devices && to_device < plan_.nodes * plan_.devices);
  CHECK(from_device != to_device);
  const Seat from{from_device / plan_.devices, from_device % plan_.devices};
  const Seat to{to_device / plan_.devices, to_device % plan_.devices};
  std::optional<Route> route;
  if (from.node == to.node) {
    RouteWriter writer(faults_.get());
    InsideNode(from, to, &writer);
    if (!writer.blocked()) route = std::move(writer).Take(1);
  } else {
    route = AcrossNetwork(from, to);
  }
  if (route) return *std::move(route);
  CHECK(search_ != nullptr);
  return search_->Between(from_device, to_device);
}

// Nothing where the link has failed.
std::optional<Route> NodeRouter::NvSwitchLink(std::uint32_t device, bool up) const {
  CHECK(device < plan_.nodes * plan_.devices);
  if (!plan_.nvlink) return std::nullopt;
  const sim::LinkId link = plan_.Nvlink(device / plan_.devices, device % plan_.devices);
  RouteWriter writer(faults_.get());
  writer.Use(up ? link : WayBack(link), plan_.shape.nvlink_latency);
  if (writer.blocked()) return std::nullopt;
  return std::move(writer).Take(1);
}

std::optional<Route> NodeRouter::ToNvSwitch(std::uint32_t device) const { return NvSwitchLink(device, true); }
std::optional<Route> NodeRouter::FromNvSwitch(std::uint32_t device) const {
  return NvSwitchLink(device, false);
}

}  // namespace topologies
