// The rooflines of kernel_output.h.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/output/kernel_output.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

template <class... T>
std::string Line(const char* format, T... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

const char* BasisText(const hardware::Figure* figure) {
  return figure == nullptr ? "assumed" : hardware::ToText(figure->basis);
}

std::string SourceOf(const hardware::Figure* figure) { return figure == nullptr ? "" : figure->source; }

// Sources in the order in which rows name them, "[1]" the first.
class Sources {
 public:
  std::string Of(const hardware::Figure* figure) {
    const std::string source = SourceOf(figure);
    if (source.empty()) return "";
    auto at = std::find(all_.begin(), all_.end(), source);
    if (at == all_.end()) at = all_.insert(all_.end(), source);
    return " [" + std::to_string(at - all_.begin() + 1) + ']';
  }

  // A paragraph each, of at most 110 columns.
  std::string Text() const {
    std::string text;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      std::string line = "[" + std::to_string(i + 1) + "]";
      for (std::size_t at = 0; at < all_[i].size();) {
        const std::size_t end = std::min(all_[i].find(' ', at), all_[i].size());
        if (line.size() + 1 + end - at > 110 && line.size() > 4) {
          text += line + '\n';
          line = "   ";
        }
        line += ' ' + all_[i].substr(at, end - at);
        at = end + 1;
      }
      text += line + '\n';
    }
    return text;
  }

 private:
  std::vector<std::string> all_;
};

// One figure of a roof, for JSON and CSV.
struct Roofed {
  std::string kind, name, figure, unit;
  double value = 0;
  const hardware::Figure* of = nullptr;
};

std::vector<Roofed> AllOf(const RooflineTable& table) {
  std::vector<Roofed> all = {
      {"memory", "data sheet", "rate", "GB/s", table.memory_bytes_per_s * 1e-9, table.memory}};
  for (const MemoryRoof& roof : table.classes) {
    all.push_back({"memory", NameOf(roof.memory_class), "rate", "GB/s", roof.bytes_per_s * 1e-9, roof.model});
  }
  for (const FormatRoof& roof : table.formats) {
    const std::string name = hardware::ToText(roof.format);
    all.push_back({"product", name, "peak", "TFLOP/s", roof.peak_flops_per_s * 1e-12, roof.peak});
    all.push_back({"product", name, "ridge", "FLOP/B", roof.ridge, roof.peak});
    all.push_back({"product", name, "best", "TFLOP/s", roof.best_flops_per_s * 1e-12, roof.model});
    all.push_back(
        {"product", name, "best at m = n = k", "", static_cast<double>(roof.best_cube), roof.model});
    all.push_back({"product", name, "best ridge", "FLOP/B", roof.best_ridge, roof.model});
  }
  for (const AttentionRoof& roof : table.attention) {
    const std::string name =
        std::string(hardware::ToText(roof.implementation)) + ' ' + std::to_string(roof.head_dim);
    all.push_back({"attention", name, "causal", "TFLOP/s", roof.causal_flops_per_s * 1e-12, roof.model});
    all.push_back({"attention", name, "full", "TFLOP/s", roof.full_flops_per_s * 1e-12, roof.model});
    all.push_back({"attention", name, "causal backward", "TFLOP/s", roof.causal_backward_flops_per_s * 1e-12,
                   roof.model});
  }
  return all;
}

std::string Quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string FormatsText(const RooflineTable& table, Sources* sources) {
  std::string text = Line("\nproducts      %8s %7s  %-15s %8s %6s %6s %7s\n", "peak", "ridge", "", "best",
                          "part", "cube", "ridge");
  for (const FormatRoof& roof : table.formats) {
    const std::string peak = BasisText(roof.peak) + sources->Of(roof.peak);
    const std::string model = BasisText(roof.model) + sources->Of(roof.model);
    text += Line("  %-12s%8.1f %7.1f  %-15s %8.1f %5.1f%% %6lld %7.1f  %s\n", hardware::ToText(roof.format),
                 roof.peak_flops_per_s * 1e-12, roof.ridge, peak.c_str(), roof.best_flops_per_s * 1e-12,
                 100 * roof.best_flops_per_s / roof.peak_flops_per_s, static_cast<long long>(roof.best_cube),
                 roof.best_ridge, model.c_str());
  }
  return text;
}

