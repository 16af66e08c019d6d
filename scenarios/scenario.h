// Scenario: one training job as plain values. A Scenario that exists is legal:
// names are resolved, products match, nothing has to be checked again.

#ifndef SCENARIOS_SCENARIO_H_
#define SCENARIOS_SCENARIO_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/device.h"
#include "models/block.h"
#include "models/memory.h"
#include "models/model.h"
#include "proto/field_list.h"
#include "scenarios/checkpoint.h"
#include "scenarios/layout.h"
#include "scenarios/pipeline.h"
#include "topologies/fabric.h"

namespace scenarios {

// Whole sequences, except where a unit is named.
struct Batch {
  std::int64_t global = 1;           // sequences a step, over all data ranks
  std::int64_t micro = 1;            // sequences a micro-batch
  std::int64_t sequence_length = 1;  // tokens
  std::int64_t micro_batches = 1;    // = global / (micro * data): what each pipeline runs a step
};

using models::Recompute;

// What each data rank holds its share of only, all that comes before included:
// nothing; optimizer state (ZeRO-1, Megatron-LM's distributed optimizer);
// gradients (ZeRO-2, FSDP's SHARD_GRAD_OP); weights (ZeRO-3, FSDP's FULL_SHARD).
enum class OptimizerSharding : std::uint8_t { kReplicated, kZero1, kZero2, kZero3 };

// How what is cut is shared and moved; see sharding.h.
struct Sharding {
  std::int64_t ranks = 0;             // that share one copy (HSDP); 0 = all data ranks
  bool no_sync = true;                // gradients reduced in a step's last micro-batch only
  bool reshard_after_forward = true;  // weights: given back between forward and backward
  bool reshard_last_unit = false;     // even those that the backward begins with
  std::int64_t prefetch = 1;          // units gathered ahead of the one that runs
};

// Which layers of each piece of the model kFull computes again.
struct FullRecompute {
  bool first_layers_only = false;  // Megatron-LM's "block": the first `layers`, each from its own input
  std::int64_t layers = 1;         // else "uniform": all, in groups of so many from the group's input
  // torchtitan's selective_ac_option: of the layers of a stage, chunk after chunk, each so-many-th from
  // its own input; 1 = as above.
  std::int64_t every = 1;

