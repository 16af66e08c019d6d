// What tests of imported fabrics need: a sample, its import, and the fabric that its file gives.

#ifndef TESTS_TOPOLOGIES_IMPORT_FABRIC_IMPORTING_H_
#define TESTS_TOPOLOGIES_IMPORT_FABRIC_IMPORTING_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/topologies/fabric_testing.h"
#include "topologies/import/fabric_importers.h"

namespace topologies {

inline std::string Sample(const std::string& name) {
  std::ifstream in(std::string(ORRERY_SOURCE_DIR) + "/tests/topologies/import/samples/" + name);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// `text` with the first `from` in the place of `to`.
inline std::string With(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

inline std::optional<ImportedFabric> Imported(const std::string& format, const std::string& text,
                                              proto::Diagnostics* diagnostics,
                                              std::optional<sim::NodeShape> node = std::nullopt,
                                              std::int64_t devices = 0) {
  for (const FabricImporter& importer : FabricImporters()) {
    if (format != importer.format) continue;
    if (importer.wants_node && !node) node = TestNode(8, 8);
    return importer.import({"in.txt", text, "imported", devices, node}, diagnostics);
  }
  ADD_FAILURE() << format;
  return std::nullopt;
}

// The errors of an import that fails.
inline std::vector<std::string> Errors(const std::string& format, const std::string& text) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(Imported(format, text, &diagnostics).has_value());
  return diagnostics.errors();
}

// The fabric of the file that the import writes: read, checked and built as any topology.
inline Fabric Rebuilt(const ImportedFabric& imported) {
  const std::string path = testing::TempDir() + "imported_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".textproto";
  std::ofstream(path) << imported.text;
  proto::Diagnostics diagnostics;
  const auto spec = ReadTopology(path, {}, "", &diagnostics);
  std::filesystem::remove(path);
  EXPECT_THAT(diagnostics.errors(), testing::IsEmpty());
  std::int64_t devices = 0;
  for (const ExplicitNode& node : imported.spec.nodes) devices += node.kind == VertexKind::kDevice ? 1 : 0;
  return MustBuild(spec.value(), sim::NodeShape(), devices);
}

// GB/s of the link between two elements, each way; 0 = there is none.
inline double Rate(const Fabric& fabric, const std::string& from, const std::string& to) {
  for (const Link& link : fabric.links) {
    if (fabric.vertices[link.from.pos()].name == from && fabric.vertices[link.to.pos()].name == to) {
      return static_cast<double>(link.capacity.milli()) / 1e12;
    }
  }
  return 0;
}

}  // namespace topologies

#endif  // TESTS_TOPOLOGIES_IMPORT_FABRIC_IMPORTING_H_
