// OutputFile: a file that is there whole or not at all.

#ifndef SCENARIOS_OUTPUT_OUTPUT_FILE_H_
#define SCENARIOS_OUTPUT_OUTPUT_FILE_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/result.h"

namespace scenarios {

// What is written goes to `path`.partial-N beside it, and gets its name when
// Finish succeeds; without Finish it is removed. A link stays a link: the file it
// points to is written. A device, a pipe, and a descriptor that is open already
// (/dev/stdout, /dev/fd/N, wherever they go) are written straight. A path that
// ends in ".gz" is compressed.
class OutputFile {
 public:
  static sim::Result<OutputFile> Create(const std::string& path);
  // What Create would fail with, without opening a device or pipe: its reader
  // would take that for the end.
  static std::optional<sim::Error> WhyNot(const std::string& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Errors are kept; Finish tells the first.
  void Write(std::string_view text);
  bool failed() const;

  // How many bytes of text were written, before compression.
  sim::Result<std::int64_t> Finish();

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether two paths name one file, through links or in another spelling.
bool IsSameFile(const std::string& a, const std::string& b);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_OUTPUT_FILE_H_