  // `at` counts the layers of a piece, `on_stage` those of its stage, both from 0.
  bool RunsAgain(std::int64_t at, std::int64_t on_stage) const {
    return (!first_layers_only || at < layers) && (on_stage + 1) % every == 0;
  }
};

// Linear layers in eight bits.
struct Matmul {
  models::Recipe recipe = models::Recipe::kNone;
  std::int64_t first_layers_bf16 = 0, last_layers_bf16 = 0;  // of the model, that stay in 16 bits
  bool parameter_gather = false;  // weights of linear layers are gathered in eight bits, and held so
  bool cast_each_gather = false;  // but for shares that are held in 16 and cast before each gather
};

// What leaves the device for the memory of its host; see offload.h.
struct Offload {
  std::int64_t activation_layers = 0;  // the first of each piece of the model; 0 = none
  std::int64_t optimizer_parts = 0;    // of 10^9 of the optimizer's state, and of its work
  bool parameters = false;             // shares of the weights
  bool overlap = false;                // of the optimizer's copies with reductions and with its updates
  sim::ByteRate host_rate = {};        // of one rank's update, at most; zero = no limit but the memory's
};

// All-reduces of tensor groups by one kernel that reads peers' memory, instead of NCCL.
enum class CustomAllReduce : std::uint8_t { kNone, kOneShot, kTwoShot, kVllm };

// How kernels come to the device: captured, or each launched by its host, which may wait for it to end.
enum class Launches : std::uint8_t { kCudaGraphs, kEager, kBlocking };

// Where a host that launches kernels waits for the device; proto/scenario.proto.
struct HostWaits {
  enum class Transfers : std::uint8_t { kNever, kUnlessInterleaved, kAlways, kReceives };
  Transfers transfers = Transfers::kNever;
  bool token_counts = false;
};

struct Training {
  sim::NumberFormat format = sim::NumberFormat::kBf16;           // weights, activations
  sim::NumberFormat gradient_format = sim::NumberFormat::kFp32;  // as reduced over data ranks
  OptimizerSharding optimizer_sharding = OptimizerSharding::kZero1;
  Sharding sharding;
  bool overlap_gradient_reduce = true;   // buckets reduced beside the backward
  bool overlap_parameter_gather = true;  // ZeRO-1 and 2: gathered beside the next step's forward
  sim::Bytes bucket;                     // gradient bytes per reduction; > 0
  Recompute recompute = Recompute::kNone;
  FullRecompute full_recompute;        // kFull
  models::SelectiveModules selective;  // kSelective
  sim::AttentionKind attention = sim::AttentionKind::kFlash2;
  bool dropout = false;
  std::int64_t vocabulary_divisor = 128;  // Megatron's make-vocab-size-divisible-by; times tensor
  bool gradient_norm = true;              // an all-reduce over all ranks before the optimizer
  Matmul matmul;
  bool fused_kernels = true;        // as models::Execution::fused
  bool fused_norms = true;          // as models::Execution::fused_norms
  bool experts_one_by_one = false;  // as models::ExpertSpread::one_by_one
  bool fused_loss = false;
  Launches launches = Launches::kCudaGraphs;
  HostWaits host_waits;
  Offload offload;
  bool mtp = false;  // the model's prediction modules are trained
  CustomAllReduce tensor_all_reduce = CustomAllReduce::kNone;
  bool tensor_overlap = false;  // gathers and scatters piece by piece beside their products
};

// What a framework's preset gave where the scenario does not say.
struct Preset {
  std::string name, description, source;
  std::vector<std::string> fields;  // "training.attention=CUDNN"
};

// Routed experts, where the layout spreads them.
struct RoutedExperts {
  models::Dispatcher dispatcher = models::Dispatcher::kAllToAll;
  bool fp8_dispatch = false;
  double capacity_factor = 0;  // 0 = dropless
  bool overlap_shared = false;
  std::int64_t node_limit = 0;  // 0 = none
  std::int64_t deepep_sms = 0;  // DeepEP's own figures, with so many SMs; 0 = as fast as the links
  hardware::Exchange::Kernels deepep_kernels = hardware::Exchange::Kernels::kNormal;
  // By expert group: the choices that its experts get, in any unit; empty = all as many.
  std::vector<std::int64_t> loads;

  // What the busiest group gets over what it would if all got as much.
  double Imbalance() const;
};

enum class Fidelity : std::uint8_t { kFlow, kChunk };  // coupled flows, or transfer by transfer

// A measured or published result to compare with.
struct Published {
  double step_time_s = 0;
  std::string source;
};

struct Scenario {
  std::string name;
  std::string description;  // one or two sentences; may be empty
  std::string file;         // where it was read from
  std::string source;       // where its figures come from
  models::Model model;
  hardware::Device device;
  topologies::Fabric fabric;
  std::int64_t devices = 1;
  Layout layout;
  Batch batch;
  Training training;
  std::optional<Preset> preset;
  Pipeline pipeline;
  RoutedExperts experts;
  Fidelity fidelity = Fidelity::kFlow;
  std::int64_t steps = 3;  // simulated; the last two give the steady period
  std::optional<double> price_usd_per_device_hour;
  std::string price_source;
  std::optional<Published> published;
  std::optional<Checkpoint> checkpoint;

  // Modules of the model that its last piece runs behind its layers.
  std::int64_t predictions() const { return training.mtp ? model.prediction_modules : 0; }

  std::vector<std::string> overrides;  // "layout.tensor=4", as they were given
  // Of the scenario's file with --set and preset, and behind "topology." of the topology's: paths of
  // proto/scenario.proto.
  std::vector<proto::FieldValue> fields;
  std::vector<std::string> warnings;  // legal but unwise, one sentence each
};

// What one rank executes of each layer.
models::Execution ExecutionOf(const Scenario& scenario);
// The same for one layer: some stay in 16 bits.
models::Execution ExecutionOf(const Scenario& scenario, std::int64_t layer);

}  // namespace scenarios

#endif  // SCENARIOS_SCENARIO_H_
