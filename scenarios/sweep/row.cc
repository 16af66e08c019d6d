#include "scenarios/sweep/row.h"

#include <charconv>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace scenarios {
namespace {

constexpr std::array<RowStatus, 6> kStatuses = {RowStatus::kOk,          RowStatus::kDoesNotFit,
                                                RowStatus::kSkipped,     RowStatus::kTooLarge,
                                                RowStatus::kNotPlayable, RowStatus::kRefused};

// Breakdown columns: what the device does, what the step waits for.
std::string ColumnOf(sim::Cause cause) {
  std::string name = sim::ToText(cause);
  for (char& c : name) c = c == ' ' ? '_' : c;
  switch (cause) {
    case sim::Cause::kTensor:
    case sim::Cause::kContext:
    case sim::Cause::kExpert:
    case sim::Cause::kPipeline:
    case sim::Cause::kData:
    case sim::Cause::kEmbedding:
    case sim::Cause::kNorm:
    case sim::Cause::kOffload:
    case sim::Cause::kCheckpoint:
    case sim::Cause::kLoad:
      return "exposed_" + name + "_s";
    default:
      return name + "_s";
  }
}

// The one list of columns: calls field(name, member) for each.
template <class AnyRow, class Field>
void VisitFields(AnyRow& row, Field&& field) {
  field("status", row.status);
  field("reason", row.reason);
  field("model_name", row.model);
  field("device_name", row.device);
  field("fabric_name", row.fabric);
  field("device_count", row.devices);
  field("tensor_ranks", row.tensor);
  field("context_ranks", row.context);
  field("pipeline_stages", row.pipeline);
  field("virtual_stages", row.virtual_stages);
  field("expert_ranks", row.expert);
  field("data_ranks", row.data);
  field("global_batch_sequences", row.global_batch);
  field("micro_batch_sequences", row.micro_batch);
  field("micro_batches", row.micro_batches);
  field("sequence_length_tokens", row.sequence_length);
  field("memory_bytes", row.memory);
  field("memory_limit_bytes", row.memory_limit);
  field("least_step_time_s", row.least_step_time);
  field("usd_per_device_hour", row.usd_per_device_hour);
  field("step_time_s", row.step_time);
  field("mean_step_time_s", row.mean_step_time);
  field("tokens_per_s", row.tokens_per_s);
  field("mfu", row.mfu);
  field("mfu_causal", row.mfu_causal);
  field("hfu", row.hfu);
  field("tflops_per_device", row.tflops_per_device);
  field("usd_per_step", row.usd_per_step);
  field("usd_per_trillion_tokens", row.usd_per_trillion_tokens);
  field("tokens_per_usd", row.tokens_per_usd);
  for (int c = 0; c < sim::kCauses; ++c) {
    field(ColumnOf(static_cast<sim::Cause>(c)), row.breakdown[static_cast<std::size_t>(c)]);
  }
  field("tasks", row.tasks);
  field("digest", row.digest);
}

template <class Number>
bool Parse(std::string_view text, Number* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

constexpr std::int64_t kSecond = 1'000'000'000'000;  // in picoseconds
constexpr std::size_t kPlaces = 12;

// Seconds, without zeros at the end: "1.25".
std::string TextOf(sim::Duration time) {
  std::string text = std::to_string(time.ps() / kSecond);
  std::string places = std::to_string(time.ps() % kSecond);
  places.insert(0, kPlaces - places.size(), '0');
  places.erase(places.find_last_not_of('0') + 1);
  return places.empty() ? text : text + '.' + places;
}

bool Parse(std::string_view text, sim::Duration* time) {
  const std::size_t point = text.find('.');
  std::string places(point == std::string_view::npos ? "" : text.substr(point + 1));
  if (places.size() > kPlaces || text.find('-') != std::string_view::npos) return false;
  places.append(kPlaces - places.size(), '0');
  std::int64_t seconds = 0, rest = 0;
  if (!Parse(text.substr(0, point), &seconds) || !Parse(places, &rest)) return false;
  *time = sim::Duration::Picoseconds(seconds * kSecond + rest);
  return true;
}

bool Parse(std::string_view text, sim::Bytes* bytes) {
  std::int64_t count = 0;
  if (!Parse(text, &count)) return false;
  *bytes = sim::Bytes(count);
  return true;
}

std::string TextOf(std::int64_t number) { return std::to_string(number); }
std::string TextOf(sim::Bytes bytes) { return std::to_string(bytes.count()); }

// The shortest that is read back as the same number.
std::string TextOf(double number) {
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

Cell CellOf(RowStatus status) { return {ToText(status)}; }
Cell CellOf(const std::string& text) { return {text}; }
template <class T>
Cell CellOf(const std::optional<T>& value) {
  return {value ? TextOf(*value) : "", value.has_value()};
}

bool Read(const std::string& text, RowStatus* status) {
  for (const RowStatus one : kStatuses) {
    if (text != ToText(one)) continue;
    *status = one;
    return true;
  }
  return false;
}
bool Read(const std::string& text, std::string* value) {
  *value = text;
  return true;
}
template <class T>
bool Read(const std::string& text, std::optional<T>* value) {
  return text.empty() || Parse(text, &value->emplace());
}

}  // namespace

const char* ToText(RowStatus status) {
  switch (status) {
    case RowStatus::kOk:
      return "ok";
    case RowStatus::kDoesNotFit:
      return "does_not_fit";
    case RowStatus::kSkipped:
      return "skipped";
    case RowStatus::kTooLarge:
      return "too_large";
    case RowStatus::kNotPlayable:
      return "not_playable";
    case RowStatus::kRefused:
      return "refused";
  }
  return "?";
}

void Describe(const Scenario& s, Row* row) {
  row->model = s.model.name;
  row->device = s.device.name;
  row->fabric = s.fabric.name;
  row->devices = s.devices;
  row->tensor = s.layout.tensor;
  row->context = s.layout.context;
  row->pipeline = s.layout.pipeline;
  row->virtual_stages = s.layout.virtual_stages;
  row->expert = s.layout.expert;
  row->data = s.layout.data;
  row->global_batch = s.batch.global;
  row->micro_batch = s.batch.micro;
  row->micro_batches = s.batch.micro_batches;
  row->sequence_length = s.batch.sequence_length;
  row->memory_limit = s.device.usable_memory;
  row->usd_per_device_hour = s.price_usd_per_device_hour;
}

void TakeReport(const Report& report, Row* row) {
  if (report.fits) row->status = RowStatus::kOk;
  row->step_time = report.step_time;
  row->mean_step_time = report.checkpoint ? report.checkpoint->effective_step_time : report.step_time;
  row->tokens_per_s = report.tokens_per_s;
  row->mfu = report.mfu;
  row->mfu_causal = report.mfu_causal;
  row->hfu = report.hfu;
  row->tflops_per_device = report.tflops_per_device;
  row->usd_per_step = report.cost_usd_per_step;
  row->usd_per_trillion_tokens = report.cost_usd_per_trillion_tokens;
  if (report.cost_usd_per_step && *report.cost_usd_per_step > 0) {
    row->tokens_per_usd = sim::Number(row->tokens()) / *report.cost_usd_per_step;
  }
  for (int c = 0; c < sim::kCauses; ++c) {
    for (const TimePart& part : report.breakdown) {
      if (part.name == sim::ToText(static_cast<sim::Cause>(c))) {
        row->breakdown[static_cast<std::size_t>(c)] = part.time;
      }
    }
  }
  row->tasks = static_cast<std::int64_t>(report.tasks);
  row->digest = report.digest;
}

std::vector<std::string> RowColumns() {
  std::vector<std::string> columns;
  const Row row;
  VisitFields(row, [&](const std::string& name, const auto&) { columns.push_back(name); });
  return columns;
}

std::vector<Cell> CellsOf(const Row& row) {
  std::vector<Cell> cells;
  VisitFields(row, [&](const std::string&, const auto& value) { cells.push_back(CellOf(value)); });
  return cells;
}

std::optional<Row> RowOf(const std::vector<std::string>& cells) {
  if (cells.size() != RowColumns().size()) return std::nullopt;
  Row row;
  bool good = true;
  std::size_t at = 0;
  VisitFields(row, [&](const std::string&, auto& value) { good = Read(cells[at++], &value) && good; });
  if (!good) return std::nullopt;
  return row;
}

}  // namespace scenarios
