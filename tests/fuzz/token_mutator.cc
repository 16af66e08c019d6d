// Mutates text word by word, so that most of what it makes still parses and
// reaches the checks behind the parser: numbers become odd numbers, words other
// words of the same text, lines are dropped, doubled or exchanged. One time in
// four it leaves the bytes to libFuzzer.

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

struct Span {
  std::size_t at = 0, length = 0;
};

constexpr const char* kNumbers[] = {"0",
                                    "1",
                                    "-1",
                                    "2",
                                    "3",
                                    "7",
                                    "8",
                                    "16",
                                    "64",
                                    "127",
                                    "4096",
                                    "0.5",
                                    "1e-9",
                                    "1e6",
                                    "1e18",
                                    "1e308",
                                    "1024",
                                    "65536",
                                    "12",
                                    "nan",
                                    "10000000",
                                    "1e-300",
                                    "2147483648",
                                    "9223372036854775807",
                                    "-9223372036854775808",
                                    "18446744073709551616"};

bool IsWordByte(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
}

std::vector<Span> Words(const std::string& text, bool numbers) {
  std::vector<Span> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && IsWordByte(text[end])) ++end;
    if (end > i && numbers == (std::isdigit(static_cast<unsigned char>(text[i])) != 0 || text[i] == '-'))
      words.push_back({i, end - i});
    i = end + 1;
  }
  return words;
}

std::vector<Span> Lines(const std::string& text) {
  std::vector<Span> lines;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text.find('\n', i);
    const std::size_t next = end == std::string::npos ? text.size() : end + 1;
    lines.push_back({i, next - i});
    i = next;
  }
  return lines;
}

const Span& OneOf(const std::vector<Span>& spans, sim::Random& random) {
  return spans[random.Below(static_cast<std::uint32_t>(spans.size()))];
}

void Edit(std::string& text, sim::Random& random) {
  const std::uint32_t choice = random.Below(8);
  const std::vector<Span> spans = choice < 4   ? Words(text, true)
                                  : choice < 6 ? Words(text, false)
                                               : Lines(text);
  if (spans.empty()) return;
  const Span to = OneOf(spans, random);
  std::string instead;
  if (choice < 4) instead = kNumbers[random.Below(std::size(kNumbers))];
  if (choice >= 4) {
    const Span from = OneOf(spans, random);
    instead = text.substr(from.at, from.length);
  }
  if (choice == 7) instead = random.Below(2) == 0 ? "" : instead + text.substr(to.at, to.length);
  text.replace(to.at, to.length, instead);
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  sim::Random random(seed, "token mutator");
  if (random.Below(4) == 0) return LLVMFuzzerMutate(data, size, max_size);
  std::string text(reinterpret_cast<const char*>(data), size);
  for (std::uint32_t edits = 1 + random.Below(3); edits > 0; --edits) Edit(text, random);
  if (text.size() > max_size) text.resize(max_size);
  std::memcpy(data, text.data(), text.size());
  return text.size();
}
