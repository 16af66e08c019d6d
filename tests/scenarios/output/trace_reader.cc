#include "tests/scenarios/output/trace_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace scenarios {
namespace {

using nlohmann::json;
using Place = std::pair<std::int64_t, std::int64_t>;  // pid, tid

Place PlaceOf(const json& event) { return {event.at("pid"), event.at("tid")}; }
std::int64_t Ns(const json& microseconds) { return std::llround(microseconds.get<double>() * 1000.0); }

void CheckHead(const json& trace, std::vector<std::string>& problems) {
  const std::string unit = trace.value("displayTimeUnit", "");
  if (unit != "ms" && unit != "ns") problems.push_back("displayTimeUnit " + unit);
  if (!trace.at("distributedInfo").at("rank").is_number_integer()) problems.emplace_back("no rank");
}

void CheckNames(const json& trace, std::vector<std::string>& problems) {
  std::map<std::string, std::set<Place>> said;  // metadata name -> where; a process at tid 0
  for (const json& m : EventsOf(trace, "M")) {
    const Place place = PlaceOf(m);
    if (!said[m.at("name")].insert(place).second) problems.push_back("said twice: " + m.dump());
  }
  for (const char* phase : {"X", "i", "C"}) {
    for (const json& event : EventsOf(trace, phase)) {
      const Place place = PlaceOf(event), process = {place.first, 0};
      if (place.first <= 0) problems.push_back("pid of no process: " + event.dump());
      if (said["process_name"].count(process) == 0)
        problems.push_back("process without name: " + event.dump());
      if (said["process_sort_index"].count(process) == 0) problems.push_back("no order: " + event.dump());
      if (phase[0] == 'C') continue;
      if (said["thread_name"].count(place) == 0) problems.push_back("thread without name: " + event.dump());
      if (said["thread_sort_index"].count(place) == 0)
        problems.push_back("thread without order: " + event.dump());
    }
  }
}

std::map<Place, std::vector<json>> SlicesByTrack(const json& trace) {
  std::map<Place, std::vector<json>> tracks;
  for (const json& slice : EventsOf(trace, "X")) tracks[PlaceOf(slice)].push_back(slice);
  for (auto& [place, slices] : tracks) {
    std::stable_sort(slices.begin(), slices.end(), [](const json& a, const json& b) {
      return a.at("ts").get<double>() < b.at("ts").get<double>();
    });
  }
  return tracks;
}

void CheckOverlap(const json& trace, std::vector<std::string>& problems) {
  for (const auto& [place, slices] : SlicesByTrack(trace)) {
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const double ts = slices[i].at("ts"), dur = slices[i].at("dur");
      if (ts < 0 || dur < 0) problems.push_back("negative time: " + slices[i].dump());
      if (!slices[i].at("name").is_string() || !slices[i].at("cat").is_string())
        problems.emplace_back("no name");
      if (i + 1 == slices.size()) continue;
      const json& next = slices[i + 1];
      const bool doubles = ts + dur <= next.at("ts").get<double>();
      const bool rounded = Ns(slices[i].at("ts")) + Ns(slices[i].at("dur")) <= Ns(next.at("ts"));
      if (!doubles || !rounded) problems.push_back("overlap: " + slices[i].dump() + " " + next.dump());
    }
  }
}

void CheckFlows(const json& trace, std::vector<std::string>& problems) {
  const std::map<Place, std::vector<json>> tracks = SlicesByTrack(trace);
  const auto inside = [&](const json& event) {
    const auto track = tracks.find(PlaceOf(event));
    if (track == tracks.end()) return false;
    return std::any_of(track->second.begin(), track->second.end(), [&](const json& slice) {
      const double ts = slice.at("ts"), dur = slice.at("dur"), at = event.at("ts");
      return ts < at && at < ts + dur && Ns(slice.at("ts")) < Ns(event.at("ts")) &&
             Ns(event.at("ts")) < Ns(slice.at("ts")) + Ns(slice.at("dur"));
    });
  };
  std::map<std::int64_t, json> starts, finishes;
  for (const char* phase : {"s", "f"}) {
    for (const json& event : EventsOf(trace, phase)) {
      const std::int64_t id = event.at("id");
      auto& side = phase[0] == 's' ? starts : finishes;
      if (id <= 0 || id >= std::int64_t{1} << 53)
        problems.push_back("id is too large for JavaScript: " + event.dump());
      if (!side.emplace(id, event).second) problems.push_back("id used twice: " + event.dump());
      if (!inside(event)) problems.push_back("flow binds to no slice: " + event.dump());
    }
  }
  for (const auto& [id, finish] : finishes) {
    if (finish.value("bp", "") != "e") problems.push_back("binds to the next slice: " + finish.dump());
    if (starts.count(id) == 0) problems.push_back("flow without start: " + finish.dump());
  }
  for (const auto& [id, start] : starts) {
    const auto finish = finishes.find(id);
    if (finish == finishes.end()) {
      problems.push_back("flow without finish: " + start.dump());
    } else if (start.at("cat") != finish->second.at("cat") || start.at("name") != finish->second.at("name") ||
               start.at("ts").get<double>() > finish->second.at("ts").get<double>()) {
      problems.push_back("flow does not bind: " + start.dump());
    }
  }
}

void CheckCounters(const json& trace, std::vector<std::string>& problems) {
  for (const json& counter : EventsOf(trace, "C")) {
    const json& args = counter.at("args");
    if (args.empty()) problems.push_back("counter without value: " + counter.dump());
    for (const auto& [key, value] : args.items()) {
      if (!value.is_number()) problems.push_back("counter is no number: " + counter.dump());
    }
  }
}

}  // namespace

std::string ReadMaybeGz(const std::string& path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return text;
  char buffer[1 << 16];
  for (int n = 0; (n = gzread(file, buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  gzclose(file);
  return text;
}

std::vector<json> EventsOf(const json& trace, const std::string& phase) {
  std::vector<json> events;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == phase) events.push_back(event);
  }
  return events;
}

std::vector<std::string> ProblemsOf(const json& trace) {
  std::vector<std::string> problems;
  CheckHead(trace, problems);
  CheckNames(trace, problems);
  CheckOverlap(trace, problems);
  CheckFlows(trace, problems);
  CheckCounters(trace, problems);
  return problems;
}

}  // namespace scenarios
