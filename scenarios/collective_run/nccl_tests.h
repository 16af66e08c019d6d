// What nccl-tests measures: its programs by name, its data types, and how it
// rounds a size before it runs it.
//
// Source: NVIDIA/nccl-tests, src/*.cu (GetCollByteCount) and common.cu; the
// parts of a rank are whole 16 bytes since version 2.13.9.

#ifndef SCENARIOS_COLLECTIVE_RUN_NCCL_TESTS_H_
#define SCENARIOS_COLLECTIVE_RUN_NCCL_TESTS_H_

#include <cstdint>
#include <span>
#include <string_view>

#include "sim/base/units.h"
#include "sim/collective/collective.h"

namespace scenarios {

struct NcclTest {
  const char* name;  // "all_reduce", of all_reduce_perf
  sim::CollectiveKind kind;
  const char* redop;   // the column of that name: "sum" or "none"
  bool has_root;       // member 0 of the group, once lowered
  bool has_part_each;  // the size is cut into a part for each rank, all alike
};

std::span<const NcclTest> NcclTests();
const NcclTest* FindNcclTest(std::string_view name);  // null: none is called so

// The two sides of a message from a group's first rank to its second, for lists of operations;
// no programs of nccl-tests.
extern const NcclTest kSend, kReceive;
// DeepEP's two operations; no programs of nccl-tests either.
extern const NcclTest kDispatch, kCombine;

struct DataType {
  const char* name;  // "bfloat16", as -d takes it
  std::int64_t bytes = 0;
};

std::span<const DataType> DataTypes();
const DataType* FindDataType(std::string_view name);

// What nccl-tests runs for a size that was asked for: rounded down to whole
// elements, and to 16 bytes for each rank where every rank has a part.
struct RunSize {
  sim::Bytes size;         // the column "size"
  std::int64_t count = 0;  // the column "count": elements of the buffer, or of a rank's part
};
// REQUIRES: size >= 0, ranks >= 1
RunSize RunSizeOf(const NcclTest& test, sim::Bytes size, const DataType& type, std::uint32_t ranks);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_NCCL_TESTS_H_
