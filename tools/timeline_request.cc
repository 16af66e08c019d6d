#include "tools/timeline_request.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "proto/quantity.h"
#include "scenarios/output/output_file.h"
#include "tools/flag_reader.h"
#include "tools/rank_list.h"

namespace tools {
namespace {

using Errors = std::vector<std::string>;

struct Ending {
  const char* text;  // before ".gz", if that is there
  TimelineFormat format;
};
constexpr Ending kEndings[] = {{".speedscope.json", TimelineFormat::kSpeedscope},
                               {".json", TimelineFormat::kChrome},
                               {".pftrace", TimelineFormat::kPerfetto},
                               {".svg", TimelineFormat::kSvg}};

std::optional<TimelineFormat> FormatOfName(std::string name) {
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  for (const Ending& ending : kEndings) {
    if (name.ends_with(ending.text)) return ending.format;
  }
  return std::nullopt;
}

// A folder, or a name with the rank in it.
void ReadKinetoOutput(const Arguments& arguments, const scenarios::Scenario& scenario,
                      TimelineRequest* request, Errors* errors) {
  request->format = TimelineFormat::kKineto;
  const std::string& path = request->path;
  if (arguments.value("like") != "kineto") {
    errors->push_back("--like " + arguments.value("like") + ": unknown; kineto would do");
  }
  if (arguments.has("format"))
    errors->push_back("--format and --like both say what is written; leave one out");
  std::error_code none;
  if (path.find("{rank}") == std::string::npos) {
    if (path.ends_with(".json") || path.ends_with(".gz") || std::filesystem::is_regular_file(path, none)) {
      errors->push_back("--output " + path +
                        ": a file a rank is written; a folder is wanted, or a name with {rank} in it");
    }
  } else if (!path.ends_with(".json") && !path.ends_with(".json.gz")) {
    errors->push_back("--output " + path + ": a name that ends in .json or .json.gz is wanted");
  }
  if (scenario.fidelity == scenarios::Fidelity::kChunk) {
    errors->push_back("--like kineto: fidelity CHUNK plays transfers, which are no kernels; FLOW would do");
  }
}

// The file's name, and its format by that unless one is named.
void ReadOutput(const Arguments& arguments, const scenarios::Scenario& scenario, TimelineRequest* request,
                Errors* errors) {
  std::optional<TimelineFormat> format;
  FlagReader(arguments, {}, errors)
      .OneOf<TimelineFormat>("format",
                             {{"chrome", TimelineFormat::kChrome},
                              {"perfetto", TimelineFormat::kPerfetto},
                              {"speedscope", TimelineFormat::kSpeedscope},
                              {"svg", TimelineFormat::kSvg}},
                             &format);
  const std::string path = request->path = arguments.value("output");
  if (path.empty() || path == "-") {
    errors->push_back(arguments.has("output") ? "--output " + path + ": the name of a file is wanted"
                                              : "--output FILE is wanted: where the timeline goes");
    return;
  }
  if (arguments.has("like")) return ReadKinetoOutput(arguments, scenario, request, errors);
  if (!format) format = FormatOfName(path);
  if (!format && !arguments.has("format")) {
    errors->push_back(
        "--output " + path +
        ": a name that ends in .json, .pftrace, .speedscope.json or .svg, or these and .gz, is wanted; or "
        "--format says what it is");
  }
  request->format = format.value_or(TimelineFormat::kChrome);
  for (const std::string& input : {scenario.file, scenario.device.file}) {
    if (!input.empty() && scenarios::IsSameFile(path, input))
      errors->push_back(path + " is the file that was read; another name is wanted");
  }
}

void ReadRanks(const Arguments& arguments, const scenarios::Scenario& scenario, TimelineRequest* request,
               Errors* errors) {
  if (!arguments.has("ranks")) return;
  const std::string text = arguments.value("ranks");
  const scenarios::Layout& layout = scenario.layout;
  if (text == "all" || text == "kinds") {
    request->choice = text == "all" ? RankChoice::kAll : RankChoice::kKinds;
  } else if (text == "stages") {
    request->choice = RankChoice::kStages;
    request->ranks = layout.Group(sim::Rank(std::uint32_t{0}), scenarios::Dimension::kPipeline);
  } else if (auto ranks = ParseRanks("--ranks", text, layout.ranks()); ranks.ok()) {
    request->choice = RankChoice::kListed;
    request->ranks = std::move(ranks).value();
  } else {
    errors->push_back(ranks.error().message + "; or all, stages or kinds");
  }
}

// "to next" is one word on a command line: "to-next".
std::string WordOf(sim::StreamKind kind) {
  std::string word = sim::ToText(kind);
  std::replace(word.begin(), word.end(), ' ', '-');
  return word;
}

void ReadStreams(const Arguments& arguments, TimelineRequest* request, Errors* errors) {
  if (!arguments.has("streams")) return;
  const std::string text = arguments.value("streams");
  std::string known;
  for (int k = 0; k < sim::kStreamKinds; ++k) {
    known += (k == 0 ? "" : ", ") + WordOf(static_cast<sim::StreamKind>(k));
  }
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    at = comma + 1;
    int kind = 0;
    while (kind < sim::kStreamKinds && WordOf(static_cast<sim::StreamKind>(kind)) != word) ++kind;
    if (kind == sim::kStreamKinds) {
      errors->push_back("--streams " + word + ": no such stream; there are " + known);
      continue;
    }
    request->streams.push_back(static_cast<sim::StreamKind>(kind));
  }
}

// "1" or "1-2".
void ReadSteps(const Arguments& arguments, const scenarios::Scenario& scenario, TimelineRequest* request,
               Errors* errors) {
  if (!arguments.has("steps")) return;
  const std::string text = arguments.value("steps");
  const auto number = [&](const std::string& digits) -> std::int64_t {
    const bool is_number =
        !digits.empty() && digits.size() < 10 && digits.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? std::stoll(digits) : scenario.steps;
  };
  const std::size_t dash = text.find('-');
  const std::int64_t first = number(text.substr(0, dash));
  const std::int64_t last = dash == std::string::npos ? first : number(text.substr(dash + 1));
  if (first > last || last >= scenario.steps) {
    errors->push_back("--steps " + text + ": give steps from 0 to " + std::to_string(scenario.steps - 1) +
                      ", as in 1 or 1-2; --set steps=" + std::to_string(scenario.steps + 1) + " plays more");
    return;
  }
  request->steps = {first, last};
}

void ReadTimes(const Arguments& arguments, TimelineRequest* request, Errors* errors) {
  if (arguments.has("min")) {
    const auto shortest = proto::ParseDuration(arguments.value("min"));
    if (shortest.ok()) {
      request->shortest = shortest.value();
    } else {
      errors->push_back("--min " + arguments.value("min") + ": " + shortest.error().message);
    }
  }
  if (!arguments.has("window")) return;
  const std::string text = arguments.value("window"), given = "--window " + text + ": ";
  if (request->steps) errors->push_back("--window and --steps both say when; one of them is wanted");
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    errors->push_back(given + "give two times, as in 1.2s..1.5s");
    return;
  }
  const auto from = proto::ParseDuration(text.substr(0, dots));
  const auto to = proto::ParseDuration(text.substr(dots + 2));
  if (!from.ok() || !to.ok()) {
    errors->push_back(given + (from.ok() ? to : from).error().message);
  } else if (to.value() <= from.value()) {
    errors->push_back(given + "it ends before it begins");
  } else {
    request->window = {sim::Time::Start() + from.value(), sim::Time::Start() + to.value()};
  }
}

}  // namespace

std::optional<TimelineRequest> ReadTimelineRequest(const Arguments& arguments,
                                                   const scenarios::Scenario& scenario,
                                                   std::vector<std::string>* errors) {
  const std::size_t before = errors->size();
  TimelineRequest request;
  ReadOutput(arguments, scenario, &request, errors);
  ReadRanks(arguments, scenario, &request, errors);
  ReadStreams(arguments, &request, errors);
  ReadSteps(arguments, scenario, &request, errors);
  ReadTimes(arguments, &request, errors);
  request.arguments = arguments.has("args");
  if (request.arguments && request.format != TimelineFormat::kChrome) {
    errors->push_back("--args: only trace events can do without; leave it out");
  }
  if (!request.streams.empty() && request.format == TimelineFormat::kSvg) {
    errors->push_back("--streams: the picture is of computation; leave it out");
  }
  if (errors->size() > before) return std::nullopt;
  return request;
}

}  // namespace tools
