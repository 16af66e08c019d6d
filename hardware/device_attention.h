// Fused attention in a device's file: checked, and converted. For device_check.cc and device_convert.cc.

#ifndef HARDWARE_DEVICE_ATTENTION_H_
#define HARDWARE_DEVICE_ATTENTION_H_

#include "hardware/device.h"
#include "proto/text_reader.h"

namespace orrery::config {
class Hardware;
}

namespace hardware {

// What is wrong between fields; each by itself has been looked at.
void CheckAttention(const orrery::config::Hardware& message, const proto::Field& root,
                    proto::Diagnostics* diagnostics);

// Fills `attention` and `paged_attention`.
void ConvertAttention(const orrery::config::Hardware& message, Device* device);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_ATTENTION_H_
