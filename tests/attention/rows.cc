#include "tests/attention/rows.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "hardware/device_cost_model.h"
#include "hardware/device_reader.h"

namespace attention {
namespace {

using Cells = std::vector<std::string>;

// The lines of a table of this folder or another, without comments and heading.
std::vector<Cells> ReadTable(const std::string& file) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/tests/" + file);
  EXPECT_TRUE(in.good()) << file;
  std::vector<Cells> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    Cells cells;
    std::istringstream text(line);
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    rows.push_back(cells);
  }
  if (!rows.empty()) rows.erase(rows.begin());
  return rows;
}

sim::AttentionKind KindOf(const std::string& name) {
  return name == "FLASH2"   ? sim::AttentionKind::kFlash2
         : name == "FLASH3" ? sim::AttentionKind::kFlash3
         : name == "CUDNN"  ? sim::AttentionKind::kCudnn
                            : sim::AttentionKind::kTrtLlm;
}

const hardware::Device& DeviceOf(const std::string& name) {
  static std::map<std::string, hardware::Device> devices;
  const auto found = devices.find(name);
  if (found != devices.end()) return found->second;
  proto::Diagnostics diagnostics;
  std::optional<hardware::Device> device = hardware::ReadDevice(name, {}, "", &diagnostics);
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  return devices.emplace(name, device.value_or(hardware::Device())).first->second;
}

// FlashAttention 4 is none that a scenario could ask for: it ran heads of 512 where FlashAttention 3 ends.
bool HasKind(const Group& group) { return group.implementation != "FLASH4"; }

std::vector<Group> Read() {
  std::vector<Group> groups;
  for (const Cells& cells : ReadTable("attention/measured.csv")) {
    const std::int64_t head_dim = std::stoll(cells.at(2));
    if (groups.empty() || groups.back().device != cells[0] || groups.back().implementation != cells[1] ||
        groups.back().head_dim != head_dim) {
      groups.push_back({.device = cells[0], .implementation = cells[1], .head_dim = head_dim});
    }
    groups.back().rows.push_back({.heads = std::stoll(cells.at(3)),
                                  .kv_heads = std::stoll(cells.at(4)),
                                  .tokens = std::stoll(cells.at(5)),
                                  .batch = std::stoll(cells.at(6)),
                                  .seconds = std::stod(cells.at(7)) * 1e-6});
  }
  return groups;
}

std::vector<double> Times(const Group& group, const hardware::AttentionModel& model) {
  std::vector<double> seconds;
  for (const Row& row : group.rows) {
    seconds.push_back(scenarios::SecondsOf(DeviceOf(group.device), model, PointOf(group, row)));
  }
  return seconds;
}

hardware::AttentionModel Fit(const Group& group, const std::function<bool(const Row&)>& use,
                             const Variant& variant = {}) {
  std::vector<scenarios::AttentionPoint> points;
  for (const Row& row : group.rows) {
    if (use(row)) points.push_back(PointOf(group, row));
  }
  const hardware::Device& device = DeviceOf(group.device);
  const sim::AttentionKind kind = KindOf(group.implementation);
  hardware::AttentionModel start = scenarios::PagedStart(device, kind, group.head_dim);
  // A figure of 0 stays 0, and a rate beyond all others is no cost.
  if (!variant.query) start.forward.query_tokens = 0;
  if (!variant.overhead) start.forward.overhead_tokens = 0;
  if (!variant.tail) start.forward.tail = 0;
  if (!variant.cache) {
    start.cache_token_s = 0;
    start.cache_bytes_per_s = 1e24;
  }
  return scenarios::FitAttention(device, start, scenarios::PagedFigures(kind), points);
}

// Keys in their order are dealt to `folds`; each row's time is by a fit to the other folds.
using Key = std::pair<std::int64_t, std::int64_t>;
std::vector<double> HeldOut(const Group& group, const std::function<Key(const Row&)>& key_of,
                            std::size_t folds) {
  std::map<Key, std::size_t> fold_of;
  for (const Row& row : group.rows) fold_of[key_of(row)] = 0;
  std::size_t next = 0;
  for (auto& [key, fold] : fold_of) fold = next++ % folds;
  if (fold_of.size() == 1) return {};  // nothing would be left
  std::vector<double> seconds(group.rows.size());
  for (std::size_t fold = 0; fold < std::min(folds, fold_of.size()); ++fold) {
    const hardware::AttentionModel model =
        Fit(group, [&](const Row& row) { return fold_of[key_of(row)] != fold; });
    const std::vector<double> times = Times(group, model);
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (fold_of[key_of(group.rows[i])] == fold) seconds[i] = times[i];
    }
  }
  return seconds;
}

