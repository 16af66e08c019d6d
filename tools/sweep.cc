// orrery sweep: many points of a scenario, a row each.

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <ostream>
#include <utility>

#include "scenarios/output/output_file.h"
#include "scenarios/output/sweep_output.h"
#include "scenarios/sweep/play.h"
#include "tools/commands.h"
#include "tools/interrupt.h"
#include "tools/memory_limit.h"
#include "tools/new_file.h"
#include "tools/progress.h"
#include "tools/sweep_parts.h"
#include "tools/sweep_request.h"

namespace tools {
namespace {

using scenarios::PointResult;
using scenarios::Row;
using Rows = SweepRows;

bool IsFull(const Rows& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const auto& row) { return row.has_value(); });
}

// Prints rows in the order of the points, each as soon as those before it are there.
class RowPrinter {
 public:
  RowPrinter(const scenarios::PointList& list, std::ostream& out) : list_(list), out_(out) {
    out_ << scenarios::SweepCsvHeader(list_);
  }
  void Print(const Rows& rows) {
    for (; next_ < rows.size() && rows[next_]; ++next_) {
      out_ << scenarios::SweepCsvLine(list_, next_, *rows[next_]);
    }
    out_.flush();
  }

 private:
  const scenarios::PointList& list_;
  std::ostream& out_;
  std::size_t next_ = 0;
};

// What happens with each row that comes out: the journal, progress, standard output.
class Keeper {
 public:
  Keeper(std::optional<scenarios::Journal>* journal, std::optional<RowPrinter>* printer, const Rows& rows,
         ProgressLine* line)
      : journal_(*journal), printer_(*printer), rows_(rows), line_(line), synced_(Clock::now()) {
    progress_ = {Done(rows), rows.size(), Done(rows)};
  }

  bool Keep(const PointResult& result, bool of_play) {
    if (journal_ && of_play) error_ = journal_->Add(result);
    if (error_) return false;
    if (journal_ && Clock::now() - synced_ > kBetweenSyncs) {
      journal_->Sync();
      synced_ = Clock::now();
    }
    if (printer_) printer_->Print(rows_);
    ++progress_.done;
    line_->Show(progress_);
    return true;
  }
  const std::optional<sim::Error>& error() const { return error_; }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kBetweenSyncs{1};

  std::optional<scenarios::Journal>& journal_;
  std::optional<RowPrinter>& printer_;
  const Rows& rows_;
  ProgressLine* line_;
  PointProgress progress_;
  Clock::time_point synced_;
  std::optional<sim::Error> error_;
};

std::string JournalOf(const SweepRequest& request) {
  if (request.shard) return ShardJournal(request.output, request.shard->index);
  return request.output + ".journal";
}

// The journal of a sweep that goes to a file; what it has is in `rows` then.
sim::Result<scenarios::Journal> OpenJournal(const SweepRequest& request, Rows* rows) {
  const std::string path = JournalOf(request);
  const sim::Error there{request.output +
                         " is there already, and rows are never written over; remove it to sweep anew"};
  if (!request.shard && IsThere(request.output) && !IsThere(path)) return there;
  if (const auto fault = scenarios::OutputFile::WhyNot(request.output); fault && !request.shard)
    return *fault;
  auto journal = scenarios::Journal::Open(path, IdentityOf(request), rows);
  // A full journal beside the file: the program ended between the last two steps of an earlier run.
  if (journal.ok() && !request.shard && IsThere(request.output) && !IsFull(*rows)) return there;
  return journal;
}

std::optional<sim::Error> WriteRows(const SweepRequest& request, const std::vector<Row>& rows) {
  auto created = scenarios::OutputFile::Create(request.output);
  if (!created.ok()) return created.error();
  scenarios::OutputFile file = std::move(created).value();
  if (request.output.find(".json") != std::string::npos && !request.output.ends_with(".csv")) {
    file.Write(scenarios::SweepJson(request.job.name, request.list, rows, request.wanted));
  } else {
    file.Write(scenarios::SweepCsvHeader(request.list));
    for (std::size_t i = 0; i < rows.size(); ++i)
      file.Write(scenarios::SweepCsvLine(request.list, i, rows[i]));
  }
  if (const auto finished = file.Finish(); !finished.ok()) return finished.error();
  return std::nullopt;
}

int Interrupted(const SweepRequest& request, const Rows& rows, std::ostream& err) {
  err << "orrery: interrupted after " << Done(rows) << " of " << rows.size() << " points";
  if (!request.output.empty())
    err << "; they are in " << JournalOf(request) << ", and the same command goes on";
  err << '\n';
  return kExitInterrupted;
}

// What is printed at the end, and the exit status.
int PrintRows(const SweepRequest& request, const std::vector<Row>& rows, const Arguments& arguments,
              std::ostream& out, std::ostream& err) {
  const bool json = arguments.has("json"), quiet = arguments.has("quiet");
  if (json) {
    out << scenarios::SweepJson(request.job.name, request.list, rows, request.wanted);
  } else if (request.wanted) {
    out << scenarios::SweepRanking(request.list, rows, *request.wanted);
  }
  if (!quiet && (json || !request.wanted)) err << "orrery: " << scenarios::SweepCounts(rows) << '\n';
  const auto ok = [](const Row& row) { return row.status == scenarios::RowStatus::kOk; };
  if (std::any_of(rows.begin(), rows.end(), ok)) return kExitDone;
  err << "orrery: no point was played that fits; the first: " << ToText(rows.front().status) << ": "
      << rows.front().reason << '\n';
  return kExitNo;
}

