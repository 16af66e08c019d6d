#include "proto/fill.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "sim/base/check.h"

namespace proto {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string Join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + '.' + name;
}

std::string Element(const std::string& path, int index) { return path + '[' + std::to_string(index) + ']'; }

std::string Found(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kMessage:
      return "a block { ... }";
    case Node::Kind::kList:
      return "a list [ ... ]";
    case Node::Kind::kString: {
      if (node.text.size() <= 40 || !IsUtf8(node.text.substr(0, 40))) return '"' + node.text + '"';
      return '"' + node.text.substr(0, 40) + "...\"";
    }
    case Node::Kind::kNumber:
    case Node::Kind::kWord:
      return node.text.substr(0, 40);
  }
  return "";
}

template <class Integer>
std::string Limits() {
  if (sizeof(Integer) == sizeof(std::int64_t)) return "a whole number";  // the readers know the real range
  return "a whole number from " + std::to_string(std::numeric_limits<Integer>::min()) + " to " +
         std::to_string(std::numeric_limits<Integer>::max());
}

// A value, or why there is none ("found; wanted").
template <class T>
struct Parsed {
  std::optional<T> value;
  std::string refusal;
};

template <class Integer>
Parsed<Integer> ParseInteger(const Node& node) {
  const std::string wanted = "; " + Limits<Integer>() + " is wanted";
  if (node.kind != Node::Kind::kNumber) return {{}, Found(node) + " is not a number" + wanted};
  const std::string& text = node.text;
  const char* end = text.data() + text.size();
  const std::size_t digits = text.find_first_not_of('-');
  if (text.size() > digits + 1 && text[digits] == '0' &&
      text.find_first_not_of("0123456789", digits) == text.npos) {
    return {{}, Found(node) + " has leading zeros" + wanted};
  }
  Integer value = 0;
  const auto whole = std::from_chars(text.data(), end, value);
  if (whole.ec == std::errc() && whole.ptr == end) return {value, ""};
  double real = 0;
  const auto [stop, error] = std::from_chars(text.data(), end, real);
  if (stop != end) return {{}, Found(node) + " is not a number" + wanted};
  if (error == std::errc() && real != std::floor(real)) return {{}, Found(node) + " is not whole" + wanted};
  if (error == std::errc() && real > -9e15 && real < 9e15 && text.find_first_of(".eE") != text.npos) {
    return {{},
            Found(node) + " is not written as a whole number; write " +
                std::to_string(static_cast<std::int64_t>(real))};
  }
  return {{}, Found(node) + " is out of range" + wanted};
}

Parsed<double> ParseDouble(const Node& node) {
  const std::string wanted = "; a finite number is wanted";
  if (node.kind != Node::Kind::kNumber) return {{}, Found(node) + " is not a number" + wanted};
  const char* begin = node.text.data();
  const char* end = begin + node.text.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (stop != end) return {{}, Found(node) + " is not a number" + wanted};
  if (error != std::errc() || !std::isfinite(value)) {
    return {{}, Found(node) + " is out of range; a number from 2.3e-308 to 1.7e308 in size is wanted"};
  }
  return {value, ""};
}

Parsed<bool> ParseBool(const Node& node) {
  if (node.kind == Node::Kind::kWord && node.text == "true") return {true, ""};
  if (node.kind == Node::Kind::kWord && node.text == "false") return {false, ""};
  return {{}, Found(node) + "; true or false is wanted"};
}

Parsed<std::string> ParseString(const Node& node, const Origin& origin) {
  const bool bare =
      origin.bare_strings && (node.kind == Node::Kind::kWord || node.kind == Node::Kind::kNumber);
  if (node.kind == Node::Kind::kString || bare) return {node.text, ""};
  return {{}, Found(node) + " is not a string; text in double quotes is wanted"};
}

// Zero of an enum means "not given", which nobody writes.
bool IsUnspecified(const EnumValueDescriptor* value) {
  return value->number() == 0 && value->name().find("UNSPECIFIED") != std::string::npos;
}

