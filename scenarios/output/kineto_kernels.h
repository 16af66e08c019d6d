// What PyTorch's profiler would call a task: the kernel's name, its category and what it notes beside it.

#ifndef SCENARIOS_OUTPUT_KINETO_KERNELS_H_
#define SCENARIOS_OUTPUT_KINETO_KERNELS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/scenario.h"
#include "scenarios/step_builder.h"

namespace scenarios {

struct KinetoKernel {
  std::string name;
  const char* category = "kernel";          // or "gpu_memcpy", "cpu_op"
  const char* launch = "cudaLaunchKernel";  // the call that issues it
  std::string arguments;  // of its event, as JSON members, each behind a comma; may be empty
};

// A group of ranks that communicate.
struct ProcessGroup {
  std::string name;         // the same on all ranks: a digest of what follows
  std::string description;  // "tensor"
  std::vector<sim::Rank> ranks;
};

class KinetoKernels {
 public:
  // Both must outlive this. REQUIRES: scenario.fidelity is kFlow
  KinetoKernels(const Scenario& scenario, const StepProgram& steps) : scenario_(scenario), steps_(steps) {}

  // Collectives are named as NCCL names its kernels, by the algorithm and protocol that its tuner takes.
  // (NCCL itself compiles the kernels of some pairs only and serves others from these.)
  KinetoKernel Of(sim::TaskId task);
  // The groups of what Of has been asked for.
  const std::vector<ProcessGroup>& groups() const { return groups_; }

 private:
  std::size_t GroupOf(const std::string& description, const std::vector<sim::Rank>& ranks);
  KinetoKernel Copy(sim::TaskId task) const;
  KinetoKernel SendOrReceive(sim::TaskId task);
  KinetoKernel CollectiveKernel(sim::TaskId task, sim::TrafficId traffic);

  const Scenario& scenario_;
  const StepProgram& steps_;
  std::vector<ProcessGroup> groups_;
  std::map<std::pair<std::string, std::vector<sim::Rank>>, std::size_t> group_ids_;
  std::map<std::pair<sim::TaskClass, sim::TrafficId>, KinetoKernel> collectives_;
};

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_KINETO_KERNELS_H_
