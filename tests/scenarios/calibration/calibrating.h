// Devices, and rows that were "measured" on what a device with other figures simulates.

#ifndef TESTS_SCENARIOS_CALIBRATION_CALIBRATING_H_
#define TESTS_SCENARIOS_CALIBRATION_CALIBRATING_H_

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "hardware/device_reader.h"
#include "scenarios/calibration/collective_fit.h"
#include "scenarios/collective_run/nccl_tests.h"
#include "scenarios/lowering.h"
#include "topologies/topology.h"

namespace scenarios {

inline hardware::Device DeviceCalled(const std::string& name) {
  proto::Diagnostics diagnostics;
  const auto device = hardware::ReadDevice(name, {}, "", &diagnostics);
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return device.value();
}

// What the lowering gives for a row on an idle node.
inline double Simulated(const MeasuredCollective& row, hardware::Device device) {
  device.nccl.version = NcclVersionOf(row);
  const topologies::TopologySpec spec{
      .name = "node", .file = "", .source = "", .family = topologies::SingleNodeSpec{}};
  const auto fabric = topologies::BuildFabric(spec, device.node, row.ranks).value();
  std::vector<std::uint32_t> ranks(row.ranks);
  std::iota(ranks.begin(), ranks.end(), 0u);
  return IdleTime(fabric, LowerCollective(fabric, device, row.kind, row.bytes, ranks)).seconds();
}

// A curve from 512 B to 512 MiB, timed on `device`.
inline std::vector<MeasuredCollective> CurveOn(const hardware::Device& device, const std::string& collective,
                                               std::uint32_t ranks) {
  std::vector<MeasuredCollective> rows;
  for (std::int64_t bytes = 512; bytes <= 512 << 20; bytes *= 2) {
    MeasuredCollective row{.file = "made",
                           .line = static_cast<int>(rows.size()) + 1,
                           .source = "made",
                           .device = device.name,
                           .network = {},
                           .nccl = "2.27.3",
                           .note = {},
                           .collective = collective,
                           .kind = FindNcclTest(collective)->kind,
                           .ranks = ranks,
                           .bytes = sim::Bytes(bytes)};
    row.seconds = Simulated(row, device);
    rows.push_back(std::move(row));
  }
  return rows;
}

// Twelve curves.
inline std::vector<MeasuredCollective> CurvesOn(const hardware::Device& device) {
  std::vector<MeasuredCollective> rows;
  for (const char* collective : {"all_reduce", "all_gather", "reduce_scatter", "alltoall"}) {
    for (const std::uint32_t ranks : {2u, 4u, 8u}) {
      const auto curve = CurveOn(device, collective, ranks);
      rows.insert(rows.end(), curve.begin(), curve.end());
    }
  }
  return rows;
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_CALIBRATION_CALIBRATING_H_
