// A list of what ranks issue, as text: one line an operation.
//
//   # a comment
//   rank 0: all_reduce 1024 group 0-1
//   rank 0-7: all_gather 64M                    every rank of the list issues it; a group of all
//   rank 0-3: broadcast 1M group 0-3 root 2     the root is a rank
//   rank 0: all_reduce 8K group 0-1 stream b    a stream of its own, beside the others
//   rank 0: send 1M to 1                        a message; neither side goes on before the other came
//   rank 1: recv 1M from 0
//
// A rank's operations of one stream run in the order of the lines. Those of one
// group meet in that order too, whatever their streams: its k-th operation on
// one rank is its k-th on all others. A sender and its receiver are a group of two.

#ifndef SCENARIOS_COLLECTIVE_RUN_OPERATIONS_H_
#define SCENARIOS_COLLECTIVE_RUN_OPERATIONS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/collective_run/nccl_tests.h"

namespace scenarios {

struct Operation {
  std::uint32_t rank = 0;
  const NcclTest* test = nullptr;  // or kSend, kReceive
  sim::Bytes size;
  std::uint32_t group = 0;   // OperationList::groups
  std::uint32_t root = 0;    // position in the group
  std::uint32_t stream = 0;  // OperationList::streams
  std::uint32_t line = 0;    // of the file, from 1
};

struct OperationList {
  std::string file;
  std::vector<Operation> operations;               // in the order of lines, then of ranks
  std::vector<std::vector<std::uint32_t>> groups;  // ranks, in the communicator's order
  std::vector<std::string> streams;                // names; 0 is the one without
  std::vector<std::string> errors;                 // "FILE:LINE: ..."; all of them
};

inline constexpr std::size_t kMostOperations = 1'000'000;

// `file` is for messages; `ranks` is how many there are.
OperationList ParseOperations(std::string_view text, const std::string& file, std::uint32_t ranks);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_OPERATIONS_H_
