// What `orrery collective` is asked for, as its command line says it.

#ifndef TOOLS_COLLECTIVE_REQUEST_H_
#define TOOLS_COLLECTIVE_REQUEST_H_

#include <optional>
#include <string>
#include <vector>

#include "scenarios/collective_run/operations.h"
#include "scenarios/collective_run/sweep.h"
#include "scenarios/nccl_setup.h"
#include "tools/command_line.h"

namespace tools {

struct NamedCluster {
  scenarios::Cluster cluster;
  std::string hardware, topology;
  std::vector<std::uint32_t> dimensions = {};     // of a torus, and of its nodes before them; else empty
  bool one_node = false;                          // and nothing between nodes
  std::vector<proto::Override> of_hardware = {};  // --set hardware.PATH, without "hardware."
  std::vector<scenarios::NcclSetting> nccl = {};  // --set nccl.PATH
};

// --hardware, --topology, --devices and --set. Nothing where something is wrong with them.
std::optional<NamedCluster> ReadCluster(const Arguments& arguments, proto::Diagnostics* diagnostics,
                                        std::vector<std::string>* errors);

// What is asked for: sizes of one collective, jobs that run at once, or a list of operations.
struct CollectiveRequest {
  const scenarios::DataType* type = scenarios::FindDataType("float");
  std::optional<scenarios::CollectiveJob> swept;
  std::vector<sim::Bytes> sizes;
  std::vector<scenarios::CollectiveJob> jobs;
  std::optional<scenarios::OperationList> operations;
  scenarios::PlayOptions options;
};

// All else; it is whole where no error was added.
CollectiveRequest ReadCollectiveRequest(const Arguments& arguments, const NamedCluster& named,
                                        proto::Diagnostics* diagnostics, std::vector<std::string>* errors);

// Jobs of a flag that may be given often; what is wrong with them goes to `errors`.
void ReadJobs(const Arguments& arguments, const char* flag, std::uint32_t ranks,
              std::vector<scenarios::CollectiveJob>* jobs, std::vector<std::string>* errors);

// --ranks, else all of them.
std::optional<std::vector<std::uint32_t>> ReadRanks(const Arguments& arguments, std::uint32_t ranks,
                                                    std::vector<std::string>* errors);

// Flags that say nothing of what was asked for.
void RefuseIdle(const Arguments& arguments, const std::vector<const char*>& idle, const std::string& of,
                std::vector<std::string>* errors);

}  // namespace tools

#endif  // TOOLS_COLLECTIVE_REQUEST_H_
