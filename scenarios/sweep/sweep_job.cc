#include "scenarios/sweep/sweep_job.h"

#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "proto/hardware.pb.h"
#include "proto/model.pb.h"
#include "proto/scenario.pb.h"
#include "proto/topology.pb.h"
#include "scenarios/catalogue.h"
#include "scenarios/loader.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

// "--set 3: layout.tensor: ..." without the number, which nobody counted.
std::string WithoutNumber(const std::string& error) {
  const std::size_t end = error.find(": ");
  return error.starts_with("--set ") && end != std::string::npos ? error.substr(end + 2) : error;
}

// The file that a path is about, its path there, and the shortest file of that kind.
struct Place {
  std::unique_ptr<google::protobuf::Message> message;
  std::string prefix, path;
};

Place PlaceOf(const std::string& path) {
  const auto in = [&](const char* prefix, auto message) {
    return Place{std::move(message), prefix, path.substr(std::string(prefix).size())};
  };
  if (path.starts_with("model.")) return in("model.", std::make_unique<config::Model>());
  if (path.starts_with("hardware.")) return in("hardware.", std::make_unique<config::Hardware>());
  if (path.starts_with("topology.")) return in("topology.", std::make_unique<config::Topology>());
  return in("", std::make_unique<config::Scenario>());
}

// Elements of lists depend on what the files have, so that only Load can judge them.
bool IsElement(const std::string& path) { return path.find('[') != std::string::npos; }

}  // namespace

std::optional<SweepJob> ReadSweepJob(const std::string& name_or_path,
                                     const std::vector<proto::Override>& sets,
                                     proto::Diagnostics* diagnostics) {
  SweepJob job{.name = name_or_path, .text = {}, .sets = sets};
  std::error_code none;
  const bool file = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".textproto") ||
                    name_or_path.ends_with(".json") || std::filesystem::is_regular_file(name_or_path, none);
  bool listed = false;
  for (const proto::CatalogueFile& entry : Catalogue()) listed = listed || entry.name == name_or_path;
  if (file && !listed) {
    if (!proto::ReadFile(name_or_path, &job.text.emplace(), diagnostics)) return std::nullopt;
    config::Scenario message;
    proto::Document document;
    if (!proto::Read(name_or_path, *job.text, {}, &message, &document, diagnostics)) return std::nullopt;
  } else if (!listed) {
    LoadScenario(name_or_path, {}, diagnostics);  // which says what names there are
    return std::nullopt;
  }
  return job;
}

LoadedPoint Load(const SweepJob& job, const Point& point) {
  std::vector<proto::Override> sets = job.sets;
  for (const PointSetting& setting : point) {
    sets.push_back({static_cast<int>(sets.size()) + 1, setting.path, setting.value, ""});
  }
  proto::Diagnostics diagnostics;
  LoadedPoint loaded;
  loaded.scenario = job.text ? LoadScenarioText(job.name, *job.text, sets, &diagnostics)
                             : LoadScenario(job.name, sets, &diagnostics);
  if (!loaded.scenario) loaded.refused = WithoutNumber(diagnostics.errors().front());
  loaded.files = diagnostics.files();
  return loaded;
}

void CheckFields(const SweepJob& job, const PointList& list, proto::Diagnostics* diagnostics) {
  std::set<std::string> swept(list.paths.begin(), list.paths.end());
  for (const proto::Override& set : job.sets) {
    if (swept.count(set.path) > 0) {
      diagnostics->Error("--set " + set.path, "is swept as well; one of the two is wanted");
    }
  }
  std::set<std::string> seen, told;
  for (const Point& point : list.points) {
    for (const PointSetting& setting : point) {
      if (IsElement(setting.path) || !seen.insert(setting.path + '=' + setting.value).second) continue;
      const Place place = PlaceOf(setting.path);
      proto::Document document;
      proto::Diagnostics own;
      proto::Read("", "name: \"x\"", {{1, place.path, setting.value, place.prefix}}, place.message.get(),
                  &document, &own);
      for (const std::string& error : own.errors()) {
        if (told.insert(error).second) diagnostics->Error("swept", WithoutNumber(error));
      }
    }
  }
}

}  // namespace scenarios
