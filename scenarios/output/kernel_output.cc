#include "scenarios/output/kernel_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

template <class... T>
std::string Printed(const char* format, T... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// Four digits, and not "1e+05".
std::string FourDigits(double value) {
  if (value >= 1000) return Printed("%.0f", value);
  return Printed(value >= 100 ? "%.1f" : value >= 10 ? "%.2f" : "%.3f", value);
}

double Us(sim::Duration time) { return time.seconds() * 1e6; }

bool IsProduct(const KernelRow& row) { return row.kernel.kind == sim::KernelKind::kGemm; }
bool IsMemory(const KernelRow& row) { return row.kernel.kind == sim::KernelKind::kMemory; }

std::string TileText(const KernelRow& row) {
  const hardware::GemmTiming& tile = row.product;
  if (tile.tile_m == 0) return Printed("  %8s %2s %7s", "-", "-", "-");
  return Printed("  %8s %2d %7s", (std::to_string(tile.tile_m) + 'x' + std::to_string(tile.tile_n)).c_str(),
                 tile.parts, FourDigits(tile.waves).c_str());
}

std::string ShapeHead(const KernelRow& row) {
  if (IsProduct(row)) return Printed("%6s %6s %6s", "m", "n", "k");
  if (IsMemory(row)) return Printed("%12s %15s", "class", "bytes");
  return Printed("%6s %5s %7s %7s", "batch", "heads", "queries", "keys");
}

std::string ShapeText(const KernelRow& row) {
  const auto n = [](std::int64_t value) { return static_cast<long long>(value); };
  if (IsProduct(row)) {
    const sim::GemmShape& shape = row.kernel.gemm;
    return Printed("%6lld %6lld %6lld", n(shape.m), n(shape.n), n(shape.k));
  }
  if (IsMemory(row)) {
    return Printed("%12s %15lld", NameOf(row.kernel.memory_class), n(row.kernel.bytes.count()));
  }
  const sim::AttentionShape& shape = row.kernel.attention;
  return Printed("%6lld %5lld %7lld %7lld", n(shape.batch), n(shape.query_heads), n(shape.query_length),
                 n(shape.kv_length));
}

std::string LineOf(const KernelRow& row, const KernelHead& head) {
  std::string text = ShapeText(row) + Printed("  %9s", FourDigits(Us(row.times.alone)).c_str());
  if (head.beside) text += Printed(" %9s", FourDigits(Us(row.times.beside_communication)).c_str());
  if (!IsMemory(row)) {
    text += Printed("  %7s %5.1f  %7s", FourDigits(row.flops_per_s() * 1e-12).c_str(),
                    100 * row.part_of_peak(), FourDigits(row.intensity()).c_str());
  }
  text += Printed(" %8s %6s  %-6s", FourDigits(row.bytes * 1e-6).c_str(),
                  FourDigits(row.bytes_per_s() * 1e-9).c_str(), ToText(row.bound));
  if (IsProduct(row)) text += TileText(row);
  return text + "  " + hardware::ToText(row.basis) + '\n';
}

std::string HeadOf(const KernelRow& row, const KernelHead& head) {
  std::string text = ShapeHead(row) + Printed("  %9s", "us");
  if (head.beside) text += Printed(" %9s", "beside");
  if (!IsMemory(row)) text += Printed("  %7s %5s  %7s", "TFLOP/s", "peak%", "FLOP/B");
  text += Printed(" %8s %6s  %-6s", "MB", "GB/s", "bound");
  if (IsProduct(row)) text += Printed("  %8s %2s %7s", "tile", "k/", "waves");
  return text + "  by\n";
}

// What is the same in all rows of attention.
std::string AttentionText(const KernelRow& row) {
  const sim::AttentionShape& shape = row.kernel.attention;
  const bool backward = row.kernel.kind == sim::KernelKind::kAttentionBackward;
  std::string text = std::string("# ") + hardware::ToText(shape.implementation) +
                     (backward ? " backward" : " forward") + ", " + std::to_string(shape.kv_heads) +
                     " key heads, " + std::to_string(shape.head_dim) + " wide";
  if (shape.value_dim > 0) text += ", values " + std::to_string(shape.value_dim);
  text += shape.causal ? ", causal" : ", not causal";
  if (shape.window > 0) text += ", window " + std::to_string(shape.window);
  if (shape.paged) text += ", keys and values into a cache first";
  return text + '\n';
}

std::string ProductsText(const KernelRow& row, const KernelHead& head) {
  std::string text;
  if (row.kernel.gemm.batch > 1) text += "# " + std::to_string(row.kernel.gemm.batch) + " products at once\n";
  if (head.accumulates) text += "# added to FP32 sums\n";
  if (head.derate < 1) {
    text += head.constant_data ? "# of constant data, as benchmarks have it: matrix units at full clock\n"
                               : "# of random data, as training has it: " + Printed("%.3g", head.derate) +
                                     " of the matrix units' rate; measured points as they are\n";
  }
  return text;
}

// The words of the last column that occur.
std::string BasesText(const std::vector<KernelRow>& rows) {
  constexpr std::pair<hardware::KernelBasis, const char*> kMeanings[] = {
      {hardware::KernelBasis::kMeasurement, "this shape was measured on this device"},
      {hardware::KernelBasis::kFit, "figures fitted to measurements of this device, within their shapes"},
      {hardware::KernelBasis::kPublished, "figures of a paper or a data sheet"},
      {hardware::KernelBasis::kDerived, "figures that follow from others, as another device's, by a rule"},
      {hardware::KernelBasis::kExtrapolation, "beyond the shapes that the figures were fitted to"},
      {hardware::KernelBasis::kAssumed, "figures that nobody published"}};
  std::string text;
  for (const auto& [basis, meaning] : kMeanings) {
    for (const KernelRow& row : rows) {
      if (row.basis != basis) continue;
      text += std::string("# ") + hardware::ToText(basis) + ": " + meaning + '\n';
      break;
    }
  }
  return text;
}

Json ShapeJson(const KernelRow& row) {
  if (IsProduct(row)) {
    const sim::GemmShape& shape = row.kernel.gemm;
    return {{"format", hardware::ToText(row.kernel.format)},
            {"m", shape.m},
            {"n", shape.n},
            {"k", shape.k},
            {"count", shape.batch}};
  }
  if (IsMemory(row)) return {{"class", NameOf(row.kernel.memory_class)}};
  const sim::AttentionShape& shape = row.kernel.attention;
  return {{"kind", hardware::ToText(shape.implementation)},
          {"backward", row.kernel.kind == sim::KernelKind::kAttentionBackward},
          {"batch", shape.batch},
          {"heads", shape.query_heads},
          {"kv_heads", shape.kv_heads},
          {"queries", shape.query_length},
          {"keys", shape.kv_length},
          {"head_dim", shape.head_dim},
          {"value_dim", shape.value_dim > 0 ? shape.value_dim : shape.head_dim},
          {"causal", shape.causal},
          {"window", shape.window},
          {"paged", shape.paged}};
}

Json RowJson(const KernelRow& row, const KernelHead& head) {
  Json json = ShapeJson(row);
  json["time_us"] = Us(row.times.alone);
  if (head.beside) json["beside_us"] = Us(row.times.beside_communication);
  if (!IsMemory(row)) {
    json["flops"] = row.flops;
    json["tflops"] = row.flops_per_s() * 1e-12;
    json["part_of_peak"] = row.part_of_peak();
    json["flops_per_byte"] = row.intensity();
  }
  json["bytes"] = row.bytes;
  json["gb_per_s"] = row.bytes_per_s() * 1e-9;
  json["bound"] = ToText(row.bound);
  if (IsProduct(row)) {
    const hardware::GemmTiming& tile = row.product;
    const bool tiled = tile.tile_m > 0;
    json["tile_m"] = tiled ? Json(tile.tile_m) : Json(nullptr);
    json["tile_n"] = tiled ? Json(tile.tile_n) : Json(nullptr);
    json["k_parts"] = tiled ? Json(tile.parts) : Json(nullptr);
    json["waves"] = tiled ? Json(tile.waves) : Json(nullptr);
  }
  json["by"] = hardware::ToText(row.basis);
  return json;
}

}  // namespace

