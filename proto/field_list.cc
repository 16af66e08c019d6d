#include "proto/field_list.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <utility>

#include "sim/base/digest.h"

namespace proto {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr int kMostElements = 100;

std::string DigestOf(const std::string& text) {
  sim::Digest digest;
  for (const char c : text) digest.Add(static_cast<unsigned char>(c));
  return sim::ToHex(digest.value());
}

void Append(const Message& message, const std::string& before, std::vector<FieldValue>* fields);

// One value; `index` is -1 for a field that does not repeat.
void AppendOne(const Message& message, const FieldDescriptor* field, int index, const std::string& path,
               std::vector<FieldValue>* fields) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    const Message& inner = index < 0 ? reflection->GetMessage(message, field)
                                     : reflection->GetRepeatedMessage(message, field, index);
    if (inner.GetDescriptor()->name() == "Source") return;
    const std::size_t empty = fields->size();
    Append(inner, path + '.', fields);
    if (fields->size() == empty) fields->push_back({path, "{}"});
    return;
  }
  std::string value;
  TextFormat::PrintFieldValueToString(message, field, index, &value);
  fields->push_back({path, std::move(value)});
}

void Append(const Message& message, const std::string& before, std::vector<FieldValue>* fields) {
  const google::protobuf::Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> given;
  reflection->ListFields(message, &given);
  for (const FieldDescriptor* field : given) {
    const std::string path = before + field->name();
    if (!field->is_repeated()) {
      AppendOne(message, field, -1, path, fields);
      continue;
    }
    const int count = reflection->FieldSize(message, field);
    std::vector<FieldValue> list;
    for (int i = 0; i < count; ++i) {
      AppendOne(message, field, i, path + '[' + std::to_string(i) + ']', &list);
    }
    if (count <= kMostElements) {
      fields->insert(fields->end(), list.begin(), list.end());
      continue;
    }
    std::string all;
    for (const FieldValue& one : list) all += one.path + '=' + one.value + '\n';
    fields->push_back({path, std::to_string(count) + " entries, digest " + DigestOf(all)});
  }
}

}  // namespace

std::vector<FieldValue> FieldsOf(const google::protobuf::Message& message) {
  std::vector<FieldValue> fields;
  Append(message, "", &fields);
  return fields;
}

}  // namespace proto
