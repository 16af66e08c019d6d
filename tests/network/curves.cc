#include "tests/network/curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "hardware/device_reader.h"
#include "proto/text_reader.h"
#include "scenarios/lowering.h"
#include "scenarios/published/csv.h"
#include "sim/base/check.h"
#include "topologies/topology.h"

namespace network {
namespace {

// Names of the table that are names of the catalogue, or close to one.
const std::map<std::string, std::string> kDevices = {{"a100_sxm", "a100_80_sxm"},
                                                     {"a100_sxm(DGX)", "a100_80_sxm"},
                                                     {"a100_sxm40", "a100_40_sxm"},
                                                     {"h100_sxm", "h100_sxm"},
                                                     {"h100_sxm(DGX)", "h100_sxm"},
                                                     {"h200_sxm", "h200_sxm"},
                                                     {"h20", "h20"},
                                                     {"b200_sxm", "b200_sxm"},
                                                     {"b300_sxm", "b300_sxm"},
                                                     {"gb200", "gb200_nvl72"},
                                                     {"gb300", "gb300_nvl72"},
                                                     {"l40s", "l40s"}};

const hardware::Device& DeviceOf(const std::string& gpu) {
  static std::map<std::string, hardware::Device> read;
  const auto known = read.find(gpu);
  if (known != read.end()) return known->second;
  proto::Diagnostics diagnostics;
  const auto device = hardware::ReadDevice(kDevices.at(gpu), {}, "", &diagnostics, "gpu");
  CHECK(device.has_value());
  return read.emplace(gpu, *device).first->second;
}

topologies::Fabric FabricOf(const Measured& row, const hardware::Device& device) {
  topologies::TopologySpec spec{
      .name = "measured", .file = "", .source = "", .family = topologies::SingleNodeSpec{}};
  std::int64_t devices = row.ranks;
  if (row.nodes > 1) {
    spec.family = topologies::RailOptimisedSpec{.nodes_per_leaf = row.nodes,
                                                .switch_latency = sim::Duration::Nanoseconds(250)};
    devices = std::int64_t{row.nodes} * device.node.devices;
  }
  return topologies::BuildFabric(spec, device.node, devices).value();
}

// The first of each node.
std::vector<std::uint32_t> DevicesOf(const Measured& row, const hardware::Device& device) {
  std::vector<std::uint32_t> devices;
  const std::uint32_t per_node = row.ranks / row.nodes;
  for (std::uint32_t rank = 0; rank < row.ranks; ++rank) {
    devices.push_back(rank / per_node * static_cast<std::uint32_t>(device.node.devices) + rank % per_node);
  }
  return devices;
}

}  // namespace

std::vector<Measured> ReadMeasured() {
  const std::string path = std::string(ORRERY_SOURCE_DIR) + "/tests/network/nccl_measured.csv";
  proto::Diagnostics diagnostics;
  std::string text;
  CHECK(proto::ReadFile(path, &text, &diagnostics));
  const auto table = scenarios::ReadCsv(path, text, &diagnostics);
  CHECK(table.has_value());
  std::vector<Measured> rows = scenarios::ReadMeasuredCollectives(*table, {}, &diagnostics);
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return rows;
}

std::optional<std::string> WhyNot(const Measured& row) {
  if (!kDevices.contains(row.device)) return "no such device in the catalogue";
  if (row.source == "vidur" && row.nodes > 1) return "the network between its nodes is not stated";
  if (row.note.find("slow case") != std::string::npos) return "reported as a fault";
  return std::nullopt;
}

std::vector<Compared> Compare(const std::vector<Measured>& rows) {
  std::vector<Compared> compared;
  for (const Measured& row : rows) {
    if (WhyNot(row)) continue;
    hardware::Device device = DeviceOf(row.device);
    device.nccl.version = scenarios::NcclVersionOf(row);
    if (row.network.starts_with("4x HDR")) device.node.nics = 4;  // the catalogue's node has 8
    // What Ethernet, IP, UDP and InfiniBand's transport put around 4,096 bytes is 82, InfiniBand alone 26
    // (InfiniBand Architecture Specification, annex A17); the catalogue's NICs were measured on the latter.
    if (row.network.find("RoCE") != std::string::npos) {
      device.node.nic =
          sim::ByteRate::MilliBytesPerSecond(device.node.nic.milli() / (4096 + 82) * (4096 + 26));
    }
    if (row.note.starts_with("NCCL_ALGO=")) {
      CHECK(!sim::SetVariable(row.note.substr(0, row.note.find(';')), &device.nccl.environment));
    }
    if (row.note.starts_with("NVLSTree forced"))
      CHECK(!sim::SetVariable("NCCL_ALGO=NVLSTree", &device.nccl.environment));
    const topologies::Fabric fabric = FabricOf(row, device);
    const std::vector<std::uint32_t> devices = DevicesOf(row, device);
    const sim::CollectiveRequest request{row.kind, row.bytes};
    Compared one{.row = row};
    for (const scenarios::CollectiveWay& way : scenarios::WaysOf(fabric, device, request, devices)) {
      if (!way.taken) continue;
      one.simulated = way.idle.seconds();
      one.way = std::string(ToText(way.algorithm)) + ' ' + ToText(way.protocol);
    }
    CHECK(one.simulated > 0);
    // Its calls find an idle device: the time from one event to the next has the host's in it. The program
    // puts that at 20 to 30 us (network/benchmarks/all_reduce_bench.py in stas00/ml-engineering).
    if (row.note.starts_with("all_reduce_bench.py")) one.simulated += device.host.eager_operation_s;
    // One thread launches on one device after the other, and the first waits for the last.
    if (row.note.starts_with("nccl-tests -g "))
      one.simulated += (row.ranks - 1) * device.host.kernel_launch_s;
    compared.push_back(std::move(one));
  }
  return compared;
}

Errors ErrorsOf(const std::vector<const Compared*>& rows) {
  Errors errors{.rows = rows.size()};
  for (const Compared* row : rows) {
    errors.mape += std::abs(row->error()) / static_cast<double>(rows.size());
    errors.bias += row->error() / static_cast<double>(rows.size());
  }
  return errors;
}

std::vector<scenarios::Calibration> Calibrate(const std::vector<Measured>& rows) {
  std::vector<Measured> fitted;
  for (const Measured& row : rows) {
    if (row.source == "aiconfigurator" || row.source == "azure") fitted.push_back(row);
  }
  const std::vector<std::vector<std::string>> sets = {
      {"a100_sxm"}, {"h100_sxm", "h200_sxm"}, {"b200_sxm", "b300_sxm", "gb200", "gb300"}, {"l40s"}};
  std::vector<scenarios::Calibration> calibrations;
  for (const std::vector<std::string>& set : sets) {
    const scenarios::DeviceFinder find = [&](const std::string& name) {
      return std::find(set.begin(), set.end(), name) == set.end() ? nullptr : &DeviceOf(name);
    };
    auto calibration = scenarios::CalibrateCollectives(DeviceOf(set.front()), find, fitted);
    CHECK(calibration.ok());
    calibrations.push_back(std::move(calibration).value());
    scenarios::HoldOut(&calibrations.back());
  }
  return calibrations;
}

}  // namespace network
