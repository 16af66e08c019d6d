// What nccl-tests prints. A run is, among other lines:
//
//   # nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 ...
//   #  Rank  0 Group  0 Pid 516 on host1 device  0 [0x07] NVIDIA H100 80GB HBM3
//   #       size         count      type   redop    root     time   algbw   busbw #wrong     time ...
//        1048576        262144     float     sum      -1    42.36   24.75   43.32      0    41.90 ...
//
// Columns differ by version, so the line of their names says where the first "time" is.

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <system_error>

#include "proto/told_once.h"
#include "scenarios/calibration/measured_collective.h"
#include "scenarios/collective_run/nccl_tests.h"

namespace scenarios {
namespace {

std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

template <typename T>
bool Reads(const std::string& text, T* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

// "all_reduce" of any text with "all_reduce_perf".
std::string TestIn(const std::string& line) {
  for (const NcclTest& test : NcclTests()) {
    const std::size_t at = line.find(std::string(test.name) + "_perf");
    // "reduce" is at the end of "all_reduce", too.
    if (at != std::string::npos && (at == 0 || line[at - 1] != '_')) return test.name;
  }
  return "";
}

// Of "NCCL version 2.20.3+cuda12.3" and of "nccl-library=22003".
std::string VersionIn(const std::string& line) {
  const std::string stated = "NCCL version ", library = "nccl-library=";
  if (const std::size_t at = line.find(stated); at != std::string::npos) {
    const std::size_t from = at + stated.size();
    return line.substr(from, line.find_first_not_of("0123456789.", from) - from);
  }
  const std::size_t at = line.find(library);
  int code = 0;
  if (at == std::string::npos) return "";
  const char* from = line.data() + at + library.size();
  if (std::from_chars(from, line.data() + line.size(), code).ec != std::errc() || code < 20'000) return "";
  return std::to_string(code / 10'000) + '.' + std::to_string(code / 100 % 100) + '.' +
         std::to_string(code % 100);
}

class Reader {
 public:
  Reader(const std::string& file, const NcclTestsDefaults& defaults, proto::Diagnostics* diagnostics)
      : file_(file), defaults_(defaults), diagnostics_(diagnostics) {}

  void Read(const std::string& line) {
    ++line_;
    const std::vector<std::string> words = WordsOf(line);
    if (words.empty()) return;
    if (const std::string version = VersionIn(line); !version.empty()) version_ = version;
    std::int64_t size = 0;
    if (Reads(words[0], &size) && !columns_.empty()) return ReadRow(words, size);
    if (const std::string test = TestIn(line); !test.empty()) test_ = test;
    if (words[0] != "#") return;
    if (words.size() > 2 && words[1] == "nThread") StartRun();
    if (words.size() > 2 && words[1] == "Rank") ReadRank(line, words);
    if (words.size() > 2 && words[1] == "size") columns_.assign(words.begin() + 1, words.end());
  }

  NcclTestsNeeds needs() const { return needs_; }

  std::vector<MeasuredCollective> Take() && {
    mistakes_.Tell(diagnostics_);
    if (rows_.empty() && mistakes_.empty()) {
      diagnostics_->Error(file_,
                          "no rows of nccl-tests; a line of \"# size count type ...\" goes before them");
    }
    return std::move(rows_);
  }

 private:
  void StartRun() {
    hosts_.clear();
    columns_.clear();
    device_.clear();
    ranks_ = 0;
  }

  // "#  Rank  0 Group  0 Pid 516 on host1 device  0 [0x07] NVIDIA H100 80GB HBM3"
  void ReadRank(const std::string& line, const std::vector<std::string>& words) {
    const auto on = std::find(words.begin(), words.end(), "on");
    const std::size_t bracket = line.find(']');
    if (on == words.end() || on + 1 == words.end() || bracket == std::string::npos) {
      return Error("rank", "a rank without its host and device");
    }
    ++ranks_;
    hosts_.insert(*(on + 1));
    const std::vector<std::string> name = WordsOf(line.substr(bracket + 1));
    std::string device;
    for (const std::string& word : name) device += (device.empty() ? "" : " ") + word;
    if (!device_.empty() && device != device_) {
      Error("kinds", "devices of two kinds: " + device_ + " and " + device);
    }
    device_ = device;
  }

  // The word below the first column of this name; empty where there is none.
  std::string Cell(const std::vector<std::string>& words, const char* column) const {
    const auto at =
        static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) - columns_.begin());
    return at < std::min(columns_.size(), words.size()) ? words[at] : "";
  }

  // A column that `orrery collective` puts behind those of nccl-tests.
  bool IsOurs() const { return std::find(columns_.begin(), columns_.end(), "bound") != columns_.end(); }

  void ReadRow(const std::vector<std::string>& words, std::int64_t size) {
    const std::string time = Cell(words, "time");
    double us = 0;
    if (IsOurs()) {
      return Error("ours",
                   "`orrery collective` printed this, which measures nothing; rows of nccl-tests are wanted");
    }
    if (!Reads(time, &us)) return Error("no time", "no time where the columns' names have it");
    if (size == 0) return;
    needs_.collective = needs_.collective || test_.empty();
    needs_.nccl = needs_.nccl || version_.empty();
    const std::string name = test_.empty() ? defaults_.collective : test_;
    const NcclTest* test = FindNcclTest(name);
    if (test == nullptr) {
      return Error("test", name.empty() ? "which test it is is not said; give it with --collective"
                                        : '"' + name + "\" is no test of nccl-tests");
    }
    const auto nodes = static_cast<std::uint32_t>(hosts_.size());
    if (ranks_ < 2 || ranks_ % nodes != 0) {
      return Error("ranks", std::to_string(ranks_) + " ranks on " + std::to_string(nodes) +
                                " hosts before it; 2 and more, as many on each, are wanted");
    }
    if (!(us > 0 && us <= kMostMicroseconds)) {
      return Error("time", "a time of " + time + " us; above 0 and at most 1e9 is wanted");
    }
    // "N/A" where nothing was checked.
    double wrong = 0;
    if (const std::string cell = Cell(words, "#wrong"); Reads(cell, &wrong) && wrong > 0) {
      return Error("wrong", "#wrong: " + cell +
                                " elements; 0 is wanted, since a run that moved other bytes "
                                "tells no time");
    }
    rows_.push_back({.file = file_,
                     .line = line_,
                     .source = "nccl-tests",
                     .device = device_,
                     .network = {},
                     .nccl = version_.empty() ? defaults_.nccl : version_,
                     .note = {},
                     .collective = name,
                     .kind = test->kind,
                     .ranks = ranks_,
                     .nodes = nodes,
                     .bytes = sim::Bytes(size),
                     .seconds = us * 1e-6});
  }

  void Error(const char* kind, const std::string& what) {
    mistakes_.Add(file_ + ":" + std::to_string(line_), kind, what);
  }

  const std::string& file_;
  const NcclTestsDefaults& defaults_;
  proto::Diagnostics* diagnostics_;
  std::vector<MeasuredCollective> rows_;
  NcclTestsNeeds needs_;
  proto::ToldOnce mistakes_;
  int line_ = 0;
  // Of the run that is being read.
  std::string test_, version_, device_;
  std::uint32_t ranks_ = 0;
  std::set<std::string> hosts_;
  std::vector<std::string> columns_;
};

}  // namespace

std::vector<MeasuredCollective> ReadNcclTestsOutput(const std::string& file, std::string_view text,
                                                    const NcclTestsDefaults& defaults,
                                                    proto::Diagnostics* diagnostics, NcclTestsNeeds* needs) {
  Reader reader(file, defaults, diagnostics);
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) reader.Read(line);
  if (needs != nullptr) {
    needs->collective = needs->collective || reader.needs().collective;
    needs->nccl = needs->nccl || reader.needs().nccl;
  }
  return std::move(reader).Take();
}

}  // namespace scenarios
