#include "tools/idle_settings.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "sim/collective/nccl_heed.h"
#include "topologies/fabric.h"

namespace tools {
namespace {

using scenarios::CollectiveJob;

bool IsExchange(const CollectiveJob& job) { return job.exchange.has_value(); }
bool IsNccls(const CollectiveJob& job) {
  return !IsExchange(job) && !job.algorithm && job.dimensions.empty();
}

// Why NCCL does nothing of it.
std::string WhoseInstead(const std::vector<CollectiveJob>& jobs) {
  if (IsExchange(jobs[0])) return std::string(jobs[0].test->name) + " is DeepEP's";
  return jobs[0].dimensions.empty() ? "--algorithm is another way than NCCL's"
                                    : "--by-dimension is another way than NCCL's";
}

std::string GroupText(const sim::NcclGroup& group) {
  return std::to_string(group.ranks) + (group.ranks == 1 ? " rank on " : " ranks on ") +
         std::to_string(group.nodes) + (group.nodes == 1 ? " NVLink domain" : " NVLink domains");
}

// NVLS takes a switch on this fabric, not only in the device's file.
sim::NcclSetup SetupOf(const scenarios::Cluster& cluster, const CollectiveJob& job) {
  sim::NcclSetup setup = cluster.device.nccl;
  setup.nvswitch = setup.nvswitch && std::all_of(job.ranks.begin(), job.ranks.end(), [&](std::uint32_t rank) {
                     return cluster.fabric.router->ToNvSwitch(rank).has_value();
                   });
  return setup;
}

// Empty: it has an effect.
std::string WhyIdle(const scenarios::NcclSetting& setting, const scenarios::Cluster& cluster,
                    const std::vector<CollectiveJob>& jobs) {
  if (std::none_of(jobs.begin(), jobs.end(), IsNccls)) return WhoseInstead(jobs);
  std::string first;
  for (const CollectiveJob& job : jobs) {
    if (!IsNccls(job)) continue;
    const sim::NcclGroup group = sim::GroupOf(scenarios::CommunicatorOf(cluster.fabric, job.ranks));
    const bool heeded = setting.name == "version" ? sim::FunctionOf(job.test->kind) && group.ranks > 1
                                                  : sim::Heeds(SetupOf(cluster, job), group, job.test->kind,
                                                               setting.name, setting.value);
    if (heeded) return "";
    if (first.empty()) first = std::string(job.test->name) + " of " + GroupText(group);
  }
  return "NCCL does not look at it for " + first + (jobs.size() > 1 ? " and what runs with it" : "");
}

// Figures of a device's file that say nothing of how long collectives take, as paths begin.
constexpr std::string_view kOfNoCollective[] = {
    "sms",       "boost_clock_mhz", "l2_mib", "tdp_watts",    "memory",           "peaks",     "gemm",
    "attention", "memory_bound",    "kernel", "interference", "node.host_memory", "node.disk", "node.launch"};

// "memory" begins "memory.capacity_gib", not "memory_bound".
bool Begins(std::string_view path, std::string_view field) {
  return path.starts_with(field) &&
         (path.size() == field.size() || path[field.size()] == '.' || path[field.size()] == '[');
}

// Empty: it may have an effect.
std::string WhyIdle(std::string_view path, const NamedCluster& named,
                    const std::vector<CollectiveJob>& jobs) {
  for (const std::string_view field : kOfNoCollective) {
    if (Begins(path, field)) return "no collective depends on it";
  }
  const auto any = [&](auto is) { return std::any_of(jobs.begin(), jobs.end(), is); };
  if (Begins(path, "exchanges") && !any(IsExchange)) return "is of dispatch and combine";
  if (Begins(path, "capability") || Begins(path, "node.cpu")) {
    if (!any(IsNccls)) return "NCCL's tuner looks at it, and " + WhoseInstead(jobs);
    const bool tuned =
        any([](const CollectiveJob& job) { return IsNccls(job) && sim::FunctionOf(job.test->kind); });
    if (!tuned) return "NCCL's tuner looks at it, and has one way for sends and receives";
  }
  if (Begins(path, "collectives") && !any([](const CollectiveJob& job) { return !IsExchange(job); })) {
    return WhoseInstead(jobs) + ", whose figures are exchanges";
  }
  const bool nic = Begins(path, "node.nic") || Begins(path, "node.nics");
  if (nic && named.one_node) return "a node by itself sends nothing through NICs";
  return "";
}

}  // namespace

std::vector<CollectiveJob> JobsOf(const CollectiveRequest& request) {
  std::vector<CollectiveJob> jobs = request.jobs;
  if (request.swept) {
    jobs.push_back(*request.swept);
    for (const sim::Bytes size : request.sizes) {
      jobs.back() = scenarios::JobOfSize(jobs.back(), size, *request.type, request.options);
      if (!jobs.back().algorithm) break;
    }
  }
  if (request.operations) {
    std::set<std::pair<std::uint32_t, const scenarios::NcclTest*>> seen;
    for (const scenarios::Operation& operation : request.operations->operations) {
      if (!seen.insert({operation.group, operation.test}).second) continue;
      jobs.push_back({operation.test, operation.size, request.operations->groups[operation.group]});
    }
  }
  jobs.insert(jobs.end(), request.options.background.begin(), request.options.background.end());
  return jobs;
}

void RefuseIdleSettings(const NamedCluster& named, const std::vector<CollectiveJob>& jobs,
                        std::vector<std::string>* errors) {
  if (jobs.empty()) return;
  const auto refuse = [&](const std::string& place, const std::string& why) {
    if (!why.empty()) errors->push_back(place + ": has no effect: " + why + "; leave it out");
  };
  for (const scenarios::NcclSetting& setting : named.nccl) {
    const std::string assignment =
        setting.name == "version" ? setting.value : setting.name + '=' + setting.value;
    refuse(setting.place + ": " + assignment, WhyIdle(setting, named.cluster, jobs));
  }
  for (const proto::Override& set : named.of_hardware) {
    refuse("--set " + std::to_string(set.index) + ": hardware." + set.path, WhyIdle(set.path, named, jobs));
  }
}

}  // namespace tools