std::string KernelText(const std::vector<KernelRow>& rows, const KernelHead& head) {
  std::string text = "# " + head.hardware + '\n';
  const KernelRow& first = rows.front();
  if (IsProduct(first)) text += ProductsText(first, head);
  if (!IsProduct(first) && !IsMemory(first)) text += AttentionText(first);
  text += HeadOf(first, head);
  const KernelRow* before = nullptr;
  for (const KernelRow& row : rows) {
    const bool other = before == nullptr || before->kernel.format != row.kernel.format;
    if (IsProduct(row) && other) text += std::string("# ") + hardware::ToText(row.kernel.format) + '\n';
    text += LineOf(row, head);
    before = &row;
  }
  return text + BasesText(rows) + "# the host takes " + Printed("%.1f", Us(head.eager_launch)) +
         " us to launch one by itself (training.launches EAGER), and shorter ones wait for it\n";
}

std::string KernelJson(const std::vector<KernelRow>& rows, const KernelHead& head) {
  Json json = {{"schema_version", 1}, {"hardware", head.hardware}};
  if (IsProduct(rows.front())) {
    json["random_data_derate"] = head.constant_data ? 1 : head.derate;
    json["accumulates"] = head.accumulates;
  }
  json["eager_launch_us"] = Us(head.eager_launch);
  json["rows"] = Json::array();
  for (const KernelRow& row : rows) json["rows"].push_back(RowJson(row, head));
  return json.dump(2) + '\n';
}

std::string KernelCsv(const std::vector<KernelRow>& rows, const KernelHead& head) {
  std::string text;
  for (const KernelRow& row : rows) {
    const Json json = RowJson(row, head);
    std::string names, values;
    for (const auto& [name, value] : json.items()) {
      names += (names.empty() ? "" : ",") + name;
      values += (values.empty() ? "" : ",") + (value.is_null()     ? ""
                                               : value.is_string() ? value.get<std::string>()
                                                                   : value.dump());
    }
    text += (text.empty() ? names + '\n' : "") + values + '\n';
  }
  return text;
}

}  // namespace scenarios
