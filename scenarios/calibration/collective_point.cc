#include "scenarios/calibration/collective_point.h"

#include <algorithm>
#include <charconv>
#include <numeric>
#include <utility>

#include "scenarios/lowering.h"
#include "sim/base/check.h"
#include "topologies/topology.h"

namespace scenarios {
namespace {

using hardware::CollectiveTiming;

std::optional<Figure> CopyOf(sim::CollectiveKind kind) {
  switch (kind) {
    case sim::CollectiveKind::kAllReduce:
      return Figure::kCopyAllReduce;
    case sim::CollectiveKind::kAllGather:
      return Figure::kCopyAllGather;
    case sim::CollectiveKind::kReduceScatter:
      return Figure::kCopyReduceScatter;
    case sim::CollectiveKind::kAllToAll:
      return Figure::kCopyAllToAll;
    default:
      return std::nullopt;
  }
}

// What remains of a device's figures in a probe: bytes on the wires, in the protocol's form.
CollectiveTiming Bare(const CollectiveTiming& timing) {
  return {.protocol = timing.protocol,
          .wire_numerator = timing.wire_numerator,
          .wire_denominator = timing.wire_denominator,
          .algorithm = timing.algorithm};
}

// Lowers one row with changed figures.
class Prober {
 public:
  Prober(const MeasuredCollective& row, const hardware::Device& device, const topologies::Fabric& fabric)
      : row_(row), device_(device), fabric_(fabric), ranks_(row.ranks) {
    std::iota(ranks_.begin(), ranks_.end(), 0u);
  }

  struct Times {
    double latency = 0, flows = 0;  // s
  };

  template <typename Change>
  Times With(Change change) const {
    std::vector<CollectiveTiming> timings;
    for (const CollectiveTiming& timing : device_.collective_timing) timings.push_back(change(timing));
    CollectiveCosts costs(device_);
    costs.timing = timings;
    const sim::TrafficDescription traffic = LowerCollective(fabric_, costs, row_.kind, row_.bytes, ranks_);
    return {traffic.latency.seconds(), (IdleTime(fabric_, traffic) - traffic.latency).seconds()};
  }

  // Nothing where NCCL would fail.
  std::optional<CollectiveWay> Way() const {
    const sim::NcclGroup group = sim::GroupOf(CommunicatorOf(fabric_, ranks_));
    if (sim::FunctionOf(row_.kind) && !sim::Predict(device_.nccl, group, row_.kind, row_.bytes)) {
      return std::nullopt;
    }
    return WayOf(fabric_, device_, {.kind = row_.kind, .size = row_.bytes}, ranks_);
  }

