#include <algorithm>

#include "tests/tidy/rules.h"

namespace tidy {
namespace {

struct Layer {
  std::string_view folder;
  std::vector<std::string_view> may_include;  // these folders and what is below them
  bool generated = false;                     // whether also generated protobuf headers
};

// The longest folder that a path lies in counts. Not here: tests.
const std::vector<Layer>& Layers() {
  static const std::vector<Layer> layers = {
      {"sim/base", {}},
      {"sim/engine", {"sim/base"}},
      {"sim/network", {"sim/engine", "sim/base"}},
      {"sim/program", {"sim/network", "sim/engine", "sim/base"}},
      {"sim/analysis", {"sim/program", "sim/network", "sim/engine", "sim/base"}},
      {"sim/collective", {"sim/base"}},
      {"sim/schedule", {"sim/base"}},
      {"proto", {"sim/base"}, true},
      {"models", {"sim", "proto"}, true},
      {"hardware", {"sim", "proto"}, true},
      {"topologies", {"sim", "proto"}, true},
      {"topologies/import", {"topologies", "sim", "proto"}, true},
      {"scenarios", {"models", "hardware", "topologies", "sim", "proto"}, true},
      {"scenarios/budget", {"scenarios", "models", "hardware", "topologies", "sim", "proto"}},
      {"scenarios/plan",
       {"scenarios", "scenarios/budget", "models", "hardware", "topologies", "sim", "proto"}},
      {"scenarios/compare", {"scenarios", "models", "hardware", "topologies", "sim", "proto"}},
      {"scenarios/explain",
       {"scenarios", "scenarios/compare", "models", "hardware", "topologies", "sim", "proto"}},
      {"scenarios/verdict",
       {"scenarios", "scenarios/budget", "models", "hardware", "topologies", "sim", "proto"}},
      {"scenarios/sweep", {"scenarios", "models", "hardware", "topologies", "sim", "proto"}, true},
      {"scenarios/output",
       {"scenarios", "scenarios/budget", "scenarios/compare", "scenarios/explain", "scenarios/plan",
        "scenarios/scale", "scenarios/sweep", "scenarios/verdict", "models", "hardware", "topologies", "sim",
        "proto"},
       true},
      {"scenarios/scale",
       {"scenarios", "scenarios/plan", "scenarios/published", "scenarios/verdict", "models", "hardware",
        "topologies", "sim", "proto"}},
      {"scenarios/calibration",
       {"scenarios", "scenarios/published", "models", "hardware", "topologies", "sim", "proto"}},
      {"scenarios/published", {"scenarios", "models", "hardware", "topologies", "sim", "proto"}, true},
      // Errors and source places come from proto; reading messages is for those below.
      {"scenarios/import", {"scenarios", "models", "hardware", "topologies", "sim", "proto"}, true},
      {"tools",
       {"scenarios", "scenarios/budget", "scenarios/calibration", "scenarios/compare", "scenarios/explain",
        "scenarios/import", "scenarios/output", "scenarios/plan", "scenarios/published", "scenarios/scale",
        "scenarios/sweep", "scenarios/verdict", "models", "hardware", "topologies", "topologies/import",
        "sim", "proto"},
       false},
  };
  return layers;
}

bool LiesIn(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && path.size() > folder.size() && path[folder.size()] == '/';
}

const Layer* LayerOf(std::string_view path) {
  const Layer* best = nullptr;
  for (const Layer& layer : Layers()) {
    if (LiesIn(path, layer.folder) && (best == nullptr || layer.folder.size() > best->folder.size())) {
      best = &layer;
    }
  }
  return best;
}

bool IsGenerated(const std::string& path) { return EndsWith(path, ".pb.h"); }

bool Exists(const Sources& sources, const std::string& path) {
  if (!IsGenerated(path)) return Find(sources, path) != nullptr;
  return Find(sources, path.substr(0, path.size() - 5) + ".proto") != nullptr;
}

// What is wrong with `from` including `path`; "" for nothing.
std::string Wrong(const Sources& sources, const std::string& from, const std::string& path) {
  if (!Exists(sources, path)) return "\"" + path + "\" is not a path from the root";
  if (IsTest(from)) return "";
  if (IsTest(path)) return "only tests include tests, not \"" + path + "\"";
  const Layer* source = LayerOf(from);
  const Layer* target = LayerOf(path);
  if (source == nullptr) return "no line of the dependency table holds for " + from;
  if (target == nullptr) return "no line of the dependency table holds for " + path;
  if (source == target) return "";
  if (IsGenerated(path) && !source->generated) {
    return std::string(source->folder) + " does not see protobuf, so not \"" + path + "\"";
  }
  // "scenarios" does not stand for scenarios/output, which is above it; "sim" for all of sim.
  const bool allowed =
      std::any_of(source->may_include.begin(), source->may_include.end(),
                  [&](std::string_view f) { return f == target->folder || (f == "sim" && LiesIn(path, f)); });
  if (allowed) return "";
  return std::string(source->folder) + " does not include " + std::string(target->folder) + ", so not \"" +
         path + "\"";
}

}  // namespace

Complaints Dependencies(const Sources& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (!IsCode(source.path)) continue;
    const std::vector<std::string> lines = LinesOf(CodeOnly(source.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (!lines[i].starts_with("#include \"")) continue;
      const std::size_t close = lines[i].find('"', 10);
      const std::string wrong = Wrong(sources, source.path, lines[i].substr(10, close - 10));
      if (!wrong.empty()) complaints.push_back(source.path + ":" + std::to_string(i + 1) + ": " + wrong);
    }
  }
  return complaints;
}

}  // namespace tidy
