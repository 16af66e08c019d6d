// orrery sweep --engine slurm: shards of a sweep as the tasks of a Slurm job array, each with a journal of
// its own, merged when all are there. A task that fails is submitted again, one that Slurm requeues goes on
// with its journal, and so does this command when it is started again: it waits for an array of its own that
// is still there.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <thread>

#include "scenarios/sweep/journal.h"
#include "tools/child_program.h"
#include "tools/interrupt.h"
#include "tools/new_file.h"
#include "tools/progress.h"
#include "tools/sweep_parts.h"

namespace tools {
namespace {

constexpr int kSubmissions = 3;  // of a shard, by one run of the command
constexpr std::chrono::milliseconds kBetweenLooks{500};
constexpr int kLooksWithoutAnswer = 120;  // of a controller that is away for a while

// One word of a shell's command line.
std::string InQuotes(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + '\'';
}

// "0,3,7"
std::string ListText(const std::vector<std::size_t>& shards) {
  std::string text;
  for (const std::size_t shard : shards) text += (text.empty() ? "" : ",") + std::to_string(shard);
  return text;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

class SlurmSweep {
 public:
  SlurmSweep(const SweepRequest& request, const Arguments& arguments, std::ostream& err)
      : request_(request),
        arguments_(arguments),
        err_(err),
        folder_(ShardFolder(request.output)),
        shards_(std::min(request.slurm->shards, request.list.points.size())) {}
  SlurmSweep(const SlurmSweep&) = delete;
  SlurmSweep& operator=(const SlurmSweep&) = delete;
  ~SlurmSweep() {
    if (lock_ >= 0) close(lock_);
  }

  // The folder, for this command alone, with the script of the tasks.
  std::optional<sim::Error> Prepare() {
    if (IsThere(request_.output)) {
      return sim::Error{request_.output +
                        " is there already, and rows are never written over; remove it to sweep anew"};
    }
    std::error_code made;
    std::filesystem::create_directories(folder_, made);
    lock_ = open((folder_ + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (made || lock_ < 0) return sim::Error{folder_ + ": cannot be written"};
    if (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
      return sim::Error{folder_ + ": another run waits for this sweep already"};
    }
    std::ofstream script(folder_ + "/task.sh", std::ios::trunc);
    script << ScriptText();
    script.close();
    if (!script) return sim::Error{folder_ + "/task.sh: cannot be written"};
    return std::nullopt;
  }

  // Submits and waits until all shards are there.
  std::optional<sim::Error> Run(ProgressLine* line, const InterruptWatch& watch) {
    if (const auto error = Collect()) return error;
    const std::size_t before = Done(rows_);
    for (int submissions = 0; !Missing().empty();) {
      std::string job = Waiting();
      if (job.empty()) {
        const std::vector<std::size_t> missing = Missing();
        if (submissions == kSubmissions) {
          return sim::Error{"shards " + ListText(missing) + " did not finish; " + folder_ +
                            "/shard-N.log says why, and the same command submits them again"};
        }
        if (submissions++ > 0)
          err_ << "orrery: shards " << ListText(missing) << " did not finish; submitted again\n";
        sim::Result<std::string> submitted = Submit(missing);
        if (!submitted.ok()) return submitted.error();
        job = submitted.value();
      }
      if (const auto error = WaitFor(job, before, line, watch)) return error;
      if (watch.interrupted()) return std::nullopt;
      std::filesystem::remove(JobFile());
    }
    return std::nullopt;
  }

  SweepRows TakeRows() { return std::move(rows_); }
  void RemoveFolder() {
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }
  // Points are done, and the array goes on without this command.
  void TellInterruption() {
    err_ << "orrery: interrupted with " << Done(rows_) << " of " << rows_.size() << " points done; job "
         << Waiting() << " goes on, and the same command waits for it\n";
  }

 private:
  std::string JobFile() const { return folder_ + "/job"; }

  std::string ScriptText() const {
    std::error_code none;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", none).string();
    std::string words = InQuotes(program) + " sweep";
    for (const std::string& scenario : arguments_.positional) words += ' ' + InQuotes(scenario);
    for (const char* flag : {"set", "over", "points"}) {
      if (!arguments_.has(flag)) continue;
      for (const std::string& value : arguments_.values.at(flag)) {
        words += " " + InQuotes(std::string("--") + flag + '=' + value);
      }
    }
    if (request_.play_all) words += " --play-all";
    return "#!/bin/bash\n"
           "# A task of the array: the shard of its number, on the processors and in the memory that it was "
           "given.\n"
           "if [[ -n ${SLURM_MEM_PER_NODE:-} ]]; then ulimit -v $((SLURM_MEM_PER_NODE * 1024)); fi\n"
           "exec " +
           words + " --output=" + InQuotes(request_.output) + " --shard=\"$SLURM_ARRAY_TASK_ID/" +
           std::to_string(shards_) + "\" --jobs=\"${SLURM_CPUS_PER_TASK:-1}\" --quiet\n";
  }

  // Reads all journals. Fails where one is of another sweep.
  std::optional<sim::Error> Collect() {
    rows_.assign(request_.list.points.size(), std::nullopt);
    for (std::size_t shard = 0; shard < shards_; ++shard) {
      const std::string path = ShardJournal(request_.output, shard);
      const auto contents = scenarios::ReadJournal(path);
      if (!contents.ok() || contents.value().identity.empty()) continue;  // not begun
      if (const auto foreign = scenarios::Foreign(contents.value(), IdentityOfShard(shard))) {
        return sim::Error{path + ": is of another sweep: " + *foreign + "; remove " + folder_ +
                          " to start anew"};
      }
      for (const auto& [point, row] : contents.value().rows) {
        if (point < rows_.size()) rows_[point] = row;
      }
    }
    return std::nullopt;
  }

  scenarios::SweepIdentity IdentityOfShard(std::size_t shard) const {
    SweepRequest part = request_;
    part.wanted.reset();  // nothing is skipped: a shard does not know what others found
    part.shard = Shard{shard, shards_};
    return IdentityOf(part);
  }

  std::vector<std::size_t> Missing() const {
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (!rows_[i]) missing.push_back(i % shards_);
    }
    std::sort(missing.begin(), missing.end());
    missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
    return missing;
  }

  // The array that an earlier run of this command submitted; empty where there is none.
  std::string Waiting() const {
    std::string job;
    std::ifstream(JobFile()) >> job;
    return job;
  }

  sim::Result<std::string> Submit(const std::vector<std::size_t>& shards) const {
    std::vector<std::string> words = {"sbatch",
                                      "--parsable",
                                      "--job-name=orrery-sweep",
                                      "--requeue",
                                      "--array=" + ListText(shards),
                                      "--output=" + folder_ + "/shard-%a.log"};
    words.insert(words.end(), request_.slurm->words.begin(), request_.slurm->words.end());
    words.push_back(folder_ + "/task.sh");
    const ChildResult result = RunChild(words);
    // "12" or "12;cluster"
    const std::string job = result.output.substr(0, result.output.find_first_of(";\n"));
    if (result.status != 0 || job.empty() || job.find_first_not_of("0123456789") != std::string::npos) {
      return sim::Error{"sbatch: " + FirstLine(result.output)};
    }
    std::ofstream(JobFile(), std::ios::trunc) << job << '\n';
    return job;
  }

  // Until no task of the array waits or runs, or somebody interrupts.
  std::optional<sim::Error> WaitFor(const std::string& job, std::size_t before, ProgressLine* line,
                                    const InterruptWatch& watch) {
    int without_answer = 0;
    while (!watch.interrupted()) {
      const ChildResult queue = RunChild({"squeue", "--noheader", "--format=%t", "--jobs=" + job});
      const bool forgotten = queue.output.find("Invalid job id") != std::string::npos;
      const bool answered = queue.status == 0 || forgotten;
      if (!answered && ++without_answer > kLooksWithoutAnswer) {
        return sim::Error{"squeue: " + FirstLine(queue.output) + "; job " + job +
                          " may go on, and the same command waits for it"};
      }
      if (answered) without_answer = 0;
      if (const auto error = Collect()) return error;
      line->Show(PointProgress{Done(rows_), rows_.size(), before});
      if (answered && (forgotten || queue.output.empty())) return std::nullopt;
      std::this_thread::sleep_for(kBetweenLooks);
    }
    return std::nullopt;
  }

  const SweepRequest& request_;
  const Arguments& arguments_;
  std::ostream& err_;
  const std::string folder_;
  const std::size_t shards_;
  SweepRows rows_;
  int lock_ = -1;
};

}  // namespace

int RunOnSlurm(const SweepRequest& request, const Arguments& arguments, std::ostream& out,
               std::ostream& err) {
  SlurmSweep sweep(request, arguments, err);
  if (const auto error = sweep.Prepare()) return Fail(error->message, err);
  {
    const InterruptWatch watch;
    ProgressLine line(err, ProgressLine::StyleOf(arguments, err));
    if (const auto error = sweep.Run(&line, watch)) {
      Fail(error->message, err);
      return kExitNo;
    }
    if (watch.interrupted()) {
      sweep.TellInterruption();
      return kExitInterrupted;
    }
  }
  return Conclude(
      request, arguments, sweep.TakeRows(), [&] { sweep.RemoveFolder(); }, out, err);
}

}  // namespace tools
