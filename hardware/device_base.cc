#include "hardware/device_base.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <utility>
#include <vector>

#include "proto/hardware.pb.h"

namespace hardware {

namespace {

namespace pb = google::protobuf;
using orrery::config::Hardware;

std::vector<const pb::FieldDescriptor*> GivenFields(const pb::Message& message) {
  std::vector<const pb::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

// A group of figures has a basis; a source has none and is one value.
bool IsGroup(const pb::FieldDescriptor& field) {
  return !field.is_repeated() && field.message_type() != nullptr &&
         field.message_type()->FindFieldByName("basis") != nullptr;
}

// What a device is called is no figure: it needs no source of its own.
bool IsName(const pb::FieldDescriptor& field) {
  return field.name() == "name" || field.name() == "aliases" || field.name() == "derived_from";
}

void CheckGroups(const pb::Message& group, const proto::Field& place, proto::Diagnostics* diagnostics) {
  bool figures = false, basis = false, source = false;
  for (const pb::FieldDescriptor* field : GivenFields(group)) {
    if (IsGroup(*field)) {
      CheckGroups(group.GetReflection()->GetMessage(group, field), place.At(field->name()), diagnostics);
    } else if (field->name() == "basis") {
      basis = true;
    } else if (field->name() == "source") {
      source = true;
    } else if (!IsName(*field)) {
      figures = true;
    }
  }
  const char* why = "missing; wanted because fields of this group are not as in derived_from";
  for (const auto& [name, there] : {std::pair("basis", basis), std::pair("source", source)}) {
    const proto::Field field = place.At(name);
    if (figures && !there && !field.given()) diagnostics->Error(field.place(), why);  // else refused already
  }
}

// The same figures, as another device has them.
void MarkAsTaken(const std::string& name, pb::Message* group) {
  const pb::Reflection& reflection = *group->GetReflection();
  for (const pb::FieldDescriptor* field : GivenFields(*group)) {
    if (field->name() == "basis") {
      if (reflection.GetEnumValue(*group, field) != Hardware::MEASURED) continue;
      reflection.SetEnumValue(group, field, Hardware::DERIVED);
    } else if (field->name() == "source") {
      auto* source = static_cast<orrery::config::Source*>(reflection.MutableMessage(group, field));
      source->set_note(source->note() + (source->note().empty() ? "" : "; ") + "of " + name);
    } else if (IsGroup(*field)) {
      MarkAsTaken(name, reflection.MutableMessage(group, field));
    } else if (field->is_repeated() && field->message_type() != nullptr) {
      for (int i = 0; i < reflection.FieldSize(*group, field); ++i) {
        MarkAsTaken(name, reflection.MutableRepeatedMessage(group, field, i));
      }
    }
  }
}

// Takes out of `rest` what `own` gives itself.
void Remove(const pb::Message& own, pb::Message* rest) {
  for (const pb::FieldDescriptor* field : GivenFields(own)) {
    if (IsGroup(*field)) {
      Remove(own.GetReflection()->GetMessage(own, field), rest->GetReflection()->MutableMessage(rest, field));
    } else {
      rest->GetReflection()->ClearField(rest, field);
    }
  }
}

}  // namespace

bool TakeFromBase(const Hardware& base, const proto::Field& root, Hardware* own,
                  proto::Diagnostics* diagnostics) {
  const std::size_t before = diagnostics->errors().size();
  CheckGroups(*own, root, diagnostics);
  Hardware rest = base;
  rest.clear_name();
  rest.clear_aliases();
  rest.clear_derived_from();
  MarkAsTaken(base.name(), &rest);
  Remove(*own, &rest);
  own->MergeFrom(rest);
  return diagnostics->errors().size() == before;
}

}  // namespace hardware
