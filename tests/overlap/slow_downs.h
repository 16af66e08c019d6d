// What communication does to the computation beside it: in steps of FSDP, and to kernels by themselves.

#ifndef TESTS_OVERLAP_SLOW_DOWNS_H_
#define TESTS_OVERLAP_SLOW_DOWNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/scenario.h"
#include "sim/base/kernel.h"
#include "sim/base/work_times.h"

namespace overlap {

// A model by FSDP on the devices of one node, and what a test sets besides.
struct Job {
  std::string device, model;
  std::int64_t devices = 4;
  std::int64_t micro = 1;
  std::int64_t sequence_length = 2048;
  std::vector<std::pair<std::string, std::string>> sets = {};
};

// One step of rank 0, in seconds.
struct Played {
  Job job;
  double step = 0;
  double alone = 0;    // computation, as if nothing ran beside it
  double compute = 0;  // as it took
  double moving = 0;   // communication in flight

  double slow_down() const { return compute / alone - 1; }
  // Computation and communication one after the other, over what the step takes.
  double serial() const { return (alone + moving) / step - 1; }
};
Played Play(const Job& job);

// The study's jobs as far as it tells them: GPT and LLaMA models on 4 devices. Sizes, batches and the length
// of 2,048 are assumed.
std::vector<Played> Study(const std::string& device);

// Of several jobs.
struct Spread {
  double mean = 0, most = 0;
};
Spread SlowDowns(const std::vector<Played>& all);
Spread Serials(const std::vector<Played>& all);

// What an all-gather of 256 MiB over the 8 devices of a node takes of each.
sim::DeviceTaken TakenByGather(const std::string& device);
// How many times as long the kernel is beside it.
double BesideGather(const std::string& device, const sim::Kernel& kernel);

sim::Kernel Product(std::int64_t m, std::int64_t n, std::int64_t k);
sim::Kernel Attention(std::int64_t batch, std::int64_t heads, std::int64_t length);
sim::Kernel Elementwise(std::int64_t bytes);

}  // namespace overlap

#endif  // TESTS_OVERLAP_SLOW_DOWNS_H_