// Plays what is not there yet. False where not all is there then; what went wrong, if something did, is in
// `error`.
bool PlayRows(const SweepRequest& request, const Arguments& arguments,
              std::optional<scenarios::Journal>* journal, Rows* rows, std::optional<sim::Error>* error,
              std::ostream& out, std::ostream& err) {
  std::optional<RowPrinter> printer;
  if (!*journal && !arguments.has("json") && !request.wanted) printer.emplace(request.list, out);
  const InterruptWatch watch;
  ProgressLine line(err, ProgressLine::StyleOf(arguments, err));
  Keeper keeper(journal, &printer, *rows, &line);
  const scenarios::PlayPointsOptions options{
      .jobs = request.jobs,
      .memory_limit = MemoryForARun(),
      .play_all = request.play_all,
      .go_on = [&watch] { return !watch.interrupted(); },
      .on_row = [&](const PointResult& result, bool of_play) { return keeper.Keep(result, of_play); }};
  const auto& points = request.list.points;
  const bool full = request.wanted ? scenarios::PlayBest(request.job, points, *request.wanted, options, rows)
                                   : scenarios::PlayPoints(request.job, points, options, rows);
  *error = keeper.error();
  return full && !*error;
}

int RunSweep(const Arguments& arguments, std::ostream& out, std::ostream& err) {
  const std::optional<SweepRequest> request = ReadSweepRequest(arguments, err);
  if (!request) return kExitUsage;
  if (request->slurm) return RunOnSlurm(*request, arguments, out, err);
  Rows rows(request->list.points.size());
  std::optional<scenarios::Journal> journal;
  if (!request->output.empty()) {
    auto opened = OpenJournal(*request, &rows);
    if (!opened.ok()) return Fail(opened.error().message, err);
    journal.emplace(std::move(opened).value());
    if (!arguments.has("quiet") && Done(rows) > 0)
      err << "orrery: goes on after " << Done(rows) << " points\n";
  }
  for (std::size_t i = 0; request->shard && i < rows.size(); ++i) {
    if (!request->shard->has(i)) rows[i].emplace();  // another task's
  }
  std::optional<sim::Error> error;
  const bool full = PlayRows(*request, arguments, &journal, &rows, &error, out, err);
  if (error) return Fail(error->message, err);
  if (!full) return Interrupted(*request, rows, err);
  if (request->shard) {
    journal->Sync();
    return kExitDone;
  }
  return Conclude(
      *request, arguments, std::move(rows),
      [&] {
        if (journal) journal->Remove();
      },
      out, err);
}

}  // namespace

std::size_t Done(const SweepRows& rows) {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.has_value(); }));
}

int Conclude(const SweepRequest& request, const Arguments& arguments, SweepRows rows,
             const std::function<void()>& finish, std::ostream& out, std::ostream& err) {
  std::vector<Row> all;
  for (std::optional<Row>& row : rows) all.push_back(*std::move(row));
  if (!request.output.empty()) {
    if (const auto fault = WriteRows(request, all)) return Fail(fault->message, err);
  }
  finish();
  return PrintRows(request, all, arguments, out, err);
}

Command SweepCommand() {
  return {
      "sweep",
      "Plays many points of a scenario side by side, to a row each; the best of them.",
      "[SCENARIO] --over PATH=VALUE,VALUE,... [--output FILE] [--best METRIC] [options]",
      1,
      {{"over", "PATH=LIST", "an axis: layout.tensor=1,2,4,8; A:B=1:x,2:y moves two; all combinations", true},
       {"points", "FILE", "a point a line, PATH=VALUE words; each with all combinations of the axes"},
       {"set", "PATH=VALUE", "change a field of all points", true},
       {"output", "FILE", "write rows there (.csv, .json; .gz): after kill -9 the same command goes on",
        false, 'o'},
       {"best", "METRIC", "step_time, cost or tokens_per_dollar: rank, and skip what cannot be wanted"},
       {"no-front", "", "with --best: skip also what only the front of time, memory, cost may want"},
       {"play-all", "", "play also what does not fit into memory"},
       {"jobs", "N", "points at a time; else as many as processors"},
       {"engine", "NAME", "local, or slurm: tasks of a job array, which --output must be in reach of"},
       {"shards", "N", "with --engine slurm: tasks of the array; else 16"},
       {"slurm", "WORD", "with --engine slurm: a word for sbatch, --slurm=--partition=cpu", true},
       {"shard", "INDEX/COUNT", ""},
       {"json", "", "print one JSON document"},
       {"progress", "", "tell how far it is, also when standard error is no terminal"},
       {"quiet", "", "tell nothing but mistakes"}},
      "  orrery sweep llama_70b_64xh800_a --over layout.tensor=2,4,8 --over layout.pipeline=1,2,4\n"
      "  orrery sweep my_job.textproto --over hardware=h100_sxm,h200_sxm --best step_time -o rows.csv\n",
      RunSweep};
}

}  // namespace tools
