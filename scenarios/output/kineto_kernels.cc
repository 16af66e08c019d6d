#include "scenarios/output/kineto_kernels.h"

#include <algorithm>
#include <cctype>
#include <optional>

#include "scenarios/collective_use.h"
#include "scenarios/output/trace_text.h"
#include "sim/base/digest.h"

namespace scenarios {
namespace {

using sim::CollectiveKind;
using sim::TaskClass;

// How PyTorch and NCCL write a number format. Bytes where what moves is no number, or of several formats.
struct NumberName {
  const char* torch;
  const char* nccl;
  std::int64_t bytes;
};
NumberName NumberNameOf(std::optional<sim::NumberFormat> format) {
  if (format == sim::NumberFormat::kFp32) return {"Float", "f32", 4};
  if (format == sim::NumberFormat::kBf16) return {"BFloat16", "bf16", 2};
  if (format == sim::NumberFormat::kFp16) return {"Half", "f16", 2};
  return {"Byte", "u8", 1};
}

std::optional<sim::NumberFormat> FormatOf(const Training& training, TaskClass task_class,
                                          const RoutedExperts& experts, CollectiveKind kind) {
  switch (task_class) {
    case TaskClass::kData:
      if (kind != CollectiveKind::kAllGather) return training.gradient_format;
      if (training.matmul.parameter_gather) return std::nullopt;
      return training.format;
    case TaskClass::kEmbedding:
    case TaskClass::kNorm:
      return training.gradient_format;
    case TaskClass::kExpert:
      if (experts.fp8_dispatch) return std::nullopt;
      return training.format;
    default:
      return training.format;
  }
}

struct KindNames {
  CollectiveKind kind;
  const char* torch;   // "Collective name"
  const char* kernel;  // of NCCL's; nullptr: sends and receives in one kernel
  bool reduces;
};
// Source: PyTorch, ParamCommsUtils; NCCL, src/device/generate.py.
constexpr KindNames kKinds[] = {
    {CollectiveKind::kAllReduce, "allreduce", "AllReduce", true},
    {CollectiveKind::kAllGather, "_allgather_base", "AllGather", false},
    {CollectiveKind::kReduceScatter, "_reduce_scatter_base", "ReduceScatter", true},
    {CollectiveKind::kBroadcast, "broadcast", "Broadcast", false},
    {CollectiveKind::kReduce, "reduce", "Reduce", true},
    {CollectiveKind::kAllToAll, "all_to_allv", nullptr, false},
    {CollectiveKind::kAllToAllByNode, "all_to_allv", nullptr, false},
    {CollectiveKind::kRingShift, "batch_isend_irecv", nullptr, false},
    {CollectiveKind::kGather, "gather", nullptr, false},
    {CollectiveKind::kScatter, "scatter", nullptr, false},
    {CollectiveKind::kSendRecv, "send", nullptr, false},
};

const KindNames* KindCalled(const std::string& name) {
  for (const KindNames& kind : kKinds) {
    if (name == sim::ToText(kind.kind)) return &kind;
  }
  return nullptr;
}

std::string Upper(const char* text) {
  std::string upper = text;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return upper == "NVLSTREE" ? "NVLS_TREE" : upper;
}

constexpr const char* kNcclArguments = "(ncclDevKernelArgsStorage<4096ul>)";
constexpr const char* kSendRecv = "ncclDevKernel_SendRecv";

std::string KernelName(const KindNames& kind, const NumberName& number,
                       const std::optional<CollectiveWay>& way) {
  if (way && sim::IsCustom(way->algorithm)) {  // vLLM's and others', no kernel of NCCL
    return way->algorithm == sim::Algorithm::kOneShot ? "cross_device_reduce_1stage"
                                                      : "cross_device_reduce_2stage";
  }
  if (kind.kernel == nullptr || !way) return std::string(kSendRecv) + kNcclArguments;
  std::string name = std::string("ncclDevKernel_") + kind.kernel;
  if (kind.reduces) name += std::string("_Sum_") + number.nccl;
  return name + '_' + Upper(sim::ToText(way->algorithm)) + '_' + Upper(sim::ToText(way->protocol)) +
         kNcclArguments;
}

// "[0, 4, 8]", as a text: that is how the profiler has lists.
std::string ListText(const std::vector<sim::Rank>& ranks) {
  std::string text = "[";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i].value());
  }
  return Quoted(text + "]");
}

std::string Member(const char* key, const std::string& value) {
  return ",\"" + std::string(key) + "\": " + value;
}

std::string NameOfGroup(const std::string& description, const std::vector<sim::Rank>& ranks) {
  sim::Digest digest;
  for (const char c : description) digest.Add(static_cast<unsigned char>(c));
  for (const sim::Rank rank : ranks) digest.Add(rank.value());
  return sim::ToHex(digest.value());
}

std::string GroupArguments(const ProcessGroup& group, sim::Rank rank) {
  return Member("Process Group Name", Quoted(group.name)) +
         Member("Process Group Description", Quoted(group.description)) +
         Member("Process Group Ranks", ListText(group.ranks)) +
         Member("Group size", std::to_string(group.ranks.size())) +
         Member("Rank", std::to_string(rank.value()));
}

std::string SizeArguments(const std::string& name, std::int64_t in, std::int64_t out,
                          const NumberName& number) {
  return Member("Collective name", Quoted(name)) + Member("In msg nelems", std::to_string(in)) +
         Member("Out msg nelems", std::to_string(out)) + Member("dtype", Quoted(number.torch));
}

