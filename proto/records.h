// Length-delimited records: a file of messages, each behind its length as a
// varint, as protobuf streams and Chakra execution traces are.

#ifndef PROTO_RECORDS_H_
#define PROTO_RECORDS_H_

#include <string_view>
#include <vector>

#include "sim/base/result.h"

namespace proto {

// The records of `bytes`, as views into it, in order. Lengths are checked
// against what is left before anything is made, so no length can make this
// allocate or loop. Error: "truncated at offset X (record n): ...".
// Source: Protocol Buffers documentation, "Encoding: base 128 varints".
sim::Result<std::vector<std::string_view>> SplitRecords(std::string_view bytes);

}  // namespace proto

#endif  // PROTO_RECORDS_H_
