// All-reduce by one kernel that reads its peers' memory over NVLink, as TensorRT-LLM and vLLM do small ones.
//
// One shot: every member reads the whole buffers of all others and adds up, so each pair carries S, and a
// port (n-1) S. One barrier before. Two shots: member j adds up part j, of S/n, of all buffers; after another
// barrier every member reads the others' sums. So each pair carries 2 S/n, a port 2(n-1)/n S, as in a ring,
// but in two steps. All pairs work at once.
//
// Sums stand apart from the buffers that are read, so reads of one shot wait for nothing. In the chunk
// expansion a sum is read once its own parts are added; the kernels' barrier makes it wait for all of a
// thread block's.
//
// Sources: vLLM, csrc/custom_all_reduce.cuh (cross_device_reduce_1stage, _2stage); TensorRT-LLM,
// cpp/tensorrt_llm/kernels/customAllReduceKernels.cu.

#include <algorithm>
#include <utility>

#include "sim/collective/algorithms.h"
#include "sim/collective/part_size.h"

namespace sim {
namespace {

std::vector<EdgeLoad> AllPairs(std::uint32_t members) {
  std::vector<EdgeLoad> edges;
  for (std::uint32_t from = 0; from < members; ++from) {
    for (std::uint32_t to = 0; to < members; ++to) {
      if (from != to) edges.push_back({from, to});
    }
  }
  return edges;
}

// `reader` adds up a piece of all others. Returns the transfers.
std::vector<std::uint32_t> ReadFromAll(std::uint32_t reader, std::uint32_t members, Bytes size,
                                       std::uint32_t piece, std::vector<Transfer>* transfers) {
  std::vector<std::uint32_t> reads;
  for (std::uint32_t other = 1; other < members; ++other) {
    reads.push_back(static_cast<std::uint32_t>(transfers->size()));
    transfers->push_back({(reader + other) % members, reader, size, {}, piece, true});
  }
  return reads;
}

}  // namespace

CollectivePlan PlanOneShot(const CollectiveRequest& request) {
  CollectivePlan plan{.flows = {}, .steps_inside = 1};
  plan.flows.push_back({.size = request.size, .edges = AllPairs(request.group.size())});
  return plan;
}

std::vector<Transfer> ExpandOneShot(const CollectiveRequest& request, Bytes chunk) {
  const std::uint32_t chunks = LoopsOf(request.size, chunk), n = request.group.size();
  std::vector<Transfer> transfers;
  for (std::uint32_t piece = 0; piece < chunks; ++piece) {
    for (std::uint32_t reader = 0; reader < n; ++reader) {
      ReadFromAll(reader, n, PartSize(request.size, chunks, piece), piece, &transfers);
    }
  }
  return transfers;
}

CollectivePlan PlanTwoShot(const CollectiveRequest& request) {
  const std::uint32_t n = request.group.size();
  CollectivePlan plan{.flows = {}, .steps_inside = 2};
  plan.flows.push_back({.size = request.size, .numerator = 2, .denominator = n, .edges = AllPairs(n)});
  return plan;
}

std::vector<Transfer> ExpandTwoShot(const CollectiveRequest& request, Bytes chunk) {
  const std::uint32_t n = request.group.size();
  struct Sum {
    std::uint32_t owner = 0, piece = 0;
    Bytes size;
    std::vector<std::uint32_t> reads;
  };
  std::vector<Transfer> transfers;
  std::vector<Sum> sums;
  for (std::uint32_t owner = 0; owner < n; ++owner) {
    const Bytes part = PartSize(request.size, n, owner);
    if (part == Bytes()) continue;
    const std::uint32_t chunks = LoopsOf(part, chunk);
    for (std::uint32_t i = 0; i < chunks; ++i) {
      const auto piece = static_cast<std::uint32_t>(sums.size());
      const Bytes size = PartSize(part, chunks, i);
      sums.push_back({owner, piece, size, ReadFromAll(owner, n, size, piece, &transfers)});
    }
  }
  for (const Sum& sum : sums) {
    for (std::uint32_t other = 1; other < n; ++other) {
      transfers.push_back({sum.owner, (sum.owner + other) % n, sum.size, sum.reads, sum.piece, false});
    }
  }
  return transfers;
}

}  // namespace sim
