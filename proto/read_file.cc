#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "proto/syntax.h"
#include "proto/text_reader.h"
#include "sim/base/digest.h"

namespace proto {

namespace {

// What is wrong with the bytes of a text file, or "".
std::string RefuseBytes(std::string_view text) {
  if (text.empty()) return "the file is empty; a text is wanted";
  const std::string_view start = text.substr(0, 2);
  if (start == "\xFF\xFE" || start == "\xFE\xFF") return "the file is UTF-16; save it as UTF-8";
  if (text.find('\0') != text.npos) {
    return "the file is binary (byte 0 at offset " + std::to_string(text.find('\0')) +
           "); UTF-8 text is wanted";
  }
  if (!IsUtf8(text)) return "the file is not UTF-8; save it as UTF-8";
  return "";
}

}  // namespace

std::uint64_t DigestOf(std::string_view bytes) {
  constexpr std::size_t kWord = 8;
  sim::Digest digest;
  for (std::size_t at = 0; at < bytes.size(); at += kWord) {
    std::uint64_t word = 0;
    for (std::size_t i = std::min(bytes.size(), at + kWord); i-- > at;) {
      word = word << 8 | static_cast<unsigned char>(bytes[i]);
    }
    digest.Add(word);
  }
  return digest.Add(bytes.size()).value();
}

void Diagnostics::Read(const std::string& path, std::string_view bytes) {
  files_.push_back({path, DigestOf(bytes)});
}

bool ReadFile(const std::string& path, std::string* text, Diagnostics* diagnostics) {
  constexpr std::uintmax_t kMaxBytes = 64u << 20;
  const auto refuse = [&](const std::string& what) {
    diagnostics->Error(path, what);
    return false;
  };
  if (path.empty()) {
    diagnostics->Error("\"\"", "the name of a file is empty; one is wanted");
    return false;
  }
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return refuse("there is no such file");
  if (std::filesystem::is_directory(status)) return refuse("this is a directory; a file is wanted");
  // A pipe or device has no size, so the bytes that arrive are counted, too.
  std::ifstream in(path, std::ios::binary);
  if (!in) return refuse("the file cannot be opened; permission to read it is wanted");
  text->clear();
  std::string block(1 << 16, '\0');
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0) {
    text->append(block, 0, static_cast<std::size_t>(in.gcount()));
    if (text->size() > kMaxBytes) return refuse("the file is larger than 64 MiB, the most that is read");
  }
  diagnostics->Read(path, *text);
  const std::string wrong = RefuseBytes(*text);
  return wrong.empty() || refuse(wrong);
}

}  // namespace proto
