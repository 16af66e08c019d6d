// The steps from a device file's message to a Device; used by device_reader.cc
// alone, and apart for their length.

#ifndef HARDWARE_DEVICE_MESSAGE_H_
#define HARDWARE_DEVICE_MESSAGE_H_

#include <string>
#include <vector>

#include "hardware/device.h"
#include "proto/text_reader.h"

namespace orrery::config {
class Hardware;
}

namespace hardware {

// Reports everything wrong with the message; returns whether nothing is.
bool CheckDevice(const orrery::config::Hardware& message, const proto::Field& root,
                 proto::Diagnostics* diagnostics);

// REQUIRES: CheckDevice found nothing
Device ConvertDevice(const orrery::config::Hardware& message);

// Every group of figures with its basis and source.
std::vector<Figure> ListFigures(const orrery::config::Hardware& message);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_MESSAGE_H_
