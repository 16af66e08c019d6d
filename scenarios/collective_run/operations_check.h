// Whether what ranks issue ever ends: each group's members must issue the same,
// and no two may wait for each other in different groups.

#ifndef SCENARIOS_COLLECTIVE_RUN_OPERATIONS_CHECK_H_
#define SCENARIOS_COLLECTIVE_RUN_OPERATIONS_CHECK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/collective_run/operations.h"

namespace scenarios {

// The k-th operation of a group: where its members meet.
struct Meeting {
  std::uint32_t group = 0;             // OperationList::groups
  std::uint32_t turn = 0;              // k, from 0
  std::vector<std::uint32_t> members;  // OperationList::operations; of those who issue one, in order of lines
};

struct OperationsCheck {
  std::vector<Meeting> meetings;  // in the order in which the first member's line comes
  std::vector<std::uint32_t> meeting_of_operation;
  // One line each: operations of a turn that differ in kind, size or root (both ranks, the turn, both
  // operations; the first turn of a group only), and ranks that wait for ever (where, for whom, and where
  // those are). Empty: all operations end.
  std::vector<std::string> deadlocks;
};

// Runs the operations without a clock: a meeting is over once all members head their streams with it.
// REQUIRES: a list without errors
OperationsCheck CheckOperations(const OperationList& list);

// "all_reduce of 1024 bytes"
std::string NameOf(const Operation& operation);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_OPERATIONS_CHECK_H_
