#include "scenarios/collective_run/nccl_tests.h"

#include "sim/base/check.h"

namespace scenarios {
namespace {

using sim::CollectiveKind;

// sendrecv: each rank sends to the next and receives from the one before, at once.
constexpr NcclTest kTests[] = {
    {"all_reduce", CollectiveKind::kAllReduce, "sum", false, false},
    {"all_gather", CollectiveKind::kAllGather, "none", false, true},
    {"reduce_scatter", CollectiveKind::kReduceScatter, "sum", false, true},
    {"broadcast", CollectiveKind::kBroadcast, "none", true, false},
    {"reduce", CollectiveKind::kReduce, "sum", true, false},
    {"alltoall", CollectiveKind::kAllToAll, "none", false, true},
    {"gather", CollectiveKind::kGather, "none", true, true},
    {"scatter", CollectiveKind::kScatter, "none", true, true},
    {"sendrecv", CollectiveKind::kRingShift, "sum", false, false},
};

constexpr DataType kTypes[] = {{"int8", 1},   {"uint8", 1},    {"int32", 4},  {"uint32", 4},
                               {"int64", 8},  {"uint64", 8},   {"half", 2},   {"float", 4},
                               {"double", 8}, {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}};

constexpr std::int64_t kPartAlignment = 16;  // bytes

}  // namespace

const NcclTest kSend = {"send", CollectiveKind::kSendRecv, "none", false, false};
const NcclTest kReceive = {"recv", CollectiveKind::kSendRecv, "none", false, false};
const NcclTest kDispatch = {"dispatch", CollectiveKind::kAllToAllByNode, "none", false, false};
const NcclTest kCombine = {"combine", CollectiveKind::kAllToAllByNode, "sum", false, false};

std::span<const NcclTest> NcclTests() { return kTests; }

const NcclTest* FindNcclTest(std::string_view name) {
  for (const NcclTest& test : kTests) {
    if (name == test.name) return &test;
  }
  return nullptr;
}

std::span<const DataType> DataTypes() { return kTypes; }

const DataType* FindDataType(std::string_view name) {
  for (const DataType& type : kTypes) {
    if (name == type.name) return &type;
  }
  return nullptr;
}

RunSize RunSizeOf(const NcclTest& test, sim::Bytes size, const DataType& type, std::uint32_t ranks) {
  CHECK(size.count() >= 0 && ranks >= 1);
  std::int64_t count = size.count() / type.bytes;
  if (!test.has_part_each) return {sim::Bytes(count * type.bytes), count};
  const std::int64_t multiple = kPartAlignment / type.bytes;
  count = count / ranks / multiple * multiple;
  return {sim::Bytes(count * type.bytes * ranks), count};
}

}  // namespace scenarios
