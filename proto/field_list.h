// The fields that a message was given, as paths and values: what `--set` takes.

#ifndef PROTO_FIELD_LIST_H_
#define PROTO_FIELD_LIST_H_

#include <string>
#include <vector>

namespace google::protobuf {
class Message;
}

namespace proto {

struct FieldValue {
  std::string path;   // "rail_optimised.switch_latency_ns", "faults[0].from"
  std::string value;  // as in textproto: 250, "node3/nic5", SPRAY
};

// In the order of the schema. Left out is where figures come from (messages of type Source). A list of more
// than a hundred is one field: how many, and a digest of what they are.
std::vector<FieldValue> FieldsOf(const google::protobuf::Message& message);

}  // namespace proto

#endif  // PROTO_FIELD_LIST_H_
