#include "scenarios/published/convert.h"

#include <google/protobuf/text_format.h>

#include <cctype>
#include <cstdlib>

#include "proto/scenario.pb.h"
#include "scenarios/published/row_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

// "MB-0045" -> "mb_0045".
std::string NameOf(const std::string& id) {
  std::string name;
  for (const char c : id) {
    const auto byte = static_cast<unsigned char>(c);
    name += std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return name;
}

void WriteHead(const StepRow& row, Draft* draft) {
  config::Scenario& out = *draft->scenario;
  out.set_description(row.model_name + " on " + std::to_string(row.n_gpu) + " x " + row.gpu + ", " + row.id +
                      " of the published step times.");
  out.mutable_source()->set_title(row.source);
  out.mutable_source()->set_note(row.where);
  config::Published& published = *out.mutable_published();
  published.set_step_time_s(row.step_time_s);
  published.mutable_source()->set_title(row.source);
  published.mutable_source()->set_note(row.where);
}

std::string Comment(const char* what, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += std::string("# ") + what + ": " + line + ".\n";
  return text;
}

}  // namespace

std::int64_t NumberAfter(const std::string& text, const std::string& key, std::int64_t otherwise) {
  const std::size_t at = text.find(key);
  if (at == std::string::npos) return otherwise;
  const char* start = text.c_str() + at + key.size();
  char* end = nullptr;
  const long long value = std::strtoll(start, &end, 10);
  return end == start ? otherwise : value;
}

std::string Quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

Conversion Convert(const StepRow& row) {
  config::Scenario scenario;
  Draft draft{.scenario = &scenario, .conversion = {}};
  const std::string name = draft.conversion.name = NameOf(row.id);
  scenario.set_name(name);
  WriteHead(row, &draft);
  WriteModel(row, &draft);
  WriteHardware(row, &draft);
  WriteLayout(row, &draft);
  WriteTraining(row, &draft);
  Conversion& out = draft.conversion;
  if (!out.refused.empty()) {
    out.files.clear();
    return out;
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(scenario, &text);
  text = Comment("Assumed", out.assumed) + Comment("Left out", out.left_out) + text;
  out.files.insert(out.files.begin(), {name, text});
  return out;
}

}  // namespace scenarios
