// Shared by the tests of the importer: files of facts, and one call that imports.

#ifndef TESTS_MODELS_HF_IMPORTING_H_
#define TESTS_MODELS_HF_IMPORTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "models/hf_import.h"

namespace models {

inline std::string ConfigText(const std::string& name) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/tests/models/hf/" + name + ".json");
  EXPECT_TRUE(in.good()) << name;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline HfImport ImportText(const std::string& text, const std::string& name = "") {
  proto::Diagnostics diagnostics;
  const std::optional<HfImport> import = ImportHf("config.json", text, name, &diagnostics);
  for (const std::string& error : diagnostics.errors()) ADD_FAILURE() << error;
  EXPECT_TRUE(import.has_value());
  return import.value_or(HfImport());
}

inline HfImport Import(const std::string& name) { return ImportText(ConfigText(name), name); }

inline std::vector<std::string> ErrorsOf(const std::string& text) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(ImportHf("config.json", text, "", &diagnostics).has_value());
  return diagnostics.errors();
}

// `text` with one piece replaced.
inline std::string With(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

}  // namespace models

#endif  // TESTS_MODELS_HF_IMPORTING_H_
