// Jobs that are played in milliseconds.

#ifndef TESTS_SCENARIOS_PLAN_SMALL_JOBS_H_
#define TESTS_SCENARIOS_PLAN_SMALL_JOBS_H_

#include <gtest/gtest.h>

#include <string>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "scenarios/plan/plan.h"

namespace scenarios {

inline models::Model ModelOf(const std::string& name, std::int64_t layers = 0) {
  proto::Diagnostics diagnostics;
  std::vector<proto::Override> overrides;
  if (layers > 0) overrides.push_back({1, "layers", std::to_string(layers), ""});
  const auto model = models::ReadModel(name, overrides, "", &diagnostics);
  EXPECT_TRUE(model.has_value()) << name;
  return model.value_or(models::Model());
}

inline hardware::Device DeviceOf(const std::string& name) {
  proto::Diagnostics diagnostics;
  const auto device = hardware::ReadDevice(name, {}, "", &diagnostics, "device");
  EXPECT_TRUE(device.has_value()) << name;
  return device.value_or(hardware::Device());
}

// A few layers of a model. Scenarios name the whole model; the reader is given this one.
inline PlanJob JobOf(const std::string& model, std::int64_t layers, std::int64_t batch,
                     const std::string& device = "h800_sxm") {
  return {.model = ModelOf(model, layers),
          .model_name = model,
          .device = DeviceOf(device),
          .device_name = device,
          .topology = "",
          .sequence_length = 2048,
          .global_batch = batch,
          .usd_per_device_hour = {}};
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_PLAN_SMALL_JOBS_H_
