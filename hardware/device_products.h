// What a device's file has of matrix products beside their models: between which shapes these were fitted,
// and products that were measured. Used by device_check.cc and device_convert.cc.

#ifndef HARDWARE_DEVICE_PRODUCTS_H_
#define HARDWARE_DEVICE_PRODUCTS_H_

#include <cstddef>

#include "hardware/device.h"
#include "proto/text_reader.h"

namespace orrery::config {
class Hardware;
}

namespace hardware {

// sim::NumberFormat of an orrery::config::Hardware::Format.
std::size_t PositionOf(int format);

// Ranges have two ends in order; a product is measured once, in a format that has a model.
void CheckProducts(const orrery::config::Hardware& message, const proto::Field& root,
                   proto::Diagnostics* diagnostics);

// Fills the ranges of `device->gemm`, which is there, and `measured_products`. REQUIRES: CheckProducts found
// nothing
void ConvertProducts(const orrery::config::Hardware& message, Device* device);

}  // namespace hardware

#endif  // HARDWARE_DEVICE_PRODUCTS_H_
