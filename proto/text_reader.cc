#include "proto/text_reader.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <optional>
#include <utility>

#include "proto/fill.h"
#include "proto/syntax.h"
#include "sim/base/check.h"

namespace proto {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

struct Document::State {
  const Descriptor* type = nullptr;
  Location top;
};

namespace {

// One line for a terminal, whatever the input holds.
std::string OneLine(const std::string& place, const std::string& what) {
  constexpr std::size_t kLongest = 600;  // bytes of either part
  std::string line;
  for (const std::string* part : {&place, &what}) {
    if (!line.empty()) line += ": ";
    line += part->substr(0, kLongest);
    if (part->size() > kLongest) line += "...";
  }
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = ' ';
  }
  return line;
}

}  // namespace

void Diagnostics::Error(const std::string& place, const std::string& what) {
  errors_.push_back(OneLine(place, what));
}

void Diagnostics::Warning(const std::string& place, const std::string& what) {
  warnings_.push_back(OneLine(place, what));
}

Document::Document() = default;
Document::~Document() = default;
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;

Field Document::root() const {
  CHECK(state_ != nullptr);
  Field field;
  field.document_ = this;
  field.type_ = state_->type;
  field.location_ = &state_->top;
  field.line_ = state_->top.at.line;
  field.column_ = state_->top.at.column;
  field.set_ = state_->top.set;
  return field;
}

Field Field::At(std::string_view name, int index) const {
  CHECK(type_ != nullptr);
  const FieldDescriptor* descriptor = type_->FindFieldByName(std::string(name));
  CHECK(descriptor != nullptr);
  Field child = *this;
  if (!path_.empty()) child.path_ += '.';
  child.path_ += name;
  if (index >= 0) child.path_ += '[' + std::to_string(index) + ']';
  child.type_ = descriptor->message_type();
  if (location_ != nullptr && !location_->refused) {  // else as its parent: refused already
    child.location_ = location_->Find(descriptor->number(), index);
  }
  if (child.location_ != nullptr) {
    child.line_ = child.location_->at.line;
    child.column_ = child.location_->at.column;
    child.set_ = child.location_->set;
  }
  return child;
}

std::string Field::place() const {
  CHECK(document_ != nullptr);
  const std::string path = set_ > 0 ? document_->override_prefix_ + path_ : path_;
  return Origin{.file = document_->file(), .set = set_}.Place({line_, column_}, path);
}

namespace {

// One name of a path, with its index: "failures[1]".
struct Step {
  std::string name;
  int index = -1;
};

// "failures[1].rank" in steps; nothing when it is not a path.
std::optional<std::vector<Step>> SplitPath(const std::string& path) {
  std::vector<Step> steps;
  std::size_t at = 0;
  while (true) {
    Step step;
    while (at < path.size() && path[at] != '.' && path[at] != '[') step.name += path[at++];
    if (step.name.empty()) return std::nullopt;
    if (at < path.size() && path[at] == '[') {
      const std::size_t close = path.find(']', at);
      const std::string digits = close == path.npos ? "" : path.substr(at + 1, close - at - 1);
      if (digits.empty() || digits.size() > 8 || digits.find_first_not_of("0123456789") != digits.npos)
        return std::nullopt;
      step.index = std::stoi(digits);
      at = close + 1;
    }
    steps.push_back(std::move(step));
    if (at == path.size()) return steps;
    if (path[at++] != '.') return std::nullopt;
  }
}

// What the text of an override means for this field: strings may go bare, and
// a bare string may hold anything.
std::optional<Node> OverrideValue(const Override& set, const FieldDescriptor* field, std::string* refusal) {
  Syntax syntax = ParseValue(set.value);
  if (syntax.errors.empty()) return std::move(syntax.root);
  const bool takes_text = field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
  const bool quoted =
      !set.value.empty() && (set.value[0] == '"' || set.value[0] == '\'' || set.value[0] == '[');
  if (takes_text && !quoted && IsUtf8(set.value)) {
    Node text;
    text.kind = Node::Kind::kString;
    text.text = set.value;
    return text;
  }
  *refusal = syntax.errors[0].what;
  return std::nullopt;
}

void ApplyOverride(const Override& set, Message* message, Location* location, Diagnostics* diagnostics) {
  const Origin origin{.file = "", .set = set.index, .notation = Notation::kTextproto, .bare_strings = true};
  const std::string place = origin.Place({}, set.prefix + set.path);
  const auto steps = SplitPath(set.path);
  if (!steps)
    return diagnostics->Error(place, "not a path; wanted names as in \"layout.tensor\" or \"list[0].name\"");
  const Descriptor* top = message->GetDescriptor();
  std::string where;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const Step& step = (*steps)[i];
    const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(step.name);
    if (field == nullptr) {
      return diagnostics->Error(place, UnknownField(step.name, where, message->GetDescriptor(), top));
    }
    if (step.index >= 0 && !field->is_repeated()) {
      return diagnostics->Error(
          place, step.name + " is one field; no [" + std::to_string(step.index) + "] is wanted");
    }
    const int size = field->is_repeated() ? message->GetReflection()->FieldSize(*message, field) : 0;
    if (step.index > size) {
      return diagnostics->Error(place, step.name + " has " + std::to_string(size) +
                                           " elements, numbered from 0; up to [" + std::to_string(size) +
                                           "] (a new one) is wanted");
    }
    if (i + 1 == steps->size()) {
      std::string refusal;
      const std::optional<Node> value = OverrideValue(set, field, &refusal);
      if (!value) return diagnostics->Error(place, refusal);
      return FillField(*value, origin, set.prefix + set.path, field, step.index, message, location,
                       diagnostics);
    }
    if (field->message_type() == nullptr) {
      return diagnostics->Error(place,
                                step.name + " is a value, without fields; a path that ends there is wanted");
    }
    if (field->is_repeated() && step.index < 0) {
      return diagnostics->Error(place,
                                step.name + " is a list; which one is wanted, as in " + step.name + "[0]");
    }
    const auto* r = message->GetReflection();
    const bool fresh = field->is_repeated() ? step.index == size : !r->HasField(*message, field);
    if (!field->is_repeated()) {
      message = r->MutableMessage(message, field);
    } else {
      message = fresh ? r->AddMessage(message, field) : r->MutableRepeatedMessage(message, field, step.index);
    }
    std::vector<Location>* places = location->Of(field->number());
    const std::size_t position = step.index < 0 ? 0 : static_cast<std::size_t>(step.index);
    if (places->size() <= position) places->resize(position + 1);
    location = &(*places)[position];
    if (fresh) location->set = set.index;
    where += (where.empty() ? "" : ".") + step.name;
  }
}