Parsed<const EnumValueDescriptor*> ParseEnum(const Node& node, const Origin& origin,
                                             const FieldDescriptor* field) {
  const auto* type = field->enum_type();
  std::vector<std::string> names;
  std::string all;
  for (int i = 0; i < type->value_count(); ++i) {
    if (IsUnspecified(type->value(i))) continue;
    names.push_back(type->value(i)->name());
    all += (all.empty() ? "" : ", ") + names.back();
  }
  const bool json = origin.notation == Notation::kJson;
  if (node.kind == (json ? Node::Kind::kString : Node::Kind::kWord) ||
      (origin.bare_strings && node.kind == Node::Kind::kString)) {
    const auto* value = type->FindValueByName(node.text);
    if (value != nullptr && !IsUnspecified(value)) return {value, ""};
    const std::vector<std::string> near = Nearest(node.text, names);
    return {{},
            Found(node) + " is not known; " + (near.empty() ? "" : "did you mean " + near[0] + "? ") +
                "one of " + all + " is wanted"};
  }
  return {{},
          Found(node) + "; one of " + all + (json ? " in double quotes" : " without quotes") + " is wanted"};
}

// Stores one scalar: index -1 sets a single field, size appends, else replaces.
template <class T>
void Put(Message* message, const FieldDescriptor* field, int index, const T& value) {
  const Reflection* r = message->GetReflection();
  const bool set = index < 0;
  const bool add = !set && index == r->FieldSize(*message, field);
  using R = Reflection;
  const auto put = [&](auto one, auto append, auto replace) {
    if (set) {
      (r->*one)(message, field, value);
    } else if (add) {
      (r->*append)(message, field, value);
    } else {
      (r->*replace)(message, field, index, value);
    }
  };
  if constexpr (std::is_same_v<T, std::int32_t>) {
    put(&R::SetInt32, &R::AddInt32, &R::SetRepeatedInt32);
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    put(&R::SetInt64, &R::AddInt64, &R::SetRepeatedInt64);
  } else if constexpr (std::is_same_v<T, std::uint32_t>) {
    put(&R::SetUInt32, &R::AddUInt32, &R::SetRepeatedUInt32);
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    put(&R::SetUInt64, &R::AddUInt64, &R::SetRepeatedUInt64);
  } else if constexpr (std::is_same_v<T, double>) {
    put(&R::SetDouble, &R::AddDouble, &R::SetRepeatedDouble);
  } else if constexpr (std::is_same_v<T, float>) {
    put(&R::SetFloat, &R::AddFloat, &R::SetRepeatedFloat);
  } else if constexpr (std::is_same_v<T, bool>) {
    put(&R::SetBool, &R::AddBool, &R::SetRepeatedBool);
  } else if constexpr (std::is_same_v<T, const EnumValueDescriptor*>) {
    put(&R::SetEnum, &R::AddEnum, &R::SetRepeatedEnum);
  } else {
    put(&R::SetString, &R::AddString, &R::SetRepeatedString);
  }
}

// Returns the refusal, or "". A refused element still takes its position in
// the list, so that places and values stay side by side.
template <class T>
std::string PutParsed(Message* message, const FieldDescriptor* field, int index, const Parsed<T>& parsed,
                      T otherwise) {
  if (parsed.value) {
    Put<T>(message, field, index, *parsed.value);
  } else if (index >= 0) {
    Put<T>(message, field, index, otherwise);
  }
  return parsed.refusal;
}

