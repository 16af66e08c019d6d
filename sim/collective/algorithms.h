// The table of collective algorithms: one a file, chosen by PlanCollective.
// To add one: a file with its two functions, a line in the table of
// collective.cc, and the tests that run over the whole table cover it.

#ifndef SIM_COLLECTIVE_ALGORITHMS_H_
#define SIM_COLLECTIVE_ALGORITHMS_H_

#include <span>
#include <string_view>
#include <vector>

#include "sim/collective/collective.h"

namespace sim {

struct CollectiveAlgorithm {
  std::string_view name;
  Algorithm algorithm;                    // as NCCL calls it
  std::span<const CollectiveKind> kinds;  // what it serves
  // Both are called only with something to send: two members or more (exactly
  // two for send/recv), one byte or more, and a chunk of one byte or more.
  CollectivePlan (*plan)(const CollectiveRequest& request);
  std::vector<Transfer> (*expand)(const CollectiveRequest& request, Bytes chunk);
};

// The first that serves a kind is the one that PlanCollective takes where the request names none.
std::span<const CollectiveAlgorithm> CollectiveAlgorithms();

// ring.cc: flat rings, one a rail, for all-reduce, all-gather, reduce-scatter;
// the same rings cut open at the root (member 0) for broadcast and reduce.
CollectivePlan PlanRing(const CollectiveRequest& request);
std::vector<Transfer> ExpandRing(const CollectiveRequest& request, Bytes chunk);

// all_to_all.cc: every member sends to every other one, all at once.
CollectivePlan PlanAllToAll(const CollectiveRequest& request);
std::vector<Transfer> ExpandAllToAll(const CollectiveRequest& request, Bytes chunk);

// all_to_all_by_node.cc: rows cross to another domain once, on the rails, and are
// passed on inside it.
CollectivePlan PlanAllToAllByNode(const CollectiveRequest& request);
std::vector<Transfer> ExpandAllToAllByNode(const CollectiveRequest& request, Bytes chunk);

// send_recv.cc: one message from the first member to the second.
CollectivePlan PlanSendRecv(const CollectiveRequest& request);
std::vector<Transfer> ExpandSendRecv(const CollectiveRequest& request, Bytes chunk);

// ring_shift.cc: every member sends to the next one.
CollectivePlan PlanRingShift(const CollectiveRequest& request);
std::vector<Transfer> ExpandRingShift(const CollectiveRequest& request, Bytes chunk);

// tree.cc: chains inside domains, a double binary tree over them; all-reduce.
CollectivePlan PlanTree(const CollectiveRequest& request);
std::vector<Transfer> ExpandTree(const CollectiveRequest& request, Bytes chunk);

// nvls.cc: the NVLink switch of the group's one domain adds up and copies out.
CollectivePlan PlanNvls(const CollectiveRequest& request);
std::vector<Transfer> ExpandNvls(const CollectiveRequest& request, Bytes chunk);

// nvls_tree.cc: NVLS in each domain, a double binary tree on each rail; all-reduce.
CollectivePlan PlanNvlsTree(const CollectiveRequest& request);
std::vector<Transfer> ExpandNvlsTree(const CollectiveRequest& request, Bytes chunk);

// pat.cc: log2(n) steps of doubling distance; all-gather, reduce-scatter.
CollectivePlan PlanPat(const CollectiveRequest& request);
std::vector<Transfer> ExpandPat(const CollectiveRequest& request, Bytes chunk);

// direct_reads.cc: one kernel reads all others' buffers, or a part and then the others' sums; all-reduce in a
// domain. Not NCCL's.
CollectivePlan PlanOneShot(const CollectiveRequest& request);
std::vector<Transfer> ExpandOneShot(const CollectiveRequest& request, Bytes chunk);
CollectivePlan PlanTwoShot(const CollectiveRequest& request);
std::vector<Transfer> ExpandTwoShot(const CollectiveRequest& request, Bytes chunk);

// by_dimension.cc: dimension after dimension of a grid; all-reduce, all-gather, reduce-scatter.
CollectivePlan PlanByDimension(const CollectiveRequest& request);
std::vector<Transfer> ExpandByDimension(const CollectiveRequest& request, Bytes chunk);

// gather_scatter.cc: every member to the root, or back.
CollectivePlan PlanGatherScatter(const CollectiveRequest& request);
std::vector<Transfer> ExpandGatherScatter(const CollectiveRequest& request, Bytes chunk);

}  // namespace sim

#endif  // SIM_COLLECTIVE_ALGORITHMS_H_
