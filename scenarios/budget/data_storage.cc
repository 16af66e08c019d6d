#include "scenarios/budget/data_storage.h"

#include "scenarios/budget/round_up.h"
#include "sim/base/check.h"

namespace scenarios {

std::int64_t StorageServers(double rate, double server_rate, std::int64_t replicas) {
  CHECK(server_rate > 0 && replicas > 0);
  return RoundUp(rate / server_rate) * replicas;
}

std::int64_t TokenizerCores(double tokens_per_s, double text_bytes_per_token, double core_rate) {
  CHECK(core_rate > 0);
  return RoundUp(tokens_per_s * text_bytes_per_token / core_rate);
}

std::int64_t AugmentationCores(double samples_per_s, double seconds_of_sample) {
  return RoundUp(samples_per_s * seconds_of_sample);
}

}  // namespace scenarios
