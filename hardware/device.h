// Device: one kind of GPU and the node it usually lives in, as plain values:
// what the data sheet says, and what kernels and links achieve of it.
//
// Rates are dense (without sparsity) and one direction. Every figure was read
// from a file that gives its unit in the key and its source beside it; see
// `figures`. A Device that exists is legal: all rates are above zero.

#ifndef HARDWARE_DEVICE_H_
#define HARDWARE_DEVICE_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/kernel.h"
#include "sim/base/node_shape.h"
#include "sim/base/units.h"
#include "sim/collective/algorithm.h"
#include "sim/collective/nccl_tuner.h"

namespace hardware {

inline constexpr std::size_t kNumberFormats = 11;  // sim::NumberFormat
inline constexpr std::size_t kMemoryClasses = 5;   // sim::MemoryClass

// How well a figure is known.
enum class Basis : std::uint8_t {
  kMeasured,   // on this device
  kPublished,  // a data sheet or a paper
  kDerived,    // from measured or published figures, by the rule that the source states
  kAssumed,    // nobody published it; the source says why this value
};

const char* ToText(Basis basis);  // "measured", ...

// One group of figures as the file has it, for lists of what a result leans on.
struct Figure {
  std::string key;    // "memory", "gemm[0] BF16", "node.nvlink"
  std::string value;  // "bandwidth_gb_per_s: 3350 capacity_gib: 80"
  Basis basis = Basis::kAssumed;
  std::string source;  // title, url, note
};

// Matrix products in one number format.
enum class GemmModelKind : std::uint8_t {
  kNone,      // the device has no units for this format
  kTiles,     // tiles, waves, split-K; see tile_model.h
  kRoofline,  // the larger of compute and memory time, each at a fixed efficiency
};

struct GemmModel {
  // The least and the largest m, n and k that it was fitted to; zeros: not known.
  struct Range {
    std::int64_t m = 0, n = 0, k = 0;
  };

