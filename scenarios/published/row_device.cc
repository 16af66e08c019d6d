// Device by exact name; NICs and network from what the row says of its nodes.

#include <cmath>
#include <cstdio>
#include <optional>
#include <regex>

#include "hardware/device_reader.h"
#include "proto/scenario.pb.h"
#include "scenarios/published/row_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

// The compute NICs of one node.
struct Nics {
  std::int64_t count = 0;
  double gbit_per_s = 0;  // each
};

// Reads "8x400Gb/s NDR", "4x Omni-Path 100Gb/s", "1600Gb/s RoCE per node", "400Gb/s RDMA per GPU",
// "EFA 3.2Tb/s per node". A rate of a node is shared by as many NICs as the device's node has.
std::optional<Nics> ReadNics(const std::string& text, std::int64_t usual_nics, std::int64_t devices) {
  const auto flags = std::regex::icase;
  std::smatch found;
  if (std::regex_search(text, found, std::regex(R"((\d+)\s*x\s*(?:omni-path\s*)?(\d+)\s*gb)", flags))) {
    return Nics{std::stoll(found[1]), std::stod(found[2])};
  }
  const std::regex rate(R"((\d+(?:\.\d+)?)\s*([gt])b/s(?:\s+\w+)?\s+per\s+(node|gpu))", flags);
  if (!std::regex_search(text, found, rate)) return std::nullopt;
  constexpr double kGbitOfTbit = 1000;
  const bool tera = found[2] == "T" || found[2] == "t";
  const double gbit = std::stod(found[1]) * (tera ? kGbitOfTbit : 1);
  const bool of_node = found[3].str().size() == 4;
  if (!of_node) return Nics{devices, gbit};
  const std::int64_t nics = usual_nics > 0 ? usual_nics : devices;
  return Nics{nics, gbit / static_cast<double>(nics)};
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string SourceText(const StepRow& row, const std::string& note) {
  return "source { title: " + Quoted(row.source) + " note: " + Quoted(note) + " }";
}

// The catalogue's device in a node of other size or NICs. EFA carries 36.5 to 37 GB/s of 50 in
// all-reduces of 4 to 16 GiB over four nodes; others what the catalogue's NIC carries of its wire.
std::string DeviceText(const StepRow& row, const std::string& name, const std::string& base,
                       const std::optional<Nics>& nics) {
  constexpr double kGbitPerGbyte = 8, kEfaEfficiency = 0.735;
  std::string text = "# " + base + " in the nodes of " + row.id + ".\nname: " + Quoted(name) +
                     "\nderived_from: " + Quoted(base) + "\nnode {\n  name: " + Quoted(name) +
                     "\n  devices: " + std::to_string(row.gpus_per_node) + "\n";
  if (nics) text += "  nics: " + std::to_string(nics->count) + "\n";
  text += "  basis: PUBLISHED\n  " + SourceText(row, nics ? row.network : row.scale_up) + "\n";
  // AWS's hosts of H100 (p5) have AMD EPYC processors, as those have that launches were measured on beside
  // A100.
  if (base == "h100_sxm" && Says(row.network, "EFA")) {
    text += "  launch { kernel_us: 5 eager_operation_us: 45 basis: ASSUMED " +
            SourceText(row, "as measured on hosts of AMD EPYC with A100") + " }\n";
  }
  if (nics) {
    const bool efa = Says(row.network, "EFA");
    text += "  nic {\n    bandwidth_gb_per_s_each_way: " + Number(nics->gbit_per_s / kGbitPerGbyte) + "\n";
    if (efa) text += "    efficiency: " + Number(kEfaEfficiency) + "\n";
    text += std::string("    basis: DERIVED\n    ") +
            SourceText(row, efa ? "what all-reduces of 4 to 16 GiB over 4 nodes reach on EFA, 36.5 to 37 GB/s"
                                : "what rings reach of it as on the base's NIC") +
            "\n  }\n";
  }
  return text + "}\n";
}

// The catalogue's topology for a rate that one names; else one that never blocks.
const char* TopologyOf(const StepRow& row, double gbit_per_s, Draft* draft) {
  if (Says(row.network, "HDR") && gbit_per_s == 200) return "rail_optimised_hdr";
  if (Says(row.network, "NDR") && gbit_per_s == 400) return "rail_optimised_ndr";
  draft->Assume("switches are not stated: a network that never blocks");
  return "non_blocking";
}

}  // namespace

void WriteHardware(const StepRow& row, Draft* draft) {
  proto::Diagnostics diagnostics;
  const auto device = hardware::ReadDevice(row.gpu, {}, "", &diagnostics, "gpu");
  if (!device) return draft->Refuse("gpu: not in the catalogue under this name");
  config::Scenario& out = *draft->scenario;
  const sim::NodeShape& node = device->node;
  // A rack is one domain, whatever its trays.
  const bool rack = Says(row.scale_up, "NVL72");
  const std::int64_t devices = rack ? node.devices : row.gpus_per_node;
  out.set_hardware(device->name);
  out.set_devices(row.n_gpu);
  std::optional<Nics> nics;
  if (row.n_gpu <= devices) {
    out.set_topology("single_node");
  } else {
    nics = ReadNics(row.network, node.nics, devices);
    if (!nics) return draft->Refuse("network: NICs between nodes are not stated");
    if (row.n_gpu % devices != 0) return draft->Refuse("n_gpu: not a whole number of nodes");
    out.set_topology(TopologyOf(row, nics->gbit_per_s, draft));
  }
  constexpr double kSame = 0.01;  // of a NIC's wire
  const double usual = 8e-9 * device->nic.wire.bytes_per_second();
  const bool same_nics = !nics || (nics->count == node.nics && !Says(row.network, "EFA") &&
                                   std::abs(nics->gbit_per_s - usual) < kSame * usual);
  if (devices == node.devices && same_nics) return;
  const std::string name = draft->conversion.name + "_device";
  out.set_hardware(name);
  draft->conversion.files.push_back({name, DeviceText(row, name, device->name, nics)});
}

}  // namespace scenarios
