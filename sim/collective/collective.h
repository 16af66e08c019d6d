// Collectives: what a group of ranks must send each other, as NCCL does it.
//
// An algorithm knows no links. It says which member loads which edge (from one
// member to another) how often, and how long it must wait for its steps. The
// lowering turns edges into links. Each algorithm has a second form, its chunk
// expansion, which plays the collective transfer by transfer: the slow oracle.

#ifndef SIM_COLLECTIVE_COLLECTIVE_H_
#define SIM_COLLECTIVE_COLLECTIVE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/units.h"
#include "sim/collective/algorithm.h"

namespace sim {

// Sizes follow nccl-tests: all-reduce the whole buffer; all-gather the output;
// reduce-scatter the input; broadcast, reduce, send/recv and ring shift the message; gather and
// scatter what all parts are together; all-to-all
// what one member sends to all (its own part included); all-to-all by node what
// one member sends, over both kinds of links together.
enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kAllToAll,
  kSendRecv,
  kAllToAllByNode,
  kRingShift,  // each member sends to the next of the group, the last to the first
  kReduce,     // to member 0
  kGather,     // to member 0
  kScatter,    // from member 0
};

const char* ToText(CollectiveKind kind);  // "all-reduce", "all-gather", ...

// The members of a group, in ring order, and who is near whom.
struct Communicator {
  std::vector<std::uint32_t> domain;  // per member: its NVLink domain (any numbering)
  std::vector<std::uint32_t> rail;    // per member: its index within the domain = its NIC's rail
  // Per member: its place in the ring of its domain, where links decide that. Empty: by rail.
  std::vector<std::uint32_t> place = {};

  std::uint32_t size() const { return static_cast<std::uint32_t>(domain.size()); }
};

// Which parts of an all-to-all are as large as CollectiveRequest::parts say.
enum class Uneven : std::uint8_t {
  kNo,
  kByReceiver,  // every member sends part i to member i
  kBySender,    // the way back: member i sends part i to every member
};

// How the members of a line of a grid share.
enum class DimensionAlgorithm : std::uint8_t {
  kRing,        // rings both ways, a half each
  kOneWayRing,  // as NCCL's
  kDirect,      // each with each other one
};
const char* ToText(DimensionAlgorithm algorithm);  // "ring", "one_way_ring", "direct"
struct Dimension {
  std::uint32_t size = 1;
  DimensionAlgorithm algorithm = DimensionAlgorithm::kRing;
};

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Bytes size;
  Communicator group = {};  // for send/recv: two members, the first sends
  Bytes inside = {};        // all-to-all by node: of `size`, what stays in a domain
  Uneven uneven = Uneven::kNo;
  // Of an uneven all-to-all, by member: its part of `size` relative to the others', 0 ... 1000.
  // `size` is what one member sends by receiver, and what one receives by sender.
  std::vector<std::uint32_t> parts = {};
  std::optional<Algorithm> algorithm = {};  // else the first that serves the kind
  // Of kByDimension: the members as a grid, dimension 0 counting fastest; empty: one ring both ways.
  std::vector<Dimension> dimensions = {};
};

// An end of an edge that is no member: the NVLink switch of the other end's domain.
inline constexpr std::uint32_t kNvSwitch = UINT32_MAX;

// How often a coupled flow crosses the edge from one member to another while
// it makes one unit of progress.
struct EdgeLoad {
  std::uint32_t from = 0, to = 0;  // positions in the group, or one of them kNvSwitch
  std::uint32_t weight = 1;
  std::uint32_t lane = 0;  // of the transfers that it stands for
};

// One step of a loop on its way: between two moments, over an edge that a part of the loop crosses then.
// Moments are numbers, one for each thing that has to be there before what follows.
struct PathStep {
  std::uint32_t edge = 0;  // position in CoupledFlow::edges
  std::uint32_t from = 0, to = 1;
  std::uint32_t numerator = 1, denominator = 1;
};

