// The one reader of input files (textproto and JSON), and the one way to say
// what is wrong with them: file, line, column, field, value found, value wanted.

#ifndef PROTO_TEXT_READER_H_
#define PROTO_TEXT_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace google::protobuf {
class Message;
class Descriptor;
}  // namespace google::protobuf

namespace proto {

// A file that was read: what comes of it may change with it.
struct InputFile {
  std::string path;
  std::uint64_t digest = 0;  // of its bytes
};
std::uint64_t DigestOf(std::string_view bytes);

// Everything wrong with one input, in the order found. Reading goes on after
// an error, so that one run reports all of them.
class Diagnostics {
 public:
  // One line each: "file:line:column: path: what" when `place` comes from Field.
  // Control characters become spaces, and very long lines are cut.
  void Error(const std::string& place, const std::string& what);
  void Warning(const std::string& place, const std::string& what);
  // Called by ReadFile.
  void Read(const std::string& path, std::string_view bytes);

  bool ok() const { return errors_.empty(); }
  const std::vector<std::string>& errors() const { return errors_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Those that ReadFile read, in that order; the catalogues are no files.
  const std::vector<InputFile>& files() const { return files_; }

 private:
  std::vector<std::string> errors_;
  std::vector<std::string> warnings_;
  std::vector<InputFile> files_;
};

class Document;
struct Location;

// A place in a document. Prints as "file:line:column: layout.tensor", or as
// "--set 2: layout.tensor" when that option gave the value. A field that the
// file leaves out is located at the message that lacks it.
class Field {
 public:
  // The field `name` of this message; element `index` of it when it repeats.
  // REQUIRES: the message type has that field
  Field At(std::string_view name, int index = -1) const;
  std::string place() const;
  // Whether the file or an override mentions it, also with a value that was refused.
  bool given() const { return location_ != nullptr; }

 private:
  friend class Document;
  const Document* document_ = nullptr;
  const google::protobuf::Descriptor* type_ = nullptr;
  const Location* location_ = nullptr;  // null when the input does not mention it
  std::string path_;
  int line_ = 0, column_ = 0, set_ = 0;
};

// One file that was read into a message, with the place of each field. Its
// Fields hold as long as it stays where it is.
class Document {
 public:
  Document();
  ~Document();
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;

  const std::string& file() const { return file_; }
  // False when the text has a slip of syntax or too many mistakes, so that what
  // is not there may only not have been read: then say nothing of missing fields.
  bool complete() const { return complete_; }
  // The document's top. REQUIRES: Read() filled this document
  Field root() const;

 private:
  friend class Field;
  friend struct Reader;
  std::string file_;
  std::string override_prefix_;
  bool complete_ = true;
  struct State;
  std::unique_ptr<State> state_;
};

// One "path=value" of the command line; `index` counts from 1 in messages.
struct Override {
  int index = 1;
  std::string path;    // "layout.tensor", "batch.micro", "failures[1].rank"
  std::string value;   // as in textproto; strings may go without quotes, "[1, 2]" is a whole list
  std::string prefix;  // of the path as the user gave it, where a reader gets the rest: "model."
};

// Reads `text` (textproto, or JSON when `file` ends in ".json") into `message`,
// then applies `overrides`. All errors of the file are reported in one run:
// unknown fields with the nearest known name, wrong types, repeated scalars,
// NaN and infinities, an empty file; what is right is in `message` all the same.
// An override may append: index = size is a new element. A later one wins.
// Returns whether there were no errors.
bool Read(const std::string& file, std::string_view text, const std::vector<Override>& overrides,
          google::protobuf::Message* message, Document* document, Diagnostics* diagnostics);

// Applies overrides alone, where `message` was made of more than `document`:
// of what another file gives beneath it. Returns whether there were no errors.
bool Apply(const std::vector<Override>& overrides, google::protobuf::Message* message, Document* document,
           Diagnostics* diagnostics);

// The whole file, or an error line: missing, a directory, not UTF-8, over 64 MiB.
bool ReadFile(const std::string& path, std::string* text, Diagnostics* diagnostics);

// The names nearest to `wrong`, best first, at most three; for "did you mean".
std::vector<std::string> Nearest(std::string_view wrong, const std::vector<std::string>& known);

// One file of an embedded catalogue.
struct CatalogueFile {
  std::string_view name;  // "llama_7b"
  std::string_view file;  // "models/llama_7b.textproto"
  std::string_view text;
};

}  // namespace proto

#endif  // PROTO_TEXT_READER_H_