 private:
  const MeasuredCollective& row_;
  const hardware::Device& device_;
  const topologies::Fabric& fabric_;
  std::vector<std::uint32_t> ranks_;
};

std::optional<topologies::Fabric> NodeOf(const MeasuredCollective& row, const hardware::Device& device) {
  const topologies::TopologySpec spec{
      .name = "measured", .file = "", .source = "", .family = topologies::SingleNodeSpec{}};
  if (static_cast<std::int64_t>(row.ranks) > device.node.devices) return std::nullopt;
  auto fabric = topologies::BuildFabric(spec, device.node, row.ranks);
  if (!fabric.ok()) return std::nullopt;
  return std::move(fabric).value();
}

}  // namespace

const char* ToText(Figure figure) {
  constexpr const char* kKeys[kFigures] = {"base_us",
                                           "step_inside_us",
                                           "limit_inside_gb_per_s",
                                           "own_copy_all_reduce_gb_per_s",
                                           "own_copy_all_gather_gb_per_s",
                                           "own_copy_reduce_scatter_gb_per_s",
                                           "own_copy_all_to_all_gb_per_s",
                                           "ramp_us",
                                           "ramp_mb"};
  return kKeys[static_cast<std::size_t>(figure)];
}

double UnitOf(Figure figure) {
  switch (figure) {
    case Figure::kBase:
    case Figure::kStepInside:
    case Figure::kRamp:
      return 1e-6;
    case Figure::kRampBytes:
      return 1e6;
    default:
      return 1e9;
  }
}

Figures FiguresOf(const CollectiveTiming& timing) {
  return {timing.base.seconds(),
          timing.step_inside.seconds(),
          timing.limit_inside.bytes_per_second(),
          timing.own_copy_all_reduce.bytes_per_second(),
          timing.own_copy_all_gather.bytes_per_second(),
          timing.own_copy_reduce_scatter.bytes_per_second(),
          timing.own_copy_all_to_all.bytes_per_second(),
          timing.ramp.seconds(),
          timing.ramp > sim::Duration() ? static_cast<double>(timing.ramp_bytes.count()) : 0};
}

CollectiveTiming WithFigures(CollectiveTiming timing, const Figures& figures) {
  const auto of = [&](Figure figure) { return figures[static_cast<std::size_t>(figure)]; };
  const auto rate = [&](Figure figure) { return sim::ByteRate::GigabytesPerSecond(of(figure) * 1e-9); };
  timing.base = sim::Duration::FromSeconds(of(Figure::kBase));
  timing.step_inside = sim::Duration::FromSeconds(of(Figure::kStepInside));
  timing.limit_inside = rate(Figure::kLimitInside);
  timing.own_copy_all_reduce = rate(Figure::kCopyAllReduce);
  timing.own_copy_all_gather = rate(Figure::kCopyAllGather);
  timing.own_copy_reduce_scatter = rate(Figure::kCopyReduceScatter);
  timing.own_copy_all_to_all = rate(Figure::kCopyAllToAll);
  timing.ramp = sim::Duration::FromSeconds(of(Figure::kRamp));
  timing.ramp_bytes =
      sim::Bytes(std::max<std::int64_t>(1, static_cast<std::int64_t>(of(Figure::kRampBytes))));
  return timing;
}

double TimeOf(const CollectivePoint& point, const Figures& figures) {
  const auto of = [&](Figure figure) { return figures[static_cast<std::size_t>(figure)]; };
  double flows = point.links_s;
  if (of(Figure::kLimitInside) > 0) flows = std::max(flows, point.bus_bytes / of(Figure::kLimitInside));
  if (point.copy && of(*point.copy) > 0) flows += point.own_bytes / of(*point.copy);
  double ramp = 0;
  if (of(Figure::kRamp) > 0) {
    ramp = of(Figure::kRamp) * std::min(1.0, point.bus_bytes / of(Figure::kRampBytes));
  }
  return of(Figure::kBase) + point.route_s + point.steps * of(Figure::kStepInside) + ramp +
         flows * (1 + point.fill);
}

hardware::Device WithPointToPoint(hardware::Device device) {
  const auto is_own = [](const CollectiveTiming& timing) {
    return timing.algorithm == sim::Algorithm::kPointToPoint;
  };
  std::vector<CollectiveTiming>& timings = device.collective_timing;
  if (std::any_of(timings.begin(), timings.end(), is_own)) return device;
  const std::vector<CollectiveTiming> given = timings;
  for (const CollectiveTiming& ring : given) {
    if (ring.algorithm != sim::Algorithm::kRing || ring.protocol == sim::Protocol::kLl128) continue;
    timings.push_back(ring);
    timings.back().algorithm = sim::Algorithm::kPointToPoint;
  }
  return device;
}

sim::NcclVersion NcclVersionOf(const MeasuredCollective& row) {
  const auto version = sim::ReadNcclVersion(row.nccl);
  if (version.ok()) return version.value();
  // "2.31.2" is newer than what is known; "2.x" is not stated.
  const std::size_t dot = row.nccl.find('.');
  int minor = 0;
  if (dot != std::string::npos) {
    std::from_chars(row.nccl.data() + dot + 1, row.nccl.data() + row.nccl.size(), minor);
  }
  return row.nccl.starts_with("2.") && minor > sim::kNewestNccl.minor ? sim::kNewestNccl : sim::NcclVersion{};
}

std::optional<CollectivePoint> PointOf(const MeasuredCollective& row, const hardware::Device& device) {
  if (row.nodes != 1) return std::nullopt;
  const auto fabric = NodeOf(row, device);
  if (!fabric) return std::nullopt;
  const Prober prober(row, device, *fabric);
  const auto way = prober.Way();
  if (!way) return std::nullopt;

  constexpr double kSlow = 1e6;  // B/s: slower than any wire here, so that the limit alone counts
  const sim::Duration step = sim::Duration::FromSeconds(1);
  const auto bare = prober.With([](const CollectiveTiming& t) { return Bare(t); });
  const auto limited = prober.With([&](const CollectiveTiming& t) {
    CollectiveTiming slow = Bare(t);
    slow.limit_inside = sim::ByteRate::GigabytesPerSecond(kSlow * 1e-9);
    return slow;
  });
  const auto stepped = prober.With([&](const CollectiveTiming& t) {
    CollectiveTiming slow = Bare(t);
    slow.step_inside = step;
    return slow;
  });
  CollectivePoint point{.algorithm = way->algorithm,
                        .protocol = way->protocol,
                        .copy = CopyOf(row.kind),
                        .measured_s = row.seconds,
                        .steps = stepped.latency - bare.latency,
                        .links_s = bare.flows,
                        .bus_bytes = limited.flows * kSlow,
                        .own_bytes = static_cast<double>(row.bytes.count()) / row.ranks};
  // Two equations: latency = routes + fill x flows.
  point.fill = std::max(0.0, (limited.latency - bare.latency) / (limited.flows - bare.flows));
  point.route_s = std::max(0.0, bare.latency - point.fill * bare.flows);
  return point;
}

}  // namespace scenarios