// One coupled flow: all its edges advance in lockstep. Progress counts bytes
// on one edge: volume = size * numerator / denominator, rounded up.
struct CoupledFlow {
  Bytes size;
  std::int64_t numerator = 1, denominator = 1;
  std::uint32_t share = 1;               // progress / share is the rate of one active connection
  std::uint32_t weight_denominator = 1;  // of the edges' weights
  std::vector<EdgeLoad> edges;
  // Instead of a list: an edge of weight 1 from each of so many members to each other one, for groups whose
  // list would be megabytes.
  std::uint32_t all_pairs = 0;
  // Where data moves in loops, so that one edge after the other starts: every step of a loop, behind the
  // steps that lead to where it starts. Empty: all edges work from the start.
  std::vector<PathStep> path = {};
  std::uint32_t chunks_a_loop = 1;  // a loop is this many chunks of `size`
  // An edge with several steps is busy with any of them, of whichever loop; else it is through with a loop
  // before it begins the next.
  bool mixes_loops = false;
};

// Bytes are cut into the fewest near-equal loops of at most `chunks_a_loop` chunks of at most `chunk`.
// REQUIRES: size > 0, chunk > 0
constexpr std::uint32_t LoopsOf(Bytes size, Bytes chunk, std::uint32_t chunks_a_loop = 1) {
  const Wide loop = static_cast<Wide>(chunk.count()) * chunks_a_loop;
  CHECK(size.count() > 0 && loop > 0);
  const Wide loops = (size.count() - 1) / loop + 1;
  CHECK(loops <= UINT32_MAX);
  return static_cast<std::uint32_t>(loops);
}

// What a collective costs: its flows (which run side by side) after a delay of
// so many steps inside a domain and between domains.
struct CollectivePlan {
  std::vector<CoupledFlow> flows;  // empty: nothing to send (one member, or zero bytes)
  std::uint32_t steps_inside = 0;  // steps over edges inside a domain
  std::uint32_t steps_between = 0;
};

// The plan by the request's algorithm. The table of them is in algorithms.h.
// REQUIRES: size >= 0, at least one member; exactly two for send/recv; Serves(...)
CollectivePlan PlanCollective(const CollectiveRequest& request);

// Whether there is a plan for a kind by an algorithm over such a group: NVLS needs one domain and
// three members, PAT one member a domain, NVLSTree as many members in each domain.
bool Serves(Algorithm algorithm, CollectiveKind kind, const Communicator& group);

// One transfer of the chunk expansion. It starts when those in `after` have
// ended.
struct Transfer {
  std::uint32_t from = 0, to = 0;    // positions in the group, or one of them kNvSwitch
  Bytes size;                        // > 0: nothing is sent where a part is empty
  std::vector<std::uint32_t> after;  // indices of earlier transfers
  std::uint32_t piece = 0;           // the piece of the data that it carries, counted over the expansion
  bool reduces = false;              // the receiver adds it to its own copy, instead of taking its place
  std::uint32_t channel = 0;         // channels do not wait for each other, also where they share an edge
  std::uint32_t lane = 0;            // nor do lanes of a channel: 0 or 1
};

// The same collective, transfer by transfer, cut into chunks of `chunk` bytes
// as NCCL's loops do, with its buffers of 8 steps on each edge: two chunks of a ring, eight of other
// algorithms. REQUIRES: as above; chunk > 0; fewer than 2^32 transfers
std::vector<Transfer> ExpandIntoChunks(const CollectiveRequest& request, Bytes chunk);

// What nccl-tests calls busbw, over size/time: 2(n-1)/n, (n-1)/n or 1, as a
// fraction. 0 where a group of one sends itself nothing. REQUIRES: members >= 1
// Source: nccl-tests, doc/PERFORMANCE.md.
struct Fraction {
  std::int64_t numerator = 1, denominator = 1;
};
Fraction BusBandwidthFactor(CollectiveKind kind, std::uint32_t members);

}  // namespace sim

#endif  // SIM_COLLECTIVE_COLLECTIVE_H_
