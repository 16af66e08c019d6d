// Whatever a model, a device or a topology says: its reader gives messages or a
// value that the arithmetic behind it can take.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "models/parameters.h"
#include "sim/base/check.h"
#include "topologies/topology.h"

namespace {

// Devices and topologies are read from files only. Absolute, so a path to all readers.
std::string WriteFile(const std::string& text) {
  const auto name = "orrery_fuzz_" + std::to_string(getpid()) + ".textproto";
  const std::string path = std::filesystem::temp_directory_path() / name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  proto::Diagnostics of_model, of_device, of_topology;
  const auto model = models::ReadModelText("a.textproto", text, {}, &of_model);
  CHECK(model.has_value() == of_model.ok());
  if (model) CHECK(models::ParametersOf(*model).total() > 0);

  const std::string path = WriteFile(text);
  const auto device = hardware::ReadDevice(path, {}, "", &of_device);
  CHECK(device.has_value() == of_device.ok());
  const auto topology = topologies::ReadTopology(path, {}, "", &of_topology);
  CHECK(topology.has_value() == of_topology.ok());
  if (topology) {
    const auto rate = sim::ByteRate::BytesPerSecond(25'000'000'000);
    const sim::NodeShape node{
        .name = "node", .devices = 2, .nvlink = rate, .pcie = rate, .nics = 2, .nic = rate};
    const auto fabric = topologies::BuildFabric(*topology, node, 4);
    if (fabric.ok()) CHECK(fabric.value().devices.size() == 4);
  }
  return 0;
}
