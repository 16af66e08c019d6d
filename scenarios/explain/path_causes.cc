#include "scenarios/explain/path_causes.h"

#include <algorithm>
#include <map>
#include <utility>

#include "sim/analysis/slow_down.h"

namespace scenarios {
namespace {

using sim::Duration;
using Piece = sim::CriticalPath::Piece;

// As much of `whole` as `part` is of `all`, rounded down. REQUIRES: part <= all
Duration ShareOf(Duration whole, Duration part, Duration all) {
  if (all == Duration()) return {};
  const sim::Wide product = sim::Wide{whole.ps()} * part.ps();
  return Duration::Picoseconds(static_cast<std::int64_t>(product / all.ps()));
}

sim::Interval RunOf(const PathView& view, sim::TaskId task) {
  return {view.timeline.start[task.pos()], view.timeline.end[task.pos()]};
}

std::string SnakeCase(std::string text) {
  for (char& c : text) {
    if (c == ' ' || c == '-') c = '_';
  }
  return text;
}

class Sums {
 public:
  explicit Sums(const PathView& view) : view_(view) {}

  std::vector<PathCause> Take() {
    for (const Piece& piece : view_.path.pieces) {
      if (view_.program.row(piece.task).kind == sim::TaskKind::kSeat) {
        AddTraffic(piece);
      } else {
        AddWork(piece);
      }
    }
    std::vector<PathCause> causes;
    for (auto& [id, cause] : causes_) causes.push_back(std::move(cause));
    std::stable_sort(causes.begin(), causes.end(),
                     [](const PathCause& a, const PathCause& b) { return a.time > b.time; });
    return causes;
  }

 private:
  void Add(const std::string& id, const std::string& name, Duration time) {
    if (time == Duration()) return;
    PathCause& cause = causes_.try_emplace(id, PathCause{id, name, {}, 0}).first->second;
    cause.time += time;
    ++cause.pieces;
  }

  void AddWork(const Piece& piece) {
    const sim::TaskClass task_class = view_.program.row(piece.task).task_class;
    const PieceOfWork work = WorkOf(view_, piece);
    Add("slow_down", "work slowed down beside communication", work.stretch);
    if (task_class == sim::TaskClass::kLaunch) return Add("launch", "launches by the host", work.alone);
    const bool compute = task_class == sim::TaskClass::kForward || task_class == sim::TaskClass::kBackward;
    if (!compute || !work.parts->kernels) {
      const std::string name = compute ? "other work" : sim::ToText(task_class);
      return Add(SnakeCase(name), name, work.alone);
    }
    Duration rest = work.alone;
    for (const KernelClass kernel_class : kKernelClasses) {
      const bool last = kernel_class == kKernelClasses.back();
      const Duration of_class = work.parts->by_class[static_cast<std::size_t>(kernel_class)];
      const Duration part = last ? rest : ShareOf(of_class, work.alone, work.parts->alone);
      rest = rest - part;
      Add(std::string("compute.") + IdOf(kernel_class), std::string("compute: ") + ToText(kernel_class),
          part);
    }
  }

  void AddTraffic(const Piece& piece) {
    const sim::Program& program = view_.program;
    const PieceOfTraffic traffic = TrafficOf(view_, piece);
    const sim::CommunicationId c = program.communication_of(piece.task);
    const sim::Traffic& row = program.traffics[program.communications[c.pos()].traffic.pos()];
    const std::string purpose = sim::ToText(program.row(piece.task).task_class);
    const std::string& kind = program.names[row.name];
    const std::string id = SnakeCase(purpose) + '.' + SnakeCase(kind) + '.';
    const std::string name = purpose + ' ' + kind + ": ";
    Add(id + "latency", name + "latency", traffic.latency);
    const bool links = traffic.bound->link.has_value();
    const topologies::Tier tier =
        links ? view_.scenario.fabric.links[traffic.bound->link->pos()].tier : topologies::Tier::kOther;
    const std::string over = links ? topologies::ToText(tier) : "no link";
    Add(id + SnakeCase(over), name + "bytes, bound by " + over, traffic.alone);
    Add(id + "shared", name + "others on the same links", traffic.shared);
  }

  const PathView& view_;
  std::map<std::string, PathCause> causes_;
};

}  // namespace

PieceOfWork WorkOf(const PathView& view, const Piece& piece) {
  const sim::Place at = view.program.PlaceOf(piece.task);
  PieceOfWork work{.parts = &view.parts[at.script->first_row + at.row], .alone = {}, .stretch = {}};
  if (view.program.row(at).kind == sim::TaskKind::kWork) {
    work.stretch = sim::StretchOf(view.program, piece.task, RunOf(view, piece.task), piece.time);
  }
  work.alone = piece.time.length() - work.stretch;
  return work;
}

PieceOfTraffic TrafficOf(const PathView& view, const Piece& piece) {
  const sim::CommunicationId c = view.program.communication_of(piece.task);
  const sim::TrafficId id = view.program.communications[c.pos()].traffic;
  PieceOfTraffic traffic{.bound = &view.bounds[id.pos()], .latency = {}, .alone = {}, .shared = {}};
  const sim::Interval all{view.timeline.begin[c.pos()], view.timeline.end[piece.task.pos()]};
  const sim::Time moving = all.from + view.program.traffics[id.pos()].latency;
  traffic.latency = sim::Clip({all.from, moving}, piece.time).length();
  const Duration bytes = piece.time.length() - traffic.latency;
  const Duration all_bytes = all.to - moving, alone = traffic.bound->transfer;
  // Rates are rounded down, so bytes take a few picoseconds longer than by themselves.
  const Duration rounding = Duration::Picoseconds(10 + alone.ps() / 1'000'000);
  const bool by_itself = all_bytes <= alone + rounding;
  traffic.alone = by_itself ? bytes : ShareOf(alone, bytes, all_bytes);
  traffic.shared = bytes - traffic.alone;
  return traffic;
}

std::vector<PathCause> CausesOf(const PathView& view) { return Sums(view).Take(); }

}  // namespace scenarios