// Numbers of one part of `whole`; NCCL's parts differ by no more than one.
std::int64_t PartOf(std::int64_t whole, std::size_t parts) {
  return whole / static_cast<std::int64_t>(std::max<std::size_t>(parts, 1));
}

}  // namespace

std::size_t KinetoKernels::GroupOf(const std::string& description, const std::vector<sim::Rank>& ranks) {
  const auto [at, is_new] = group_ids_.emplace(std::pair(description, ranks), groups_.size());
  if (is_new) groups_.push_back({NameOfGroup(description, ranks), description, ranks});
  return at->second;
}

KinetoKernel KinetoKernels::Of(sim::TaskId task) {
  const sim::Program& program = steps_.program;
  const sim::TaskRow& row = program.row(task);
  const sim::StreamKind stream = program.stream_kind_of(task);
  if (stream == sim::StreamKind::kHost || stream == sim::StreamKind::kLaunch) {
    return {.name = program.names[row.label.name], .category = "cpu_op", .launch = ""};
  }
  if (stream == sim::StreamKind::kCopyOut || stream == sim::StreamKind::kCopyIn) return Copy(task);
  if (row.kind != sim::TaskKind::kSeat) {
    return {.name = program.names[row.label.name],
            .arguments = Member("phase", Quoted(sim::ToText(row.task_class)))};
  }
  const sim::TrafficId traffic = program.communications[program.communication_of(task).pos()].traffic;
  const bool is_collective = traffic.pos() < steps_.members.size() && !steps_.members[traffic.pos()].empty();
  return is_collective ? CollectiveKernel(task, traffic) : SendOrReceive(task);
}

KinetoKernel KinetoKernels::Copy(sim::TaskId task) const {
  const sim::Program& program = steps_.program;
  const bool out = program.stream_kind_of(task) == sim::StreamKind::kCopyOut;
  KinetoKernel kernel{.name = out ? "Memcpy DtoH (Device -> Pinned)" : "Memcpy HtoD (Pinned -> Device)",
                      .category = "gpu_memcpy",
                      .launch = "cudaMemcpyAsync"};
  if (program.row(task).kind == sim::TaskKind::kSeat) {
    const sim::TrafficId traffic = program.communications[program.communication_of(task).pos()].traffic;
    kernel.arguments = Member("bytes", std::to_string(program.traffics[traffic.pos()].size.count()));
  }
  return kernel;
}

KinetoKernel KinetoKernels::SendOrReceive(sim::TaskId task) {
  const sim::Program& program = steps_.program;
  const sim::CommunicationId communication = program.communication_of(task);
  const sim::TrafficId traffic = program.communications[communication.pos()].traffic;
  const sim::StreamKind stream = program.stream_kind_of(task);
  const bool sends = stream == sim::StreamKind::kToNext || stream == sim::StreamKind::kToPrevious;
  std::vector<sim::Rank> ranks;
  for (const sim::TaskId seat : program.seats_of(communication)) ranks.push_back(program.rank_of(seat));
  std::sort(ranks.begin(), ranks.end());
  const sim::Rank rank = program.rank_of(task);
  const sim::Rank peer = ranks.front() == rank ? ranks.back() : ranks.front();
  const NumberName number = NumberNameOf(scenario_.training.format);
  const std::int64_t count = program.traffics[traffic.pos()].size.count() / number.bytes;
  const std::size_t group = GroupOf(sim::ToText(program.row(task).task_class), ranks);
  return {.name = std::string(kSendRecv) + kNcclArguments,
          .launch = "cudaLaunchKernelExC",
          .arguments = SizeArguments(sends ? "send" : "recv", count, count, number) +
                       GroupArguments(groups_[group], rank) +
                       Member("Src Rank", std::to_string((sends ? rank : peer).value())) +
                       Member("Dst Rank", std::to_string((sends ? peer : rank).value()))};
}

KinetoKernel KinetoKernels::CollectiveKernel(sim::TaskId task, sim::TrafficId traffic_id) {
  const sim::Program& program = steps_.program;
  const TaskClass task_class = program.row(task).task_class;
  const std::vector<sim::Rank>& members = steps_.members[traffic_id.pos()];
  const std::size_t group = GroupOf(sim::ToText(task_class), members);
  auto at = collectives_.find({task_class, traffic_id});
  if (at == collectives_.end()) {
    const sim::Traffic& traffic = program.traffics[traffic_id.pos()];
    const KindNames* kind = KindCalled(program.names[traffic.name]);
    KinetoKernel kernel{.name = std::string(kSendRecv) + kNcclArguments, .launch = "cudaLaunchKernelExC"};
    if (kind != nullptr) {
      const NumberName number =
          NumberNameOf(FormatOf(scenario_.training, task_class, scenario_.experts, kind->kind));
      kernel.name = KernelName(*kind, number, TakenWay(scenario_, steps_, task_class, traffic_id));
      const std::int64_t whole = traffic.size.count() / number.bytes;
      const std::int64_t part = PartOf(whole, members.size());
      const bool gathers = kind->kind == CollectiveKind::kAllGather;
      const bool scatters = kind->kind == CollectiveKind::kReduceScatter;
      kernel.arguments = SizeArguments(kind->torch, gathers ? part : whole, scatters ? part : whole, number);
    }
    at = collectives_.emplace(std::pair(task_class, traffic_id), kernel).first;
  }
  KinetoKernel kernel = at->second;
  kernel.arguments += GroupArguments(groups_[group], program.rank_of(task));
  return kernel;
}

}  // namespace scenarios
