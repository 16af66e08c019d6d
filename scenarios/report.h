// Report: what a run found, as values. The writers in scenarios/output print
// it; nothing is computed there.

#ifndef SCENARIOS_REPORT_H_
#define SCENARIOS_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.h"

namespace scenarios {

// A named part of a whole, in the order to print.
struct TimePart {
  std::string name;
  sim::Duration time;
};
struct BytePart {
  std::string name;
  sim::Bytes bytes;
};

// One pipeline stage. Times are of its rank that idles least, in the last period.
struct StageReport {
  std::int64_t stage = 0;
  std::int64_t layers = 0;
  std::int64_t parameters = 0;      // held by one rank
  std::uint32_t rank = 0;           // the one the times are of
  sim::Duration busy;               // of its compute stream
  sim::Duration mean_busy;          // of the compute streams of all ranks of the stage
  std::vector<TimePart> breakdown;  // adds up to the step time
  std::vector<BytePart> memory;     // adds up to memory_total
  sim::Bytes memory_total;
  std::int64_t micro_batches_in_flight = 0;  // most activations (of one chunk each) held at once
  bool fits = true;
};

// All links of one kind.
struct TierReport {
  std::string name;
  std::int64_t links = 0;
  double mean_utilisation = 0;  // of the last period: 1 = full all the time
  double max_utilisation = 0;
  std::string busiest_link;
  sim::Bytes busiest_bytes;
};

// Collectives of one group, kind and size that a rank takes part in.
struct CollectiveReport {
  std::string purpose;  // "data"; the class of their tasks
  std::string kind;     // "all-reduce"
  std::int64_t ranks = 0, nodes = 0;
  sim::Bytes bytes;               // as their kind counts them
  std::int64_t times = 0;         // in all simulated steps together
  std::string algorithm;          // "Ring", as NCCL writes it, and so the protocol
  std::string protocol;           // "Simple"
  std::int64_t channels = 0;      // thread blocks, an SM each; 0: not known
  sim::Duration alone;            // what one takes on the idle fabric
  std::string fastest_algorithm;  // of what NCCL could do here; empty where it takes that
  std::string fastest_protocol;
  sim::Duration fastest_alone;
};

// Kernels of a rank in a step, by how well their times are known.
struct KernelReport {
  std::string basis;         // "measurement", "fit", "published", "derived", "extrapolation", "assumed"
  std::int64_t kernels = 0;  // launched
  sim::Duration time;        // together, alone on the device
};

// What a planner computes by hand, beside what the simulation gave.
struct ClosedForm {
  double six_pd_flops = 0;              // 6 * active parameters * tokens of a step
  double six_pd_mfu = 0;                // what MFU must be for T = 6PD / (N * peak * MFU)
  double time_at_peak_s = 0;            // 6PD / (N * peak)
  double bubble_share = 0;              // (p-1) / (v*m + p-1) of the pipeline's own time
  double gradient_bytes_per_rank = 0;   // sent for data parallelism in a step
  double parameter_bytes_per_rank = 0;  // sent to gather parameters (ZeRO-1 to 3)
  double tensor_bytes_per_rank = 0;     // sent inside the tensor group
  double context_bytes_per_rank = 0;    // sent inside the context group
  double expert_bytes_per_rank = 0;     // sent to and from experts on other ranks, at even load
  double pipeline_bytes_per_rank = 0;   // sent to the next and previous stage
  double embedding_bytes_per_rank = 0;  // sent between first and last stage for a tied table
};

// One simulated save.
struct SaveReport {
  std::int64_t after_step = 0;  // simulated steps before it
  sim::Duration start;          // its first copy, after the start of the simulation
  sim::Duration copy, write;    // from the first rank's begin to the last one's end
  sim::Duration blocked;        // how long it held up the rank that waited longest
  sim::Duration stall;          // part of that before its copy could begin: staging was full
  sim::Duration stalled_since;  // after the start of the simulation
};

// What saving the state costs. The step time of the report is that of steps
// without a save: the last period before the first one.
struct CheckpointReport {
  std::string mode, copy, format, path, source;
  std::int64_t every_steps = 1;
  std::int64_t bytes_per_parameter = 0;  // of a whole save
  double written_fraction = 1;           // of those bytes: below 1 in a DELTA
  sim::Bytes bytes, largest_rank, largest_node, staging_per_node;
  std::int64_t saves_in_staging = 1;  // of the node that holds fewest
  std::vector<SaveReport> saves;      // as simulated; may be none
  // Of the first save, which finds staging empty; where none was simulated, on
  // an idle fabric, as the closed forms beside them always are.
  sim::Duration copy_time, write_time, blocked;
  sim::Duration copy_idle, write_idle;
  double interval_s = 0;            // from one save to the next while nothing stalls; may be beyond the clock
  sim::Duration earliest_interval;  // the shortest that never stalls
  sim::Duration stalled;            // together, in the simulated steps
  // What the simulated steps took beyond as many steady ones, a save: waiting
  // for it, and what its traffic slowed down; stalls apart.
  sim::Duration cost;
  sim::Duration effective_step_time;  // in the long run, with saves
  sim::Bytes served_per_interval;     // what the writers manage
  sim::Bytes backlog_per_interval;    // above zero: unstable
  // In a long run, from 1; its copy waits that long, and training with it, less a step if OVERLAPPED.
  std::optional<std::int64_t> first_stall_save;
  sim::Duration first_stall_since, first_stall;  // after the first save was due; how long
  // To write within the interval; none: no number would do, or SYNC, which waits for any.
  std::optional<std::int64_t> servers_needed;
  std::int64_t servers = 1, replicas = 1;
  std::optional<sim::Duration> restart_read, restart;  // until hosts, and devices, have the state back
  sim::Duration restart_idle;                          // the read's closed form
  // Parts of all time, stalls too; 1: nothing is left for training. The advised interval is Young's, or
  // the shortest without stalls where that is longer.
  std::optional<double> mtbf_hours, young_interval_s, young_waste, advised_interval_s, advised_waste, waste;
  std::uint32_t breakdown_rank = 0;
  std::vector<TimePart> breakdown;  // of the step that a save held up longest; empty without one
};

// What waits in the hosts' memory while a step runs.
struct OffloadReport {
  std::int64_t activation_layers = 0;
  double optimizer_fraction = 0;
  bool parameters = false;
  sim::Bytes bytes_per_step;                        // of activations, each way, of the rank that copies most
  sim::Bytes gradients_per_step, weights_per_step;  // of the optimizer, down and up, likewise
  sim::Bytes host_per_node;                         // at a time, of the node that holds most
  sim::Bytes host_memory;                           // that a node has
};

// What to change, and what it may bring.
struct Suggestion {
  std::vector<std::string> set;  // "layout.virtual=2": fields as --set takes them, all of them together
  std::string text;              // what that does
};

// What limits the step, and what to try; scenarios/verdict finds it.
struct Verdict {
  std::string id;  // "pipeline_bubble"; stable
  double share =
      0;  // of the step, and the most that a suggestion can gain; of what a device has for "memory"
  std::string text;                     // one line
  std::vector<Suggestion> suggestions;  // in order; each by itself
  std::string note;                     // what no part of the step has: data loading
};

// One figure of the device, or of the model of its host, that results can lean on.
struct Provenance {
  std::string key, value, basis, source;
  bool used = false;  // this result can change with it
};

struct Report {
  std::string scenario, file, source;
  std::vector<std::string> overrides;      // "layout.tensor=4", as they were given
  std::string preset, preset_source;       // empty without one
  std::vector<std::string> preset_fields;  // "training.attention=CUDNN": given by it
  std::string model, hardware, topology;
  std::string schedule;
  std::int64_t devices = 0;
  std::int64_t tensor = 1, pipeline = 1, data = 1, virtual_stages = 1;
  bool sequence = false;
  std::int64_t context = 1, ulysses = 1;  // ulysses: of them, neighbours that exchange heads
  std::string context_kind;               // "ring", "all-gather", "ulysses"; "none" where context is 1
  bool zigzag = true;
  bool spreads_experts = false;  // routed experts have a layout of their own:
  std::int64_t expert = 1, expert_tensor = 1, expert_data = 1;
  double expert_imbalance = 1;  // rows at the busiest expert group over the mean
  std::int64_t global_batch = 0, micro_batch = 0, micro_batches = 0, sequence_length = 0;
  std::int64_t parameters = 0;         // of the whole model
  std::int64_t active_parameters = 0;  // of which one token uses; less with experts