std::string PutScalar(const Node& node, const Origin& origin, Message* message, const FieldDescriptor* field,
                      int index) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return PutParsed<std::int32_t>(message, field, index, ParseInteger<std::int32_t>(node), 0);
    case FieldDescriptor::CPPTYPE_INT64:
      return PutParsed<std::int64_t>(message, field, index, ParseInteger<std::int64_t>(node), 0);
    case FieldDescriptor::CPPTYPE_UINT32:
      return PutParsed<std::uint32_t>(message, field, index, ParseInteger<std::uint32_t>(node), 0);
    case FieldDescriptor::CPPTYPE_UINT64:
      return PutParsed<std::uint64_t>(message, field, index, ParseInteger<std::uint64_t>(node), 0);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return PutParsed<double>(message, field, index, ParseDouble(node), 0);
    case FieldDescriptor::CPPTYPE_FLOAT: {
      const Parsed<double> wide = ParseDouble(node);
      Parsed<float> parsed{{}, wide.refusal};
      if (wide.value && std::abs(*wide.value) <= std::numeric_limits<float>::max()) {
        parsed.value = static_cast<float>(*wide.value);
      } else if (wide.value) {
        parsed.refusal = Found(node) + " is out of range; at most 3.4e38 in size is wanted";
      }
      return PutParsed<float>(message, field, index, parsed, 0);
    }
    case FieldDescriptor::CPPTYPE_BOOL:
      return PutParsed<bool>(message, field, index, ParseBool(node), false);
    case FieldDescriptor::CPPTYPE_ENUM:
      return PutParsed<const EnumValueDescriptor*>(message, field, index, ParseEnum(node, origin, field),
                                                   field->enum_type()->value(0));
    case FieldDescriptor::CPPTYPE_STRING:
      return PutParsed<std::string>(message, field, index, ParseString(node, origin), "");
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  CHECK(false);
  return "";
}

Message* MutableAt(Message* message, const FieldDescriptor* field, int index) {
  const Reflection* r = message->GetReflection();
  if (index < 0) return r->MutableMessage(message, field);
  if (index == r->FieldSize(*message, field)) return r->AddMessage(message, field);
  return r->MutableRepeatedMessage(message, field, index);
}

// One value to one field or element.
void FillOne(const Node& node, const Origin& origin, const std::string& path, const FieldDescriptor* field,
             int index, Message* message, Location* location, Diagnostics* diagnostics) {
  std::vector<Location>* places = location->Of(field->number());
  const std::size_t position = index < 0 ? 0 : static_cast<std::size_t>(index);
  if (places->size() <= position) places->resize(position + 1);
  Location* place = &(*places)[position];
  *place = Location{.at = node.at, .set = origin.set};
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    Message* child = MutableAt(message, field, index);
    child->Clear();
    if (node.kind == Node::Kind::kMessage) return Fill(node, origin, path, child, place, diagnostics);
    place->refused = true;
    diagnostics->Error(origin.Place(node.at, path), Found(node) + "; a block { ... } is wanted");
    return;
  }
  const std::string refusal = PutScalar(node, origin, message, field, index);
  if (!refusal.empty()) diagnostics->Error(origin.Place(node.at, path), refusal);
}

void FillList(const Node& list, const Origin& origin, const std::string& path, const FieldDescriptor* field,
              Message* message, Location* location, Diagnostics* diagnostics) {
  for (const Node& element : list.children) {
    const int index = message->GetReflection()->FieldSize(*message, field);
    FillOne(element, origin, Element(path, index), field, index, message, location, diagnostics);
  }
}

// The path of a field called `name` anywhere below `type`, or "".
std::string FindBelow(const std::string& name, const Descriptor* type, int depth) {
  if (type->FindFieldByName(name) != nullptr) return name;
  if (depth == 0) return "";
  for (int i = 0; i < type->field_count(); ++i) {
    if (type->field(i)->message_type() == nullptr) continue;
    const std::string below = FindBelow(name, type->field(i)->message_type(), depth - 1);
    if (!below.empty()) return type->field(i)->name() + '.' + below;
  }
  return "";
}

}  // namespace

const Location* Location::Find(int field_number, int index) const {
  for (const Elements& elements : fields) {
    if (elements.field_number != field_number) continue;
    const std::size_t position = index < 0 ? 0 : static_cast<std::size_t>(index);
    return position < elements.at.size() ? &elements.at[position] : nullptr;
  }
  return nullptr;
}

