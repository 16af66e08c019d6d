#include "scenarios/output/output_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>

namespace scenarios {

struct OutputFile::State {
  std::string path;       // the name it gets
  std::string temporary;  // the name it has; empty when written straight
  gzFile file = nullptr;
  std::int64_t bytes = 0;
  int error = 0;  // errno of the first failure

  // errno is not set by zlib itself.
  void Fail() {
    if (error == 0) error = errno != 0 ? errno : EIO;
  }
};

namespace {

constexpr unsigned kBufferBytes = 1U << 18;

sim::Error CannotWrite(const std::string& path, int error) {
  return {"cannot write " + path + ": " + std::strerror(error)};
}

// The descriptor of ours that a path names, as /dev/stdout does; -1: none. What is
// behind it may well be a regular file: still it is not ours to put another one in
// its place, nor to write over what else goes there.
int DescriptorNamed(const std::string& path) {
  if (path == "/dev/stdout") return STDOUT_FILENO;
  if (path == "/dev/stderr") return STDERR_FILENO;
  for (const std::string folder : {"/dev/fd/", "/proc/self/fd/"}) {
    const std::string number = path.starts_with(folder) ? path.substr(folder.size()) : "";
    if (number.empty() || number.size() > 6) continue;
    if (number.find_first_not_of("0123456789") == std::string::npos) return std::stoi(number);
  }
  return -1;
}

// Whether no file is put in its place: a descriptor, a device, a pipe.
bool IsWrittenStraight(const std::string& path) {
  std::error_code none;
  return DescriptorNamed(path) >= 0 || std::filesystem::is_other(std::filesystem::status(path, none));
}

int OpenStraight(const std::string& path) {
  const int descriptor = DescriptorNamed(path);
  return descriptor >= 0 ? dup(descriptor) : open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

// Where a link leads, also to a file that is not there yet; else the path itself.
std::string TargetOf(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_symlink(path, none)) return path;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, none);
  return none ? path : target.string();
}

// A file descriptor of a new file beside `path`, or -1 with errno. What an
// interrupted run of the same process number left behind is replaced.
int CreateBeside(const std::string& path, std::string& name) {
  name = path + ".partial-" + std::to_string(getpid());
  int descriptor = -1;
  for (int serial = 0; serial < 10; ++serial) {
    descriptor = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
    name += '_';
  }
  return descriptor;
}

}  // namespace

OutputFile::OutputFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputFile::OutputFile(OutputFile&&) noexcept = default;

OutputFile::~OutputFile() {
  if (!state_) return;
  if (state_->file != nullptr) gzclose(state_->file);
  if (!state_->temporary.empty()) std::remove(state_->temporary.c_str());
}

std::optional<sim::Error> OutputFile::WhyNot(const std::string& path) {
  if (IsWrittenStraight(path)) {
    if (access(path.c_str(), W_OK) == 0) return std::nullopt;
    return CannotWrite(path, errno);
  }
  const sim::Result<OutputFile> probe = Create(path);
  if (probe.ok()) return std::nullopt;
  return probe.error();
}

bool IsSameFile(const std::string& a, const std::string& b) {
  std::error_code none;
  const auto place = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
  };
  return place(a) == place(b) || std::filesystem::equivalent(a, b, none);
}

sim::Result<OutputFile> OutputFile::Create(const std::string& path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) return CannotWrite(path, EISDIR);
  auto state = std::make_unique<State>();
  const bool straight = IsWrittenStraight(path);
  state->path = straight ? path : TargetOf(path);
  const int descriptor = straight ? OpenStraight(path) : CreateBeside(state->path, state->temporary);
  if (descriptor < 0) {
    state->temporary.clear();  // not ours to remove
    return CannotWrite(path, errno);
  }
  // 'T' writes as is. Level 4 takes half the time of the default level 6 for
  // files of this kind at a few percent more bytes.
  state->file = gzdopen(descriptor, path.ends_with(".gz") ? "wb4" : "wbT");
  CHECK(state->file != nullptr);
  gzbuffer(state->file, kBufferBytes);
  return OutputFile(std::move(state));
}

void OutputFile::Write(std::string_view text) {
  if (state_->error != 0 || text.empty()) return;
  errno = 0;
  const std::size_t written = gzfwrite(text.data(), 1, text.size(), state_->file);
  if (written != text.size()) return state_->Fail();
  state_->bytes += static_cast<std::int64_t>(written);
}

bool OutputFile::failed() const { return state_->error != 0; }

sim::Result<std::int64_t> OutputFile::Finish() {
  errno = 0;
  if (gzclose(state_->file) != Z_OK) state_->Fail();
  state_->file = nullptr;
  errno = 0;
  if (state_->error == 0 && !state_->temporary.empty() &&
      std::rename(state_->temporary.c_str(), state_->path.c_str()) != 0) {
    state_->Fail();
  }
  if (state_->error != 0) return CannotWrite(state_->path, state_->error);
  state_->temporary.clear();  // it has its name now
  return state_->bytes;
}

}  // namespace scenarios
