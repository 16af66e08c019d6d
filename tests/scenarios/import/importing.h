// Imports of files of the tests and of texts.

#ifndef TESTS_SCENARIOS_IMPORT_IMPORTING_H_
#define TESTS_SCENARIOS_IMPORT_IMPORTING_H_

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/import/importers.h"
#include "scenarios/loader.h"
#include "scenarios/run.h"

namespace scenarios {

struct Imported {
  std::optional<ImportedJob> job;
  proto::Diagnostics diagnostics;
  std::string errors() const {
    std::string all;
    for (const std::string& line : diagnostics.errors()) all += line + '\n';
    return all;
  }
  std::string warnings() const {
    std::string all;
    for (const std::string& line : diagnostics.warnings()) all += line + '\n';
    return all;
  }
};

// On `devices` H100 unless the request says otherwise; 0: as the file says.
inline ImportRequest RequestOf(const std::string& file, const std::string& text, std::int64_t devices = 0) {
  ImportRequest request;
  request.file = file;
  request.text = text;
  request.name = "job";
  request.hardware = "h100_sxm";
  request.topology = "rail_optimised_ndr";
  if (devices > 0) request.devices = devices;
  return request;
}

inline std::string JobText(const std::string& name) {
  std::string text;
  proto::Diagnostics diagnostics;
  EXPECT_TRUE(proto::ReadFile(std::string(ORRERY_SOURCE_DIR) + "/tests/scenarios/import/jobs/" + name, &text,
                              &diagnostics));
  return text;
}

inline Imported Import(const std::string& format, const ImportRequest& request) {
  Imported imported;
  for (const Importer& importer : Importers()) {
    if (format == importer.format) imported.job = importer.read(request, &imported.diagnostics);
  }
  EXPECT_EQ(imported.job.has_value(), imported.diagnostics.ok()) << imported.errors();
  return imported;
}

inline void Give(ImportRequest* request, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [key, value] : values) {
    request->given.push_back({static_cast<int>(request->given.size()) + 1, key, value});
  }
}

inline std::string DigestOf(const Scenario& scenario) {
  const auto run = Run(scenario);
  EXPECT_TRUE(run.ok()) << (run.ok() ? "" : run.error().message);
  return run.ok() ? run.value().report.digest : "";
}

// Of a scenario of the catalogue, with these changes.
inline std::string DigestOf(const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<proto::Override> overrides;
  for (const auto& [path, value] : changes) {
    overrides.push_back({static_cast<int>(overrides.size()) + 1, path, value, ""});
  }
  proto::Diagnostics diagnostics;
  const auto scenario = LoadScenario(name, overrides, &diagnostics);
  EXPECT_TRUE(scenario.has_value());
  return scenario ? DigestOf(*scenario) : "";
}

}  // namespace scenarios

#endif  // TESTS_SCENARIOS_IMPORT_IMPORTING_H_
