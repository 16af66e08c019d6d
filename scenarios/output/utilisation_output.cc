#include "scenarios/output/utilisation_output.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "scenarios/output/csv_cell.h"
#include "scenarios/output/report_text.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

// What the factors leave out; once a table.
constexpr const char* kLeftOut =
    "Not in it: data loading. host is offload, and launches where training.launches is EAGER.";

struct Factor {
  const char* name;
  double value;
};

// In the order of their product.
std::array<Factor, 7> FactorsOf(const Utilisation& u) {
  return {{{"kernels", u.kernels},
           {"recomputation", u.recomputation},
           {"optimizer", u.optimizer},
           {"host", u.host},
           {"bubble", u.bubble},
           {"communication", u.communication},
           {"saves", u.saves}}};
}

template <class... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 200> line;
  std::snprintf(line.data(), line.size(), format, values...);
  return line.data();
}

// "tensor 37.7 %", of the kind that is waited for longest.
std::string LongestWait(const Utilisation& u) {
  const auto longest = std::max_element(
      u.exposed.begin(), u.exposed.end(),
      [](const Utilisation::Exposed& a, const Utilisation::Exposed& b) { return a.share < b.share; });
  if (longest == u.exposed.end() || longest->share < 0.0005) return "-";
  return Format("%s %.1f %%", longest->kind, 100 * longest->share);
}

std::string LineOf(const UtilisationRow& row) {
  std::string line = Format("%8s %8s", CountText(row.devices).c_str(), CountText(row.batch).c_str());
  if (!row.utilisation) return line + "   " + row.refused + "\n";
  line += Format(" %11s %6.4f", TimeText(row.step_time).c_str(), row.utilisation->u);
  for (const Factor& factor : FactorsOf(*row.utilisation)) line += Format(" %6.4f", factor.value);
  return line + "  " + LongestWait(*row.utilisation) + (row.fits ? "\n" : "; does not fit\n");
}

Json RowJson(const UtilisationRow& row) {
  Json json = {{"devices", row.devices},
               {"topology", row.topology},
               {"batch", row.batch},
               {"sequence_length", row.sequence}};
  const bool there = row.utilisation.has_value();
  json["step_time_s"] = there ? Json(row.step_time.seconds()) : Json(nullptr);
  json["mean_step_time_s"] = there ? Json(row.mean_step_time.seconds()) : Json(nullptr);
  json["fits"] = there ? Json(row.fits) : Json(nullptr);
  json["u"] = there ? Json(row.utilisation->u) : Json(nullptr);
  json["factors"] = nullptr;
  json["exposed"] = nullptr;
  if (there) {
    json["factors"] = Json::object();
    for (const Factor& factor : FactorsOf(*row.utilisation)) json["factors"][factor.name] = factor.value;
    json["exposed"] = Json::object();
    for (const Utilisation::Exposed& part : row.utilisation->exposed) json["exposed"][part.kind] = part.share;
  }
  json["refused"] = row.refused;
  return json;
}

}  // namespace

std::string UtilisationText(const Scenario& s, const std::vector<UtilisationRow>& rows) {
  std::string text = s.name + ": " + s.model.name + " on " + s.device.name + ", tensor " +
                     std::to_string(s.layout.tensor) + " x context " + std::to_string(s.layout.context) +
                     " x pipeline " + std::to_string(s.layout.pipeline) + ", data ranks follow the devices\n";
  const UtilisationRow* before = nullptr;
  for (const UtilisationRow& row : rows) {
    if (before == nullptr || before->topology != row.topology || before->sequence != row.sequence) {
      text += "\n" + row.topology + ", sequences of " + CountText(row.sequence) +
              " tokens; u is the product of what follows it\n";
      text += Format("%8s %8s %11s %6s", "devices", "batch", "step", "u");
      for (const char* name : {"kernel", "recomp", "optim", "host", "bubble", "comm", "saves"}) {
        text += Format(" %6s", name);
      }
      text += "  longest wait\n";
    }
    text += LineOf(row);
    before = &row;
  }
  return text + "\n" + kLeftOut + "\n";
}

std::string UtilisationJson(const Scenario& s, const std::vector<UtilisationRow>& rows) {
  Json json = {{"schema_version", 1},       {"scenario", s.name}, {"model", s.model.name},
               {"hardware", s.device.name}, {"note", kLeftOut},   {"rows", Json::array()}};
  for (const UtilisationRow& row : rows) json["rows"].push_back(RowJson(row));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string UtilisationCsv(const std::vector<UtilisationRow>& rows) {
  const Utilisation none;
  std::string text = "devices,topology,batch,sequence_length,step_time_s,mean_step_time_s,fits,u";
  for (const Factor& factor : FactorsOf(none)) text += std::string(",") + factor.name;
  for (const char* kind : {"data", "tensor", "expert", "context", "pipeline"}) {
    text += std::string(",exposed_") + kind;
  }
  text += ",refused\n";
  for (const UtilisationRow& row : rows) {
    text += std::to_string(row.devices) + ',' + CsvCell(row.topology) + ',' + std::to_string(row.batch) +
            ',' + std::to_string(row.sequence);
    if (!row.utilisation) {
      text += std::string(16, ',') + ',' + CsvCell(row.refused) + '\n';
      continue;
    }
    text += Format(",%.12g,%.12g,%s,%.17g", row.step_time.seconds(), row.mean_step_time.seconds(),
                   row.fits ? "true" : "false", row.utilisation->u);
    for (const Factor& factor : FactorsOf(*row.utilisation)) text += Format(",%.17g", factor.value);
    for (const Utilisation::Exposed& part : row.utilisation->exposed) text += Format(",%.17g", part.share);
    text += ",\n";
  }
  return text;
}

}  // namespace scenarios
