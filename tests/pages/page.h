// Pages of docs/ that tests make from what they compute: a table of lines in front, a section behind each
// line. A page in the repository that is not what the tests give fails them.

#ifndef TESTS_PAGES_PAGE_H_
#define TESTS_PAGES_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace pages {

// docs/`name` as the repository has it.
std::string Kept(const std::string& name);
// What is before the first section, then each section with its heading.
std::vector<std::string> Parts(const std::string& page);
// Whether the kept page has these lines in front and this section once.
bool IsKept(const std::string& name, const std::string& lines, const std::string& section);
// Writes a page where tests may; returns where that is.
std::string WriteNew(const std::string& name, const std::string& page);

// Text of a page. Paragraphs are written in lines of any length.
std::string OneLine(std::string text);
std::string Wrapped(const std::string& text);
std::string TableLine(const std::vector<std::string>& cells);
// The line below a table's heads, too.
std::string TableHead(const std::vector<std::string>& heads);

// Figures.
std::string Number(double value, int decimals = 0);
std::string Count(std::int64_t value);               // 4096 -> "4,096"
std::string Percent(double part, int decimals = 1);  // 0.123 -> "12.3 %"
std::string Milliseconds(double seconds, int decimals = 1);

}  // namespace pages

#endif  // TESTS_PAGES_PAGE_H_
