#include "topologies/import/nvidia_smi_matrix.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace topologies {
namespace {

constexpr std::size_t kMost = 1024;  // elements of one node
constexpr int kMostNvlinks = 1000;

// Words of a line, without the escapes that underline a terminal's header.
std::vector<std::string> WordsOf(std::string_view line) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const bool ends = i == line.size() || line[i] == ' ' || line[i] == '\t';
    if (ends && !word.empty()) words.push_back(std::exchange(word, {}));
    if (ends) continue;
    if (line[i] != '\x1b') {
      word += line[i];
      continue;
    }
    while (i + 1 < line.size() && line[i] != 'm') ++i;
  }
  return words;
}

// "gpu0" of "GPU0", "nic1" of "NIC1" or "mlx5_1"; empty for another word.
std::string ElementName(const std::string& word) {
  const std::size_t digits = word.find_first_of("0123456789");
  if (digits == std::string::npos || word.size() > 40) return "";
  if (word.starts_with("GPU") && digits == 3) return "gpu" + NamePart(word.substr(3));
  if (word.starts_with("NIC") && digits == 3) return "nic" + NamePart(word.substr(3));
  return word.find('_') != std::string::npos ? NamePart(word) : "";
}

std::optional<SmiMatrix::Cell> CellOf(std::string_view word) {
  constexpr std::pair<const char*, Nearness> kWords[] = {
      {"X", Nearness::kSelf},    {"PIX", Nearness::kPix}, {"PXB", Nearness::kPxb}, {"PHB", Nearness::kPhb},
      {"NODE", Nearness::kNode}, {"SYS", Nearness::kSys}, {"SOC", Nearness::kSys}};
  for (const auto& [text, near] : kWords) {
    if (word == text) return SmiMatrix::Cell{near, 0};
  }
  if (!word.starts_with("NV")) return std::nullopt;
  int links = 0;
  const auto parsed = std::from_chars(word.data() + 2, word.data() + word.size(), links);
  if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size() || links < 1 ||
      links > kMostNvlinks) {
    return std::nullopt;
  }
  return SmiMatrix::Cell{Nearness::kNvlink, links};
}

struct Reading {
  const FabricFile& file;
  proto::Diagnostics* diagnostics;
  std::vector<std::string> columns;  // names
  std::size_t numa_word = 0;         // of a row, where the header has the column
  SmiMatrix matrix;
};

// Takes a line for the header if it begins with names of elements.
bool ReadHeader(const std::vector<std::string>& words, Reading* reading) {
  for (const std::string& word : words) {
    const std::string name = ElementName(word);
    if (name.empty()) break;
    reading->columns.push_back(name);
  }
  // "CPU Affinity  NUMA Affinity  GPU NUMA ID": two words, but one of a row each.
  for (std::size_t i = reading->columns.size(); i + 1 < words.size(); ++i) {
    if (words[i] == "NUMA" && words[i + 1] == "Affinity") reading->numa_word = reading->columns.size() + 2;
  }
  return !reading->columns.empty();
}

void ReadRow(const std::vector<std::string>& words, std::size_t line, Reading* reading) {
  SmiMatrix& matrix = reading->matrix;
  const std::size_t row = matrix.elements.size(), columns = reading->columns.size();
  const std::string place = PlaceOf(reading->file, line), name = ElementName(words[0]);
  const auto fail = [&](const std::string& what) { reading->diagnostics->Error(place, what); };
  if (row >= columns || name != reading->columns[row]) {
    fail("row " + Quoted(words[0]) + " is not " +
         (row < columns ? "\"" + reading->columns[row] + "\", the next of the header" : "in the header"));
    if (row < columns) {  // taken for that row, so that those that follow are not wrong too
      matrix.elements.push_back({reading->columns[row], false, line, ""});
      matrix.cells.emplace_back(columns);
    }
    return;
  }
  matrix.elements.push_back({name, name.starts_with("gpu"), line, ""});
  auto& cells = matrix.cells.emplace_back(columns);
  if (words.size() < 1 + columns) {
    fail("has " + std::to_string(words.size() - 1) + " cells; " + std::to_string(columns) + " are wanted");
    return;
  }
  for (std::size_t c = 0; c < columns; ++c) {
    const auto cell = CellOf(words[1 + c]);
    if (!cell) {
      fail("column " + std::to_string(c + 1) + ": " + Quoted(words[1 + c]) +
           " is none of X, NV1 and up, PIX, PXB, PHB, NODE and SYS");
    } else if ((cell->near == Nearness::kSelf) != (c == row)) {
      fail("column " + std::to_string(c + 1) + ": X is for an element and itself");
    } else {
      cells[c] = *cell;
    }
  }
  if (matrix.elements.back().is_gpu && reading->numa_word > 0 && words.size() > reading->numa_word) {
    matrix.elements.back().numa = words[reading->numa_word];
  }
}

void CheckSymmetry(const Reading& reading) {
  const SmiMatrix& matrix = reading.matrix;
  for (std::size_t a = 0; a < matrix.elements.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const SmiMatrix::Cell &there = matrix.cells[a][b], &back = matrix.cells[b][a];
      if (there.near == back.near && there.nvlinks == back.nvlinks) continue;
      reading.diagnostics->Error(PlaceOf(reading.file, matrix.elements[a].line),
                                 "column " + std::to_string(b + 1) + " says otherwise than line " +
                                     std::to_string(matrix.elements[b].line) + " of the same two");
    }
  }
}

}  // namespace

std::optional<SmiMatrix> ReadSmiMatrix(const FabricFile& file, proto::Diagnostics* diagnostics) {
  Reading reading{file, diagnostics, {}, 0, {}};
  const std::vector<std::string_view> lines = LinesOf(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> words = WordsOf(lines[i]);
    if (words.empty()) {
      if (!reading.matrix.elements.empty()) break;  // the legend follows
      continue;
    }
    if (reading.columns.empty()) {
      if (!ReadHeader(words, &reading)) continue;
      std::vector<std::string> sorted = reading.columns;
      std::sort(sorted.begin(), sorted.end());
      if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
        diagnostics->Error(PlaceOf(file, i + 1), Quoted(*twice) + " is in the header twice");
        return std::nullopt;
      }
      if (reading.columns.size() > kMost) {
        diagnostics->Error(PlaceOf(file, i + 1), "more than " + std::to_string(kMost) + " elements");
        return std::nullopt;
      }
      continue;
    }
    ReadRow(words, i + 1, &reading);
  }
  if (reading.columns.empty()) {
    diagnostics->Error(file.file,
                       "has no header \"GPU0 GPU1 ...\"; the output of nvidia-smi topo -m is wanted");
  } else if (diagnostics->ok() && reading.matrix.elements.size() < reading.columns.size()) {
    diagnostics->Error(file.file, "row " + Quoted(reading.columns[reading.matrix.elements.size()]) +
                                      " of the header is missing");
  }
  if (diagnostics->ok()) CheckSymmetry(reading);
  if (!diagnostics->ok()) return std::nullopt;
  return std::move(reading.matrix);
}

}  // namespace topologies
