// orrery list: the catalogues, and how well their figures are known.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <ostream>

#include "hardware/device_reader.h"
#include "models/catalogue.h"
#include "models/model_reader.h"
#include "models/parameters.h"
#include "scenarios/catalogue.h"
#include "scenarios/loader.h"
#include "scenarios/preset.h"
#include "tools/commands.h"
#include "topologies/catalogue.h"
#include "topologies/topology.h"

namespace tools {
namespace {

using Json = nlohmann::ordered_json;

// A table of a catalogue. In JSON a row is an object by the head's names; as
// text it has the columns of `shown` (all when empty), the last one wrapped.
struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows = {};
  std::vector<std::size_t> shown = {};
};

std::string Number(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Count(const hardware::Device& device, hardware::Basis basis) {
  return std::to_string(std::count_if(device.figures.begin(), device.figures.end(),
                                      [&](const hardware::Figure& figure) { return figure.basis == basis; }));
}

Table ScenarioTable(proto::Diagnostics* diagnostics) {
  Table table{"scenarios", {"name", "model", "devices", "published", "description"}, {}, {0, 3, 4}};
  for (const proto::CatalogueFile& entry : scenarios::Catalogue()) {
    const auto s = scenarios::LoadScenario(std::string(entry.name), {}, diagnostics);
    if (!s) continue;
    table.rows.push_back({s->name, s->model.name, std::to_string(s->devices) + " x " + s->device.name,
                          s->published ? Number(s->published->step_time_s, "%.4g s") : "-", s->description});
  }
  return table;
}

Table PresetTable(proto::Diagnostics* diagnostics) {
  Table table{"presets", {"name", "description", "training", "source"}, {}, {0, 1}};
  for (const scenarios::Preset& preset : scenarios::ReadPresets(diagnostics)) {
    std::string fields;
    for (const std::string& field : preset.fields) fields += (fields.empty() ? "" : ", ") + field;
    table.rows.push_back({preset.name, preset.description, fields, preset.source});
  }
  return table;
}

Table ModelTable(proto::Diagnostics* diagnostics) {
  Table table{"models",
              {"name", "parameters", "active", "layers", "hidden", "heads", "kv_heads", "vocabulary"}};
  for (const proto::CatalogueFile& entry : models::Catalogue()) {
    const auto m = models::ReadModel(std::string(entry.name), {}, "", diagnostics);
    if (!m) continue;
    const auto n = [](std::int64_t value) { return std::to_string(value); };
    const models::ModelParameters p = models::ParametersOf(*m);
    table.rows.push_back({m->name, n(p.total()), n(p.active()), n(m->layers), n(m->hidden), n(m->heads),
                          n(m->kv_heads), n(m->vocabulary)});
  }
  return table;
}

Table HardwareTable(proto::Diagnostics* diagnostics) {
  Table table{"hardware",
              {"name", "architecture", "bf16_tflops", "memory_gb", "memory_gb_per_s", "measured", "published",
               "derived", "assumed"},
              {},
              {0, 2, 3, 4, 5, 6, 7, 8}};
  for (const hardware::Device& d : hardware::ReadCatalogue(diagnostics)) {
    const double peak = d.peak_flops_per_s[static_cast<std::size_t>(sim::NumberFormat::kBf16)];
    table.rows.push_back({d.name, d.architecture, peak > 0 ? Number(peak * 1e-12, "%.1f") : "-",
                          Number(static_cast<double>(d.memory.count()) * 1e-9, "%.1f"),
                          Number(d.memory_rate.bytes_per_second() * 1e-9, "%.0f"),
                          Count(d, hardware::Basis::kMeasured), Count(d, hardware::Basis::kPublished),
                          Count(d, hardware::Basis::kDerived), Count(d, hardware::Basis::kAssumed)});
  }
  return table;
}

Table TopologyTable(proto::Diagnostics* diagnostics) {
  Table table{"topologies", {"name", "source"}};
  for (const proto::CatalogueFile& entry : topologies::Catalogue()) {
    const auto spec = topologies::ReadTopology(std::string(entry.name), {}, "", diagnostics);
    if (spec) table.rows.push_back({spec->name, spec->source});
  }
  return table;
}

// Every figure of one device with its basis and source.
Table FigureTable(const std::string& name, proto::Diagnostics* diagnostics) {
  Table table{"hardware " + name, {"figure", "basis", "value", "source"}};
  const auto device = hardware::ReadDevice(name, {}, "", diagnostics);
  if (!device) return table;
  for (const hardware::Figure& figure : device->figures) {
    table.rows.push_back({figure.key, hardware::ToText(figure.basis), figure.value, figure.source});
  }
  return table;
}

// Characters, not bytes.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// `text` after `indent` columns, broken at blanks to end before column 100.
std::string Wrap(const std::string& text, std::size_t indent) {
  constexpr std::size_t kColumns = 100;
  std::string out;
  std::size_t column = indent;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (column > indent && column + 1 + Width(word) >= kColumns) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    }
    out += (column > indent ? " " : "") + word;
    column += Width(word) + (column > indent ? 1 : 0);
  }
  return out;
}

