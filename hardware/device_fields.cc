#include "hardware/device_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "proto/hardware.pb.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

namespace pb = google::protobuf;
using orrery::config::Hardware;

struct Range {
  const char* field;  // "Message.field"
  double low;
  bool low_allowed;
  double high;
};

// Of rates in the unit of their key, and of parts of a whole: a thousandth of
// anything real is a slip of the unit.
constexpr double kLeast = 1e-3;

// Ten times beyond today's largest machines or so: wider than any real device,
// and narrow enough to catch a wrong unit.
constexpr Range kRanges[] = {
    {"Hardware.capability", 10, true, 999},
    {"Hardware.sms", 1, true, 4096},
    {"Hardware.boost_clock_mhz", kLeast, true, 20'000},
    {"Hardware.l2_mib", 0, false, 65'536},
    {"Hardware.tdp_watts", 0, false, 100'000},
    {"Memory.capacity_gib", 0, false, 65'536},
    {"Memory.usable_gib", 0, false, 65'536},
    {"Memory.bandwidth_gb_per_s", kLeast, true, 1e6},
    {"Peak.tflops", kLeast, true, 1e6},
    {"TileModel.peak_tflops", kLeast, true, 1e6},
    {"TileModel.efficiency", kLeast, true, 1},
    {"TileModel.relative_128x128", kLeast, true, 2},
    {"TileModel.relative_128x64", kLeast, true, 2},
    {"TileModel.prologue_k", 0, true, 1e5},
    {"TileModel.wave_overlap", 0, true, 1},
    {"TileModel.long_kernel_loss", 0, true, 1},
    {"TileModel.most_parts", 1, true, 64},
    {"TileModel.split_fixed_us", 0, true, 1000},
    {"TileModel.fixed_us", 0, true, 1000},
    {"TileModel.l2_sm_gb_per_s", kLeast, true, 1e6},
    {"TileModel.sm_memory_ratio", kLeast, true, 1000},
    {"TileModel.memory_efficiency", kLeast, true, 1},
    {"TileModel.l2_ratio", 1, true, 10},
    {"TileModel.l2_first_part", 0, true, 10},
    {"TileModel.l2_second_part", 0, true, 10},
    {"TileModel.norm", 1, true, 100},
    {"TileModel.row_k_ns", 0, true, 1000},
    {"TileModel.cast_fixed_us", 0, true, 1000},
    {"TileModel.cast_bytes", 0, true, 1000},
    {"Roofline.efficiency", kLeast, true, 1},
    {"Roofline.memory_efficiency", kLeast, true, 1},
    {"Roofline.fixed_us", 0, true, 1000},
    {"Extents.m", 1, true, 1 << 30},
    {"Extents.n", 1, true, 1 << 30},
    {"Extents.k", 1, true, 1 << 30},
    {"Point.m", 1, true, 1 << 30},
    {"Point.n", 1, true, 1 << 30},
    {"Point.k", 1, true, 1 << 30},
    {"Point.us", kLeast, true, 1e9},
    {"Attention.head_dim", 1, true, 4096},
    {"Attention.fixed_us", 0, true, 1000},
    {"AttentionPass.causal_tflops", kLeast, true, 1e6},
    {"AttentionPass.full_tflops", kLeast, true, 1e6},
    {"Attention.block_queries", 1, true, 4096},
    {"AttentionPass.overhead_tokens", 0, true, 1e5},
    {"AttentionPass.query_tokens", 0, true, 1e5},
    {"AttentionPass.tail", 0, true, 1},
    {"PagedAttention.head_dim", 1, true, 4096},
    {"PagedAttention.tflops", kLeast, true, 1e6},
    {"PagedAttention.overhead_tokens", 0, true, 1e5},
    {"PagedAttention.query_tokens", 0, true, 1e5},
    {"PagedAttention.tail", 0, true, 1},
    {"PagedAttention.block_queries", 1, true, 4096},
    {"PagedAttention.fixed_us", 0, true, 1000},
    {"PagedAttention.cache_token_ns", 0, true, 1e6},
    {"PagedAttention.cache_gb_per_s", kLeast, true, 1e6},
    {"MemoryBound.elementwise_efficiency", kLeast, true, 1},
    {"MemoryBound.norm_efficiency", kLeast, true, 1},
    {"MemoryBound.gather_efficiency", kLeast, true, 1},
    {"MemoryBound.optimizer_efficiency", kLeast, true, 1},
    {"MemoryBound.activation_efficiency", kLeast, true, 1},
    {"MemoryBound.fixed_us", 0, true, 1000},
    {"Kernel.minimum_us", 0, false, 1000},
    {"Kernel.random_data_derate", kLeast, true, 1},
    {"Interference.communication_sms", 0, true, 4095},
    {"Interference.communication_memory_share", 0, true, 0.99},
    {"Collective.base_us", 0, true, 1e5},
    {"Collective.step_inside_us", 0, true, 1e5},
    {"Collective.step_inside_multi_node_us", 0, true, 1e5},
    {"Collective.step_between_us", 0, true, 1e5},
    {"Collective.wire_numerator", 1, true, 65'536},
    {"Collective.wire_denominator", 1, true, 65'536},
    {"Collective.limit_inside_gb_per_s", kLeast, true, 1e6},
    {"Collective.limit_two_nodes_gb_per_s", kLeast, true, 1e6},
    {"Collective.limit_more_nodes_gb_per_s", kLeast, true, 1e6},
    {"Collective.own_copy_all_reduce_gb_per_s", kLeast, true, 1e6},
    {"Collective.own_copy_all_gather_gb_per_s", kLeast, true, 1e6},
    {"Collective.own_copy_reduce_scatter_gb_per_s", kLeast, true, 1e6},
    {"Collective.own_copy_all_to_all_gb_per_s", kLeast, true, 1e6},
    {"Collective.ramp_us", 0, true, 1e5},
    {"Collective.ramp_mb", 1e-6, true, 1e6},
    {"Exchange.base_us", 0, true, 1e5},
    {"Exchange.base_multi_node_us", 0, true, 1e5},
    {"Exchange.ramp_us", 0, true, 1e5},
    {"Exchange.ramp_mb", 1e-6, true, 1e6},
    {"Exchange.sm_gb_per_s", kLeast, true, 1e6},
    {"Exchange.inside_gb_per_s", kLeast, true, 1e6},
    {"Exchange.between_gb_per_s", kLeast, true, 1e6},
    {"Pipe.bandwidth_gb_per_s_each_way", kLeast, true, 1e6},
    {"Pipe.efficiency", kLeast, true, 1},
    {"Pipe.latency_ns", 0, true, 1e9},
    {"HostMemory.capacity_gib", 0, false, 1e6},
    {"HostMemory.bandwidth_gb_per_s", kLeast, true, 1e6},
    {"HostMemory.efficiency", kLeast, true, 1},
    {"Disk.read_gb_per_s", kLeast, true, 1e6},
    {"Disk.write_gb_per_s", kLeast, true, 1e6},
    {"Launch.kernel_us", 0, true, 1e5},
    {"Launch.eager_operation_us", 0, true, 1e5},
    {"Node.devices", 1, true, 1024},
    {"Node.nics", 0, true, 1024},
};

// Fields that a file may leave out; nothing else.
constexpr std::array kOptional = {"Hardware.aliases",
                                  "Hardware.derived_from",
                                  "Hardware.attention",
                                  "Hardware.paged_attention",
                                  "Attention.block_queries",
                                  "AttentionPass.query_tokens",
                                  "AttentionPass.tail",
                                  "PagedAttention.block_queries",
                                  "PagedAttention.cache_token_ns",
                                  "Gemm.tiles",
                                  "Gemm.roofline",
                                  "Gemm.fitted_from",
                                  "Gemm.fitted_to",
                                  "Hardware.measured_gemm",
                                  "TileModel.row_k_ns",
                                  "TileModel.cast_fixed_us",
                                  "TileModel.cast_bytes",
                                  "Collective.limit_inside_gb_per_s",
                                  "Collective.limit_two_nodes_gb_per_s",
                                  "Collective.limit_more_nodes_gb_per_s",
                                  "Collective.own_copy_all_reduce_gb_per_s",
                                  "Collective.own_copy_all_gather_gb_per_s",
                                  "Collective.own_copy_reduce_scatter_gb_per_s",
                                  "Collective.own_copy_all_to_all_gb_per_s",
                                  "Collective.ramp_us",
                                  "Collective.ramp_mb",
                                  "Collective.algorithm",
                                  "Exchange.ramp_us",
                                  "Exchange.ramp_mb",
                                  "Exchange.sm_gb_per_s",
                                  "Hardware.exchanges",
                                  "Node.cpu",
                                  "Node.nvlink",
                                  "Node.nic",
                                  "Node.host_bridge",
                                  "Node.between_sockets",
                                  "Source.url",
                                  "Source.note",
                                  "Source.date"};

std::string KeyOf(const pb::FieldDescriptor& field) {
  return field.containing_type()->name() + "." + field.name();
}

bool IsOptional(const pb::FieldDescriptor& field) {
  for (const char* key : kOptional) {
    if (KeyOf(field) == key) return true;
  }
  return false;
}

class FieldChecker {
 public:
  explicit FieldChecker(proto::Diagnostics* diagnostics) : diagnostics_(diagnostics) {}

  void Check(const pb::Message& message, const proto::Field& place) {
    const pb::Descriptor& type = *message.GetDescriptor();
    for (int i = 0; i < type.field_count(); ++i) {
      const pb::FieldDescriptor& field = *type.field(i);
      if (field.is_repeated()) {
        CheckRepeated(message, field, place);
      } else if (!message.GetReflection()->HasField(message, &field)) {
        const proto::Field missing = place.At(field.name());
        if (!IsOptional(field) && !missing.given()) diagnostics_->Error(missing.place(), "missing");
      } else if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
        Check(message.GetReflection()->GetMessage(message, &field), place.At(field.name()));
      } else {
        CheckScalar(message, field, place.At(field.name()));
      }
    }
  }

 private:
  void CheckRepeated(const pb::Message& message, const pb::FieldDescriptor& field,
                     const proto::Field& place) {
    const pb::Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    if (const proto::Field list = place.At(field.name()); size == 0 && !IsOptional(field) && !list.given()) {
      diagnostics_->Error(list.place(), "missing; at least one is wanted");
    }
    for (int i = 0; i < size; ++i) {
      const proto::Field element = place.At(field.name(), i);
      if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
        Check(reflection.GetRepeatedMessage(message, &field, i), element);
      } else if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_ENUM) {
        CheckEnum(*reflection.GetRepeatedEnum(message, &field, i), element);
      } else if (field.cpp_type() == pb::FieldDescriptor::CPPTYPE_STRING) {
        CheckText(reflection.GetRepeatedString(message, &field, i), element);
      }
    }
  }

  void CheckScalar(const pb::Message& message, const pb::FieldDescriptor& field, const proto::Field& place) {
    const pb::Reflection& reflection = *message.GetReflection();
    switch (field.cpp_type()) {
      case pb::FieldDescriptor::CPPTYPE_DOUBLE:
        CheckNumber(reflection.GetDouble(message, &field), field, place);
        break;
      case pb::FieldDescriptor::CPPTYPE_INT32:
        CheckNumber(reflection.GetInt32(message, &field), field, place);
        break;
      case pb::FieldDescriptor::CPPTYPE_ENUM:
        CheckEnum(*reflection.GetEnum(message, &field), place);
        break;
      case pb::FieldDescriptor::CPPTYPE_STRING:
        CheckText(reflection.GetString(message, &field), place);
        break;
      default:
        CHECK(false);  // hardware.proto has no other types
    }
  }

  void CheckNumber(double value, const pb::FieldDescriptor& field, const proto::Field& place) {
    const Range* range = nullptr;
    for (const Range& candidate : kRanges) {
      if (KeyOf(field) == candidate.field) range = &candidate;
    }
    CHECK(range != nullptr);  // every number has a row above
    const bool above = range->low_allowed ? value >= range->low : value > range->low;
    if (above && value <= range->high) return;  // false for NaN
    diagnostics_->Error(place.place(), NumberText(value) + " is out of range; wanted " +
                                           (range->low_allowed ? "from " : "more than ") +
                                           NumberText(range->low) + " to " + NumberText(range->high));
  }

  void CheckEnum(const pb::EnumValueDescriptor& value, const proto::Field& place) {
    if (value.number() != 0 || HasErrorAt(place, *diagnostics_)) return;  // what was refused reads as 0
    std::string wanted;
    for (int i = 1; i < value.type()->value_count(); ++i) {
      wanted += (i == 1 ? "" : ", ") + value.type()->value(i)->name();
    }
    diagnostics_->Error(place.place(), value.name() + " is not a choice; wanted one of " + wanted);
  }

  void CheckText(const std::string& text, const proto::Field& place) {
    if (text.empty() && !HasErrorAt(place, *diagnostics_))
      diagnostics_->Error(place.place(), "empty; wanted a text");
  }

  proto::Diagnostics* diagnostics_;
};

}  // namespace

void CheckFields(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  FieldChecker(diagnostics).Check(message, root);
}

std::string NumberText(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

bool HasErrorAt(const proto::Field& at, const proto::Diagnostics& diagnostics) {
  const std::string place = at.place() + ": ";
  const std::vector<std::string>& errors = diagnostics.errors();
  return std::any_of(errors.begin(), errors.end(),
                     [&](const std::string& error) { return error.starts_with(place); });
}

}  // namespace hardware