// More mistakes than this in one text are one mistake repeated, not news.
constexpr std::size_t kMostErrors = 100;

bool EndsWith(const std::string& text, std::string_view end) {
  return text.size() >= end.size() && std::string_view(text).substr(text.size() - end.size()) == end;
}

}  // namespace

struct Reader {
  static Location* Start(const std::string& file, const Descriptor* type, Document* document) {
    document->file_ = file;
    document->state_ = std::make_unique<Document::State>();
    document->state_->type = type;
    return &document->state_->top;
  }
  static void Complete(bool complete, Document* document) { document->complete_ = complete; }
  static Location* Override(const std::string& prefix, Document* document) {
    document->override_prefix_ = prefix;
    return &document->state_->top;
  }
};

bool Apply(const std::vector<Override>& overrides, Message* message, Document* document,
           Diagnostics* diagnostics) {
  const std::size_t before = diagnostics->errors().size();
  Location* top = Reader::Override(overrides.empty() ? "" : overrides.front().prefix, document);
  for (const Override& set : overrides) ApplyOverride(set, message, top, diagnostics);
  return diagnostics->errors().size() == before;
}

bool Read(const std::string& file, std::string_view text, const std::vector<Override>& overrides,
          Message* message, Document* document, Diagnostics* diagnostics) {
  const std::size_t before = diagnostics->errors().size();
  message->Clear();
  Location* top = Reader::Start(file, message->GetDescriptor(), document);
  const Origin origin{.file = file,
                      .set = 0,
                      .notation = EndsWith(file, ".json") ? Notation::kJson : Notation::kTextproto,
                      .most_errors = before + kMostErrors};
  const Syntax syntax = ParseText(text, origin.notation);
  for (const SyntaxError& error : syntax.errors) diagnostics->Error(origin.Place(error.at, ""), error.what);
  if (syntax.errors.empty() && syntax.root.children.empty()) {
    diagnostics->Error(origin.Place({}, ""),
                       "no field is given; an empty file is not a " + message->GetDescriptor()->name());
  }
  Fill(syntax.root, origin, "", message, top, diagnostics);
  const bool too_many = diagnostics->errors().size() >= origin.most_errors;
  if (too_many) diagnostics->Error(file, "there are more mistakes than these; mend them first");
  Reader::Complete(syntax.errors.empty() && !too_many, document);
  if (origin.notation == Notation::kJson && diagnostics->errors().size() == before) {
    if (const auto error = RefuseJson(text)) diagnostics->Error(origin.Place(error->at, ""), error->what);
  }
  Apply(overrides, message, document, diagnostics);
  return diagnostics->errors().size() == before;
}

}  // namespace proto