  GemmModelKind kind = GemmModelKind::kNone;
  // The peak that `efficiency` is a part of: the one the model was fitted with,
  // which can differ from the data sheet's in the last digit.
  double peak_flops_per_s = 0;
  double efficiency = 0;        // of the peak, best tile, short kernels
  double relative_128x128 = 1;  // efficiency of smaller tiles, relative to 256x128
  double relative_128x64 = 1;   // and of all that are smaller still
  double prologue_k = 0;        // start and end of a tile, as so much more of k
  double wave_overlap = 0;      // 0: whole waves; 1: the next tiles start as SMs come free
  double long_kernel_loss = 0;  // kernels far above 2 ms take so much longer, by lower clocks
  std::int32_t most_parts = 1;  // that k may be cut into: a power of two
  double split_fixed_s = 0;     // a second kernel adds the parts of a split k
  double fixed_s = 0;           // start of the kernel
  // Into one SM: from L2; and from memory at most, over its share of the memory's rate.
  double l2_sm_bytes_per_s = 0;
  double sm_memory_ratio = 1;
  double memory_efficiency = 0;  // of the memory's rate
  double l2_ratio = 1;           // memory rate, times this, of what L2 has
  // Parts of L2 in which the first operand and the result, or the second operand, are
  // still there from the kernels before.
  double l2_first_part = 0, l2_second_part = 0;
  double norm = 1;     // how compute and memory time combine: PowerMean's p
  double row_k_s = 0;  // one row by a kernel of its own, a step of k; 0: by the tiles
  // A cast of the first operand that the operation which was measured includes: not in
  // the kernel's time, only beside measurements. Bytes of the memory's rate a number.
  double cast_fixed_s = 0, cast_bytes = 0;
  Range fitted_from = {}, fitted_to = {};
  std::int32_t place = -1;  // in the file's `gemm`
};

// A product that was measured, alone and without an epilogue.
struct MeasuredProduct {
  sim::NumberFormat format = sim::NumberFormat::kBf16;
  std::int64_t m = 0, n = 0, k = 0;
  double seconds = 0;
  std::int32_t place = -1;  // in the file's `measured_gemm`
};

// One implementation of fused attention at one width of heads; see attention_model.h.
struct AttentionModel {
  sim::AttentionKind implementation = sim::AttentionKind::kFlash2;
  std::int64_t head_dim = 0;
  // Rates that long sequences approach; FLOPs are 4 per query, visible key and
  // head dimension forward, and 2.5 times that backward. Causal masks cost
  // some of the rate, beside halving the work.
  struct Pass {
    double causal_flops_per_s = 0;
    double full_flops_per_s = 0;
    double overhead_tokens = 0;  // start and end of a block of queries, as so many more keys
    double query_tokens = 0;     // a query that is there, as so many more keys
    double tail = 0;             // of the longest block, what SMs wait for at the end; 0 ... 1
  };
  Pass forward, backward;
  std::int64_t block_queries = 128;  // of one head: an SM's piece of work
  double fixed_s = 0;
  // Of Device::paged_attention alone, which has no backward: keys and values go into a cache first.
  double cache_token_s = 0;      // a token's way there, however wide
  double cache_bytes_per_s = 0;  // of keys and values, each once; > 0
  std::int32_t place = -1;       // in the file's `attention` or `paged_attention`
};

// Kernels bound by the bytes they move.
struct MemoryBoundModel {
  std::array<double, kMemoryClasses> efficiency{};  // of the memory's rate, by sim::MemoryClass
  double fixed_s = 0;                               // added to every kernel
};

// What NCCL's kernels take from compute kernels that run beside them.
struct Interference {
  // SMs of sends and receives and of what else NCCL's tuner counts no channels of; 0: no communication
  // takes any, nor of the memory's rate.
  std::int32_t communication_sms = 0;
  double memory_bytes_per_wire_byte = 0;  // that the memory moves for a byte of bus bandwidth
  // Of what makes memory-bound work longer, products and attention take so much too, if their own bytes are
  // not more: 0 ... 1.
  double stalled_part = 0;
  // Matrix products launch a block for each SM, whoever holds it, and give each its tiles beforehand.
  bool persistent_products = false;
};

using sim::Protocol;

// What a collective takes beside its bytes on the links, by one of NCCL's algorithms and
// protocols, and how many bytes cross a wire for a byte of data.
//
// Rates of a device are bus bandwidth by nccl-tests' definition, whatever the
// algorithm: 2(n-1)/n of the buffer for all-reduce, (n-1)/n for all-gather,
// reduce-scatter and all-to-all, over the time.
// Source of defaults: NCCL 2.30, src/graph/tuning.cc: baseLatencies, hwLatencies.
struct CollectiveTiming {
  Protocol protocol = Protocol::kSimple;
  sim::Duration base;                    // once
  sim::Duration step_inside;             // a step over NVLink (PCIe without it)
  sim::Duration step_inside_multi_node;  // the same in a ring that leaves the node
  sim::Duration step_between;            // a step over the network
  std::int32_t wire_numerator = 1;       // LL 2/1, LL128 16/15, Simple 1/1
  std::int32_t wire_denominator = 1;
  // The fastest that it can be inside one node, all channels together, and over two and more
  // nodes; zero = what the wires give.
  sim::ByteRate limit_inside;
  sim::Algorithm algorithm = sim::Algorithm::kRing;
  sim::ByteRate limit_two_nodes, limit_more_nodes;
  // A member copies its own part of the buffer, 1/n of it, from input to output; the channels that send
  // do it, so it takes time beside the wires. Zero = none. Only inside one node.
  sim::ByteRate own_copy_all_reduce, own_copy_all_gather, own_copy_reduce_scatter, own_copy_all_to_all;
  // What starting to move takes, in proportion to the bytes (of bus bandwidth) up to `ramp_bytes`.
  sim::Duration ramp;
  sim::Bytes ramp_bytes{1};
  // Of an all-to-all by node, what a member sends inside its node and out of it, each by itself; zero = as
  // fast as the wires. Not in files: ExchangeTiming makes them.
  sim::ByteRate limit_by_node_inside, limit_by_node_between;
};

// What DeepEP's kernels take beside bytes on the links. Rates are of all bytes that a rank gets, its own
// tokens included, but for `between`.
struct Exchange {
  enum class Kernels : std::uint8_t { kNormal, kLowLatency, kV2 };
  Kernels kernels = Kernels::kNormal;
  bool combine = false;
  sim::Duration base, base_multi_node;  // the latter with the way through PCIe and NICs in it
  sim::Duration ramp;                   // in proportion to the bytes over NVLink, up to `ramp_bytes`
  sim::Bytes ramp_bytes{1};
  sim::ByteRate of_sm;    // zero: the kernels hold no SMs for long
  sim::ByteRate inside;   // over NVLink
  sim::ByteRate between;  // that leaves the node
};

// A pipe: what the wire carries, and what copies and collectives achieve.
struct LinkRate {
  sim::ByteRate wire;
  sim::ByteRate achieved;  // <= wire; this one is in Device::node
};

// The CPU side of the node.
struct Host {
  double kernel_launch_s = 0;    // CPU time to launch one kernel, part of the next; of further ones, all
  double eager_operation_s = 0;  // CPU time of one framework operation that launches it
  sim::Bytes memory;             // DRAM of a node
  sim::ByteRate disk_read;       // local NVMe of a node, all drives together
  sim::ByteRate disk_write;
};

struct Device {
  std::string name;
  std::vector<std::string> aliases;  // other exact names
  std::string file;                  // where it was read from
  std::string architecture;          // "Hopper"
  std::int32_t capability = 0;       // CUDA compute capability, major * 10 + minor
  std::int32_t sms = 0;              // streaming multiprocessors
  double boost_clock_hz = 0;
  sim::Bytes l2;
  double tdp_watts = 0;

