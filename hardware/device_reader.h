// Devices from files: name or path in, a legal Device or all errors out.

#ifndef HARDWARE_DEVICE_READER_H_
#define HARDWARE_DEVICE_READER_H_

#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "proto/text_reader.h"

namespace hardware {

// Reads a device. `name_or_path` is, in this order:
//   a path, when it has a '/' or ends in .textproto or .json: from
//     `beside_folder` when it is there, else from the working directory;
//   a file NAME.textproto in `beside_folder` (which wins over the catalogue);
//   the name or a listed alias of a catalogue device, exactly as written. There
//     is no nearest match: "A10" is an error that names A100, never an A100.
// `overrides` are paths inside the device: "node.nics", "memory.usable_gib".
// An empty `beside_folder` means none. `place` is where the name was given; errors
// about the name itself cite it.
//
// Errors: unknown names with the nearest known ones; missing fields, zero,
// negative or infinite rates, figures out of range, formats and protocols
// given twice or not at all, and parts larger than their whole; all of them in
// one run, each at its place.
std::optional<Device> ReadDevice(const std::string& name_or_path,
                                 const std::vector<proto::Override>& overrides,
                                 const std::string& beside_folder, proto::Diagnostics* diagnostics,
                                 const std::string& place = "device");

// All devices of the catalogue, in its order; for lists.
std::vector<Device> ReadCatalogue(proto::Diagnostics* diagnostics);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_READER_H_
