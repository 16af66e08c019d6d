#include "scenarios/sweep/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "sim/base/digest.h"

namespace scenarios {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;

// What the command line has may be any bytes.
std::string DumpOf(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

sim::Error CannotWrite(const std::string& path) {
  return {"cannot write " + path + ": " + std::strerror(errno)};
}

std::string ChecksumOf(std::string_view text) {
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  return sim::ToHex(crc).substr(8);
}

std::string RecordOf(const std::string& json) {
  return std::to_string(json.size()) + ' ' + ChecksumOf(json) + ' ' + json + '\n';
}

std::string FirstOf(const SweepIdentity& identity) {
  return DumpOf(Json{{"sweep", identity}, {"version", kVersion}});
}

// The JSON of the record at `at`, which moves behind it; nothing where it is not whole.
std::optional<std::string_view> NextRecord(std::string_view text, std::size_t* at) {
  constexpr std::size_t kChecksum = 8;
  std::size_t size = 0;
  const auto [end, error] = std::from_chars(text.data() + *at, text.data() + text.size(), size);
  if (error != std::errc()) return std::nullopt;
  const auto begin = static_cast<std::size_t>(end - text.data()) + kChecksum + 2;
  if (begin > text.size() || size >= text.size() - begin) return std::nullopt;
  const std::string_view json = text.substr(begin, size);
  const std::string record = RecordOf(std::string(json));
  if (text.compare(*at, record.size(), record) != 0) return std::nullopt;
  *at += record.size();
  return json;
}

// Takes a record that is whole; false where it says nothing that is known.
bool Take(const Json& record, JournalContents* contents) {
  if (record.contains("sweep")) {
    if (record.at("version") != kVersion) return false;
    contents->identity = record.at("sweep").get<SweepIdentity>();
    return true;
  }
  if (contents->identity.empty()) return false;
  if (record.contains("file")) {
    contents->files[record.at("file").get<std::string>()] = record.at("digest").get<std::string>();
    return true;
  }
  std::optional<Row> row = RowOf(record.at("cells").get<std::vector<std::string>>());
  if (!row) return false;
  contents->rows.emplace_back(record.at("row").get<std::size_t>(), *std::move(row));
  return true;
}

JournalContents ContentsOf(std::string_view text) {
  JournalContents contents;
  std::size_t at = 0;
  while (const auto json = NextRecord(text, &at)) {
    try {
      if (!Take(Json::parse(*json), &contents)) break;
    } catch (const Json::exception&) {
      break;
    }
    contents.whole_bytes = at;
  }
  contents.torn_bytes = text.size() - contents.whole_bytes;
  return contents;
}

// All that is behind a descriptor, or nothing with errno.
std::optional<std::string> ReadAll(int descriptor) {
  std::string text;
  std::vector<char> block(1 << 18);
  while (true) {
    const ssize_t got = pread(descriptor, block.data(), block.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(got));
  }
}

std::string DigestOfFile(const std::string& path) {
  proto::Diagnostics ignored;
  std::string text;
  proto::ReadFile(path, &text, &ignored);
  return ignored.files().empty() ? "" : sim::ToHex(ignored.files().front().digest);
}

}  // namespace

sim::Result<JournalContents> ReadJournal(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return sim::Error{path + ": " + std::strerror(errno)};
  const std::optional<std::string> text = ReadAll(descriptor);
  close(descriptor);
  if (!text) return sim::Error{path + ": cannot be read"};
  return ContentsOf(*text);
}

std::optional<std::string> Foreign(const JournalContents& contents, const SweepIdentity& identity) {
  for (std::size_t i = 0; i < identity.size(); ++i) {
    if (i >= contents.identity.size() || contents.identity[i] != identity[i]) {
      return identity[i].first + " is another one";
    }
  }
  if (contents.identity.size() > identity.size()) return std::string("it has other options");
  for (const auto& [file, digest] : contents.files) {
    if (DigestOfFile(file) != digest) return file + " has changed since";
  }
  return std::nullopt;
}

sim::Result<Journal> Journal::Open(const std::string& path, const SweepIdentity& identity,
                                   std::vector<std::optional<Row>>* rows) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) return CannotWrite(path);
  Journal journal(path, descriptor);
  // Gone with this process, however it ends.
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return sim::Error{path + ": another run is writing this sweep; wait for it, or give another name"};
  }
  const std::optional<std::string> text = ReadAll(descriptor);
  if (!text) return CannotWrite(path);
  const JournalContents contents = ContentsOf(*text);
  journal.torn_bytes_ = contents.torn_bytes;
  const std::string anew = "; the command that began it goes on with it; remove " + path + " to start anew";
  if (contents.identity.empty()) {
    // A first record that is torn is a run that ended at once. Anything else is no file of ours.
    const std::string first = RecordOf(FirstOf(identity));
    const bool torn = text->size() < first.size() && first.starts_with(*text);
    if (!torn) return sim::Error{path + ": is no journal of this sweep" + anew};
  } else if (const auto foreign = Foreign(contents, identity)) {
    return sim::Error{path + ": is of another sweep: " + *foreign + anew};
  }
  if (ftruncate(descriptor, static_cast<off_t>(contents.whole_bytes)) != 0) return CannotWrite(path);
  journal.files_ = contents.files;
  for (const auto& [point, row] : contents.rows) {
    if (point < rows->size() && !(*rows)[point]) (*rows)[point] = row;
  }
  if (contents.identity.empty()) {
    if (const auto error = journal.Append(FirstOf(identity))) return *error;
    journal.Sync();
  }
  return journal;
}

Journal::Journal(Journal&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      files_(std::move(other.files_)),
      torn_bytes_(other.torn_bytes_) {}

Journal::~Journal() {
  if (descriptor_ >= 0) close(descriptor_);
}

std::optional<sim::Error> Journal::Add(const PointResult& result) {
  for (const proto::InputFile& file : result.files) {
    const std::string digest = sim::ToHex(file.digest);
    const auto [known, is_new] = files_.emplace(file.path, digest);
    if (!is_new && known->second != digest) {
      return sim::Error{file.path +
                        " has changed while the sweep ran, and earlier rows are of what it was; remove " +
                        path_ + " to start anew"};
    }
    if (!is_new) continue;
    if (const auto error = Append(DumpOf(Json{{"file", file.path}, {"digest", digest}}))) return error;
  }
  std::vector<std::string> cells;
  for (Cell& cell : CellsOf(result.row)) cells.push_back(std::move(cell.text));
  return Append(DumpOf(Json{{"row", result.point}, {"cells", std::move(cells)}}));
}

std::optional<sim::Error> Journal::Append(const std::string& json) {
  const std::string record = RecordOf(json);
  std::string_view rest = record;
  while (!rest.empty()) {
    const ssize_t written = write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return CannotWrite(path_);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return std::nullopt;
}

void Journal::Sync() { fdatasync(descriptor_); }

void Journal::Remove() { unlink(path_.c_str()); }

}  // namespace scenarios