  sim::Bytes memory;         // on the label
  sim::Bytes usable_memory;  // what a process can allocate, context included
  sim::ByteRate memory_rate;

  std::array<double, kNumberFormats> peak_flops_per_s{};  // data sheet, by sim::NumberFormat; 0 = none
  std::array<std::int32_t, kNumberFormats> peak_place{};  // in the file's `peaks`
  std::array<GemmModel, kNumberFormats> gemm{};
  std::vector<MeasuredProduct> measured_products;  // in order of format, m, n, k; each once
  std::vector<AttentionModel> attention;           // for training
  std::vector<AttentionModel> paged_attention;     // as serving engines run it: AttentionShape::paged
  MemoryBoundModel memory_bound;
  double minimum_kernel_s = 0;
  // Large products of random numbers draw more power than those of a constant,
  // and run slower: multiply GEMM efficiency by this when training.
  double random_data_derate = 1;
  Interference interference;
  std::vector<CollectiveTiming> collective_timing;  // each algorithm and protocol once
  std::vector<Exchange> exchanges;                  // both operations of some of DeepEP's kernels
  sim::NcclSetup nccl;                              // as NCCL's tuner sees it

  sim::NodeShape node;  // achieved rates
  LinkRate nvlink, pcie, nic, host_memory;
  Host host;

  std::vector<Figure> figures;  // in the order of the file
};

// A group of figures by its key, "gemm[0]"; null: there is none.
const Figure* FindFigure(const Device& device, const std::string& key);
const Figure* FindFigure(const Device& device, const std::string& list, std::int32_t place);

// The figures of DeepEP's kernels; null: the device has none.
const Exchange* FindExchange(const Device& device, Exchange::Kernels kernels, bool combine);

// Data-sheet peak. REQUIRES: SupportsFormat(device, format)
double PeakFlopsPerSecond(const Device& device, sim::NumberFormat format);

// Whether matrix products in this format run on the device's matrix units (or
// at all): BF16 and TF32 need capability 80, FP8 89, block scales 90 and MXFP8 100, and the file figures.
bool SupportsFormat(const Device& device, sim::NumberFormat format);

// Why not, with a way out: "BF16 needs compute capability 8.0 or more, and
// "v100_sxm" has 7.0; use FP16". Empty where SupportsFormat.
std::string WhyNotFormat(const Device& device, sim::NumberFormat format);

// The formats that it has, for messages: "BF16, FP16, TF32, FP32".
std::string FormatsOf(const Device& device);

// Whether the device has this implementation of attention for training. UNFUSED always is.
bool SupportsAttention(const Device& device, sim::AttentionKind implementation);

// The implementations that it has, UNFUSED first; for messages.
std::vector<sim::AttentionKind> AttentionKinds(const Device& device);

const char* ToText(sim::NumberFormat format);  // "BF16"
const char* ToText(sim::AttentionKind kind);   // "FLASH2"

}  // namespace hardware

#endif  // HARDWARE_DEVICE_H_
