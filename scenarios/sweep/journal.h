// Journal: the rows of a sweep as they come out, in any order, until all are there.
//
// A line a record: its length in bytes, its CRC-32, and JSON:
//
//   57 1a2b3c4d {"sweep":[["program","0123..."],["scenario","my_job"],...],"version":1}
//   61 5e6f7a8b {"file":"my_model.textproto","digest":"89ab..."}
//   83 9c0d1e2f {"row":12,"cells":["ok","","llama3_70b",...]}
//
// The first says which sweep it is. Whatever ends the program, records before the last one are whole; what is
// behind the first that is not is cut off when the journal is opened, and those points are played again.

#ifndef SCENARIOS_SWEEP_JOURNAL_H_
#define SCENARIOS_SWEEP_JOURNAL_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/sweep/play.h"
#include "scenarios/sweep/row.h"
#include "sim/base/result.h"

namespace scenarios {

// What decides about the rows, each part with a name for people: "--over", and its text or digest.
using SweepIdentity = std::vector<std::pair<std::string, std::string>>;

// What a journal holds.
struct JournalContents {
  SweepIdentity identity;                    // empty: not even the first record is whole
  std::map<std::string, std::string> files;  // that rows came from, and their digests
  std::vector<std::pair<std::size_t, Row>> rows;
  std::size_t whole_bytes = 0;  // of the records that are whole
  std::size_t torn_bytes = 0;   // behind them
};

// Fails where there is no such file, or where its first record is whole and is none of a journal.
sim::Result<JournalContents> ReadJournal(const std::string& path);

// Why rows of a journal are not those of the sweep: a part that differs, or a file that has changed since.
std::optional<std::string> Foreign(const JournalContents& contents, const SweepIdentity& identity);

class Journal {
 public:
  // Goes on with the journal at `path`, whose rows go to where `rows` has none, or begins it. Fails where it
  // is another sweep's, where another run writes it, and where it cannot be written.
  static sim::Result<Journal> Open(const std::string& path, const SweepIdentity& identity,
                                   std::vector<std::optional<Row>>* rows);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  ~Journal();

  // The record is with the system afterwards: the end of the program does not lose it. Fails where it cannot
  // be written, or where a file is another than an earlier row was made of.
  std::optional<sim::Error> Add(const PointResult& result);
  // And afterwards with the disk: a crash of the machine does not lose it either.
  void Sync();
  // Once the rows are elsewhere.
  void Remove();

  std::size_t torn_bytes() const { return torn_bytes_; }

 private:
  Journal(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::optional<sim::Error> Append(const std::string& json);

  std::string path_;
  int descriptor_;
  std::map<std::string, std::string> files_;
  std::size_t torn_bytes_ = 0;
};

}  // namespace scenarios

#endif  // SCENARIOS_SWEEP_JOURNAL_H_
