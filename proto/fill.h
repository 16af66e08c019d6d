// Fill: puts a tree of fields into a message by reflection, and keeps the place
// of each. What does not fit is reported and left out; the rest goes in.

#ifndef PROTO_FILL_H_
#define PROTO_FILL_H_

#include <string>
#include <vector>

#include "proto/syntax.h"
#include "proto/text_reader.h"

namespace google::protobuf {
class FieldDescriptor;
}  // namespace google::protobuf

namespace proto {

struct Elements;

// Where a message came from, and each of its fields that the input mentions
// (also when its value was refused).
struct Location {
  Position at;
  int set = 0;  // the override that gave it, counted from 1; 0 = the file
  std::vector<Elements> fields;
  bool refused = false;  // no block stood there, so nothing is known of its fields

  const Location* Find(int field_number, int index) const;
  // The places of one field, made when there are none.
  std::vector<Location>* Of(int field_number);
};

// The places of one field: one of a single field, one per element of a repeated one.
struct Elements {
  int field_number = 0;
  std::vector<Location> at;
};

// Reports at "file:line:column: path", or at "--set N: path".
struct Origin {
  std::string file;
  int set = 0;
  Notation notation = Notation::kTextproto;
  bool bare_strings = false;           // a word or number will do for a string
  std::size_t most_errors = SIZE_MAX;  // filling stops when the diagnostics hold so many

  std::string Place(Position at, const std::string& path) const;
};

// The fields of `node` into `message`, which is empty.
void Fill(const Node& node, const Origin& origin, const std::string& path, google::protobuf::Message* message,
          Location* location, Diagnostics* diagnostics);

// One value into one field: replaces what a single field or a whole repeated
// field (index -1) held; replaces or appends one element at `index`.
// REQUIRES: index <= size of the repeated field
void FillField(const Node& node, const Origin& origin, const std::string& path,
               const google::protobuf::FieldDescriptor* field, int index, google::protobuf::Message* message,
               Location* location, Diagnostics* diagnostics);

// "unknown field; did you mean layout.tensor?" `where` is the path of the message, "" at the top.
std::string UnknownField(const std::string& name, const std::string& where,
                         const google::protobuf::Descriptor* type, const google::protobuf::Descriptor* top);

}  // namespace proto

#endif  // PROTO_FILL_H_