void Compare(Group* group) {
  for (const hardware::AttentionModel& model : DeviceOf(group->device).paged_attention) {
    if (model.implementation == KindOf(group->implementation) && model.head_dim == group->head_dim) {
      group->shipped = &model;
    }
  }
  group->fitted = Fit(*group, [](const Row&) { return true; });
  group->fitted_s = Times(*group, group->fitted);
  if (group->shipped != nullptr) group->shipped_s = Times(*group, *group->shipped);
  group->other_heads_s = HeldOut(
      *group, [](const Row& row) { return Key(row.heads, row.kv_heads); }, 5);
  group->other_lengths_s = HeldOut(
      *group, [](const Row& row) { return Key(row.batch, row.tokens); }, 8);
}

std::vector<Curve> ReadCurves() {
  std::vector<Curve> curves;
  for (const Cells& cells : ReadTable("hardware/data/attention_published.csv")) {
    const Curve of{.implementation = cells.at(0),
                   .head_dim = std::stoll(cells.at(1)),
                   .backward = cells.at(2) == "bwd",
                   .causal = cells.at(3) == "1"};
    const auto same = [&](const Curve& curve) {
      return curve.implementation == of.implementation && curve.head_dim == of.head_dim &&
             curve.backward == of.backward && curve.causal == of.causal;
    };
    if (curves.empty() || !same(curves.back())) curves.push_back(of);
    curves.back().tokens.push_back(std::stoll(cells.at(4)));
    curves.back().tflops.push_back(std::stod(cells.at(5)));
  }
  return curves;
}

// By the papers' count: all pairs, or half of them.
double FlopsOf(const Curve& curve, std::size_t i) {
  const double tokens = static_cast<double>(curve.tokens[i]);
  return 4 * 16384.0 * tokens * 2048 * (curve.causal ? 0.5 : 1) * (curve.backward ? 2.5 : 1);
}

}  // namespace

scenarios::AttentionPoint PointOf(const Group& group, const Row& row) {
  return {.shape = {.batch = row.batch,
                    .query_heads = row.heads,
                    .kv_heads = row.kv_heads,
                    .query_length = row.tokens,
                    .kv_length = row.tokens,
                    .head_dim = group.head_dim,
                    .causal = true,
                    .implementation = KindOf(group.implementation),
                    .paged = true},
          .seconds = row.seconds};
}

std::vector<Variant> Variants() {
  return {
      {.name = "whole"},
      {.name = "without the way into the cache", .cache = false},
      {.name = "without a cost a query", .query = false},
      {.name = "without a cost a block", .overhead = false},
      {.name = "without a tail", .tail = false},
      {.name = "without all of these but the cost a block", .cache = false, .query = false, .tail = false}};
}

std::vector<double> TimesOf(const Group& group, const Variant& variant) {
  return Times(group, Fit(
                          group, [](const Row&) { return true; }, variant));
}

const std::vector<Group>& Groups() {
  static const std::vector<Group> groups = [] {
    std::vector<Group> all = Read();
    for (Group& group : all) {
      if (HasKind(group)) Compare(&group);
    }
    return all;
  }();
  return groups;
}

const std::vector<Curve>& Curves() {
  static const std::vector<Curve> curves = ReadCurves();
  return curves;
}

scenarios::AttentionPoint PointOf(const Curve& curve, std::size_t i) {
  const std::int64_t heads = 2048 / curve.head_dim;
  return {.shape = {.batch = 16384 / curve.tokens[i],
                    .query_heads = heads,
                    .kv_heads = heads,
                    .query_length = curve.tokens[i],
                    .kv_length = curve.tokens[i],
                    .head_dim = curve.head_dim,
                    .causal = curve.causal,
                    .implementation = KindOf(curve.implementation)},
          .backward = curve.backward,
          .seconds = FlopsOf(curve, i) / (curve.tflops[i] * 1e12)};
}

double ModelledTflops(const Curve& curve, std::size_t i) {
  const hardware::DeviceCostModel model(DeviceOf("h100_sxm"));
  sim::Kernel kernel;
  kernel.kind = curve.backward ? sim::KernelKind::kAttentionBackward : sim::KernelKind::kAttentionForward;
  kernel.attention = PointOf(curve, i).shape;
  kernel.bytes = sim::Bytes(std::int64_t{4} * 2 * 16384 * 2048);
  return FlopsOf(curve, i) / model.TimeOf(kernel).alone.seconds() / 1e12;
}

}  // namespace attention
