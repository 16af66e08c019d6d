// Collectives as nccl-tests prints them, with bounds and links, and as a document.

#ifndef SCENARIOS_OUTPUT_COLLECTIVE_OUTPUT_H_
#define SCENARIOS_OUTPUT_COLLECTIVE_OUTPUT_H_

#include <string>

#include "scenarios/collective_run/operations_play.h"
#include "scenarios/collective_run/sweep.h"

namespace scenarios {

// What is said of a table beside its rows.
struct CollectiveHead {
  std::string hardware, topology;
  const DataType* type = nullptr;
  bool links = false;  // the most loaded links too
};

// Lines that begin with # are not rows. The columns are those of nccl-tests up to busbw.
std::string CollectiveText(const CollectiveTable& table, const Cluster& cluster, const CollectiveHead& head);
std::string CollectiveJson(const CollectiveTable& table, const Cluster& cluster, const CollectiveHead& head);

// A row an operation, as they begin.
std::string OperationsText(const PlayedOperations& played, const Cluster& cluster,
                           const CollectiveHead& head);
std::string OperationsJson(const PlayedOperations& played, const Cluster& cluster,
                           const CollectiveHead& head);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_COLLECTIVE_OUTPUT_H_