std::string MemoryText(const RooflineTable& table, Sources* sources) {
  std::string text = "\nmemory            GB/s   part\n";
  const double sheet = table.memory_bytes_per_s;
  text += Line("  %-12s%8.1f %5.1f%%  %s\n", "data sheet", sheet * 1e-9, 100.0,
               (BasisText(table.memory) + sources->Of(table.memory)).c_str());
  for (const MemoryRoof& roof : table.classes) {
    text += Line("  %-12s%8.1f %5.1f%%  %s\n", NameOf(roof.memory_class), roof.bytes_per_s * 1e-9,
                 100 * roof.bytes_per_s / sheet, (BasisText(roof.model) + sources->Of(roof.model)).c_str());
  }
  return text;
}

std::string AttentionsText(const RooflineTable& table, Sources* sources) {
  if (table.attention.empty()) return "";
  std::string text = Line("\nattention     %5s %8s %8s %15s\n", "wide", "causal", "full", "causal backward");
  for (const AttentionRoof& roof : table.attention) {
    text += Line("  %-12s%5lld %8.1f %8.1f %15.1f  %s\n", hardware::ToText(roof.implementation),
                 static_cast<long long>(roof.head_dim), roof.causal_flops_per_s * 1e-12,
                 roof.full_flops_per_s * 1e-12, roof.causal_backward_flops_per_s * 1e-12,
                 (BasisText(roof.model) + sources->Of(roof.model)).c_str());
  }
  return text;
}

}  // namespace

std::string RooflineText(const RooflineTable& table, const KernelHead& head) {
  Sources sources;
  std::string text = "# " + head.hardware + ": TFLOP/s, FLOPs a byte, and where they are from\n";
  if (head.derate < 1) {
    text += head.constant_data ? "# products of constant data, as benchmarks have it\n"
                               : "# products of random data, as training has it: " +
                                     Line("%.3g of the matrix units' rate\n", head.derate);
  }
  text += FormatsText(table, &sources);
  text += MemoryText(table, &sources);
  text += AttentionsText(table, &sources);
  return text +
         "\npeak: data sheet, dense. best: the fastest cube of 1,024, 2,048, ... 16,384 rows. ridge: FLOPs "
         "a\n"
         "byte from which on matrix units limit, by the data sheet and by what kernels reach. memory: of a\n"
         "kernel that moves 1 GiB. attention: of 4 sequences of 16,384 tokens, 16 heads.\n" +
         sources.Text();
}

std::string RooflineJson(const RooflineTable& table, const KernelHead& head) {
  Json json = {{"schema_version", 1},
               {"hardware", head.hardware},
               {"random_data_derate", head.constant_data ? 1 : head.derate},
               {"figures", Json::array()}};
  for (const Roofed& roof : AllOf(table)) {
    json["figures"].push_back({{"kind", roof.kind},
                               {"name", roof.name},
                               {"figure", roof.figure},
                               {"value", roof.value},
                               {"unit", roof.unit},
                               {"basis", BasisText(roof.of)},
                               {"source", SourceOf(roof.of)}});
  }
  return json.dump(2) + '\n';
}

std::string RooflineCsv(const RooflineTable& table) {
  std::string text = "kind,name,figure,value,unit,basis,source\n";
  for (const Roofed& roof : AllOf(table)) {
    text += roof.kind + ',' + roof.name + ',' + roof.figure + ',' + Line("%.6g", roof.value) + ',' +
            roof.unit + ',' + BasisText(roof.of) + ',' + Quotes(SourceOf(roof.of)) + '\n';
  }
  return text;
}

}  // namespace scenarios
