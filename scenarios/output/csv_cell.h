// A cell of a table in comma-separated values.

#ifndef SCENARIOS_OUTPUT_CSV_CELL_H_
#define SCENARIOS_OUTPUT_CSV_CELL_H_

#include <string>

namespace scenarios {

// As RFC 4180 has it: in quotes, and those doubled, where it has a comma, a quote or the end of a line.
inline std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_CSV_CELL_H_