std::vector<Location>* Location::Of(int field_number) {
  for (Elements& elements : fields) {
    if (elements.field_number == field_number) return &elements.at;
  }
  fields.push_back({field_number, {}});
  return &fields.back().at;
}

std::string Origin::Place(Position at, const std::string& path) const {
  std::string place = "--set " + std::to_string(set);
  if (set == 0) place = file + ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
  return path.empty() ? place : place + ": " + path;
}

std::string UnknownField(const std::string& name, const std::string& where, const Descriptor* type,
                         const Descriptor* top) {
  std::vector<std::string> names;
  std::string all;
  for (int i = 0; i < type->field_count(); ++i) {
    names.push_back(type->field(i)->name());
    if (i < 12) all += (i == 0 ? "" : ", ") + names.back();
  }
  if (type->field_count() > 12) all += ", ...";
  constexpr int kSearchDepth = 3;
  const std::string elsewhere = FindBelow(name, top, kSearchDepth);
  const std::vector<std::string> near = Nearest(name, names);
  std::string what = "unknown field; ";
  if (!near.empty()) return what + "did you mean " + Join(where, near[0]) + "?";
  if (!elsewhere.empty()) return what + "did you mean " + elsewhere + "?";
  return what + "one of " + all + " is wanted";
}

void FillField(const Node& node, const Origin& origin, const std::string& path, const FieldDescriptor* field,
               int index, Message* message, Location* location, Diagnostics* diagnostics) {
  const bool whole = field->is_repeated() && index < 0;
  if (node.kind == Node::Kind::kList && !whole) {
    diagnostics->Error(origin.Place(node.at, path), "a list [ ... ]; one value is wanted");
    return;
  }
  if (!whole) return FillOne(node, origin, path, field, index, message, location, diagnostics);
  message->GetReflection()->ClearField(message, field);
  location->Of(field->number())->clear();
  if (node.kind == Node::Kind::kList)
    return FillList(node, origin, path, field, message, location, diagnostics);
  FillOne(node, origin, Element(path, 0), field, 0, message, location, diagnostics);
}

void Fill(const Node& node, const Origin& origin, const std::string& path, Message* message,
          Location* location, Diagnostics* diagnostics) {
  const Descriptor* type = message->GetDescriptor();
  std::map<int, Position> given;
  for (const Node& child : node.children) {
    if (diagnostics->errors().size() >= origin.most_errors) return;
    const FieldDescriptor* field = type->FindFieldByName(child.name);
    const std::string child_path = Join(path, child.name);
    if (field == nullptr) {
      diagnostics->Error(origin.Place(child.at, child_path), UnknownField(child.name, path, type, type));
      continue;
    }
    if (field->is_repeated()) {
      if (child.kind == Node::Kind::kList) {
        FillList(child, origin, child_path, field, message, location, diagnostics);
      } else if (origin.notation == Notation::kJson) {
        diagnostics->Error(origin.Place(child.at, child_path), Found(child) + "; a list [ ... ] is wanted");
      } else {
        const int index = message->GetReflection()->FieldSize(*message, field);
        FillOne(child, origin, Element(child_path, index), field, index, message, location, diagnostics);
      }
      continue;
    }
    const auto [first, fresh] = given.emplace(field->number(), child.at);
    if (!fresh) {
      diagnostics->Error(
          origin.Place(child.at, child_path),
          "given again; once is wanted, and line " + std::to_string(first->second.line) + " gives it");
      continue;
    }
    if (const auto* oneof = field->real_containing_oneof(); oneof != nullptr) {
      if (const auto* other = message->GetReflection()->GetOneofFieldDescriptor(*message, oneof)) {
        diagnostics->Error(origin.Place(child.at, child_path),
                           "given beside " + other->name() + "; one of the two is wanted");
        continue;
      }
    }
    FillField(child, origin, child_path, field, -1, message, location, diagnostics);
  }
}

}  // namespace proto