void PrintTable(const Table& table, std::ostream& out) {
  std::vector<std::size_t> shown = table.shown;
  for (std::size_t i = 0; table.shown.empty() && i < table.head.size(); ++i) shown.push_back(i);
  std::vector<std::vector<std::string>> lines = {table.head};
  lines.insert(lines.end(), table.rows.begin(), table.rows.end());
  std::vector<std::size_t> widths(table.head.size(), 0);
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], Width(line[i]));
  }
  out << table.title << '\n';
  for (const auto& line : lines) {
    std::string text;
    std::size_t column = 0;
    for (const std::size_t i : shown) {
      text += "  ";
      column += 2;
      const bool number = !line[i].empty() && line[i].find_first_not_of("0123456789.") == std::string::npos;
      const std::string pad(widths[i] - Width(line[i]), ' ');
      if (i == shown.back() && !number) {
        text += Wrap(line[i], column);
      } else {
        text += number ? pad + line[i] : line[i] + pad;
      }
      column += widths[i];
    }
    out << text << '\n';
  }
}

// Value and source under each figure, as they are long.
void PrintFigures(const Table& table, std::ostream& out) {
  constexpr std::size_t kIndent = 6;
  out << table.title << '\n';
  for (const auto& row : table.rows) {
    out << "  " << row[0] << ": " << row[1] << '\n';
    for (std::size_t i = 2; i < row.size(); ++i)
      out << std::string(kIndent, ' ') << Wrap(row[i], kIndent) << '\n';
  }
}

int RunList(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  struct Catalogue {
    const char* name;
    Table (*read)(proto::Diagnostics* diagnostics);
  };
  constexpr Catalogue kCatalogues[] = {{"scenarios", ScenarioTable},
                                       {"models", ModelTable},
                                       {"hardware", HardwareTable},
                                       {"topologies", TopologyTable},
                                       {"presets", PresetTable}};
  const std::string which = arguments.positional.empty() ? "" : arguments.positional[0];
  proto::Diagnostics diagnostics;
  std::vector<Table> tables;
  if (arguments.positional.size() == 2 && which != "hardware") {
    err << "orrery: error: figures are listed of hardware only; wanted `orrery list hardware NAME`\n";
    return kExitUsage;
  }
  for (const Catalogue& catalogue : kCatalogues) {
    if (!which.empty() && which != catalogue.name) continue;
    tables.push_back(arguments.positional.size() == 2 ? FigureTable(arguments.positional[1], &diagnostics)
                                                      : catalogue.read(&diagnostics));
  }
  if (tables.empty()) {
    const std::vector<std::string> near =
        proto::Nearest(which, {"scenarios", "models", "hardware", "topologies", "presets"});
    err << "orrery: error: no catalogue " << which << "; "
        << (near.empty() ? "one of scenarios, models, hardware, topologies, presets is wanted"
                         : "did you mean " + near[0] + "?")
        << '\n';
    return kExitUsage;
  }
  // What is unwise about an entry, `run` and `check` say.
  for (const std::string& line : diagnostics.errors()) err << "orrery: error: " << line << '\n';
  if (!diagnostics.ok()) return kExitUsage;
  if (!arguments.has("json")) {
    for (std::size_t i = 0; i < tables.size(); ++i) {
      if (i > 0) out << '\n';
      arguments.positional.size() == 2 ? PrintFigures(tables[i], out) : PrintTable(tables[i], out);
    }
    return kExitDone;
  }
  Json document = {{"schema_version", 1}};
  for (const Table& table : tables) {
    Json& rows = document[table.title.substr(0, table.title.find(' '))] = Json::array();
    for (const auto& row : table.rows) {
      Json object;
      for (std::size_t i = 0; i < row.size(); ++i) object[table.head[i]] = row[i];
      rows.push_back(object);
    }
  }
  out << document.dump(2) << '\n';
  return kExitDone;
}

}  // namespace

Command ListCommand() {
  return {"list",
          "Lists the catalogues, and which figures were measured, published, derived, assumed.",
          "[scenarios | models | hardware [NAME] | topologies | presets] [--json]",
          2,
          {{"json", "", "print one JSON document", false}},
          "  orrery list                     everything\n"
          "  orrery list hardware            devices, and how many of their figures are of which kind\n"
          "  orrery list hardware h100_sxm   each figure with its source\n",
          RunList};
}

}  // namespace tools