  std::string digest;
  std::uint64_t tasks = 0;        // of all ranks
  std::uint64_t events = 0;       // that were played
  std::int64_t ranks_played = 0;  // one of each kind (fold.h), or all
  std::int64_t steps = 0;

  sim::Duration step_time;  // without saves
  bool steady = false;      // the last two periods are equal
  double mfu = 0, hfu = 0;  // of the data-sheet peak; full attention, logits
  double mfu_causal = 0;    // attention counted half
  double tokens_per_s = 0;
  double tflops_per_device = 0;  // model FLOPs
  double peak_tflops = 0;        // of training.format; MFU and HFU are parts of it
  std::string peak_format;
  std::string matmul_recipe;      // of linear layers; empty: peak_format
  double matmul_peak_tflops = 0;  // of the recipe's format

  std::uint32_t breakdown_rank = 0;     // of the stage that idles least
  std::vector<TimePart> breakdown;      // adds up to step_time
  std::vector<TimePart> critical_path;  // adds up to step_time
  std::vector<StageReport> stages;
  std::vector<TierReport> tiers;
  std::string nccl_version;                   // "2.27"
  std::vector<CollectiveReport> collectives;  // of the breakdown's rank, the longest ones first

  std::vector<KernelReport> kernels;  // of the breakdown's rank, the best known first

  sim::Bytes memory_per_device;  // usable
  bool fits = true;
  std::optional<double> price_usd_per_device_hour;
  std::string price_source;
  std::optional<double> cost_usd_per_step, cost_usd_per_trillion_tokens;
  ClosedForm closed_form;
  std::optional<OffloadReport> offload;        // null: all stays on the devices
  std::optional<CheckpointReport> checkpoint;  // null: nothing is saved
  std::optional<double> published_step_time_s;
  std::string published_source;
  bool published_applies = true;  // false where overrides made it another job than the published one
  std::vector<std::string> warnings;
  std::vector<Provenance> figures;
  std::optional<Verdict> verdict;  // null: nobody asked for it
};

}  // namespace scenarios

#endif  // SCENARIOS_REPORT_H_
