// Storage of data and logs, and what feeding the devices takes.
//
// Source: textbook, 27.7, 17.7.1, 17.7.2, 17.7.6, 17.7.7; its figures where they are right, see
// docs/textbook.md. All of it in decimal bytes.

#ifndef SCENARIOS_BUDGET_DATA_STORAGE_H_
#define SCENARIOS_BUDGET_DATA_STORAGE_H_

#include <cstdint>

namespace scenarios {

// Text that a tokenizer makes one token of: about 4 bytes of English, 6 of Chinese.
inline constexpr double kTextBytesPerToken = 4;
// Audio in mono without compression: 16 kHz of 16 bits is 115.2 MB an hour.
constexpr double AudioBytes(double hours, double samples_per_s, double bits) {
  return hours * 3600 * samples_per_s * bits / 8;
}
// Video, or any stream, at a rate in bits a second: 8 Mbit/s is 3.6 GB an hour.
constexpr double StreamBytes(double hours, double bits_per_s) { return hours * 3600 * bits_per_s / 8; }

// A token's number as stored: two bytes name 65,536 tokens, no more (erratum A18).
constexpr std::int64_t TokenIdWidth(std::int64_t vocabulary) { return vocabulary <= 65'536 ? 2 : 4; }

// What a data set takes when `expansion` is kept of it: the text, its tokens, indices. Epochs read it again
// and store nothing.
constexpr double DatasetBytes(double tokens, double bytes_per_token, double expansion) {
  return tokens * bytes_per_token * expansion;
}

// Passes over a data set that a run takes: its tokens over those there are.
constexpr double Epochs(double tokens_of_run, double tokens_of_set) { return tokens_of_run / tokens_of_set; }

// Steps that read a data set `epochs` times, where `packing` of the places of a batch are tokens of it and
// the rest is padding: padding lengthens a run and no step.
constexpr double StepsOfEpochs(double tokens_of_set, double epochs, double places_of_step, double packing) {
  return tokens_of_set * epochs / (places_of_step * packing);
}

// Samples that a job has consumed after more steps: each takes data x micro x micro-batches.
constexpr std::int64_t ConsumedSamples(std::int64_t before, std::int64_t steps,
                                       std::int64_t samples_of_step) {
  return before + steps * samples_of_step;
}

// Bytes a second that training reads; `bytes_per_token` as stored. Of one data rank: over their number.
constexpr double ReadRate(double tokens_of_step, double bytes_per_token, double step_s) {
  return tokens_of_step * bytes_per_token / step_s;
}
constexpr double ReadsPerSecond(double readers, double reads_each, double step_s) {
  return readers * reads_each / step_s;
}

// Servers for a rate, rounded up, each copy of the data on servers of its own.
std::int64_t StorageServers(double rate, double server_rate, std::int64_t replicas);

// Cores that tokenise at the rate of training; `core_rate` bytes of text a second.
std::int64_t TokenizerCores(double tokens_per_s, double text_bytes_per_token, double core_rate);
// Cores that augment samples.
std::int64_t AugmentationCores(double samples_per_s, double seconds_of_sample);

// Batches that workers hold ready.
constexpr double PrefetchBytes(double workers, double prefetch, double batch_bytes) {
  return workers * prefetch * batch_bytes;
}
constexpr double ShuffleBytes(double samples, double sample_bytes) { return samples * sample_bytes; }

// Logs. Scalars of a step, as one writer keeps them.
constexpr double ScalarLogBytes(double metrics, double steps, double bytes_each) {
  return metrics * steps * bytes_each;
}
// Of each device so much a day: NCCL, standard output.
constexpr double DailyLogBytes(double devices, double bytes_per_day, double days) {
  return devices * bytes_per_day * days;
}
// Time series, sampled every `interval_s`.
constexpr double MonitoringBytes(double series, double days, double interval_s, double bytes_per_sample) {
  return series * days * 86400 / interval_s * bytes_per_sample;
}

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_DATA_STORAGE_H_
