// Words, cells and lines of what calibrations write. Internal to this folder.

#ifndef SCENARIOS_CALIBRATION_TEXT_PARTS_H_
#define SCENARIOS_CALIBRATION_TEXT_PARTS_H_

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace scenarios {

// Six digits at most, no zeros behind: "0.91", "478.2".
std::string FigureText(double value);
// In so many columns, to the left where the width is below zero.
std::string Padded(const std::string& text, int width);
// "12.3", "+0.4", "1234", ">9999": five characters at most.
std::string PerCent(double part, bool with_sign);
// Of a textproto: a field two spaces in, and a text in quotes.
std::string Line(const std::string& key, const std::string& value);
std::string QuotedText(const std::string& text);

// "a whole number from 1 to 64 is wanted", "a number from 0.001 to 1e+09 is wanted".
template <typename T>
std::string RangeIsWanted(T least, T most) {
  const auto text = [](T bound) {
    return std::is_integral_v<T> ? std::to_string(bound) : FigureText(static_cast<double>(bound));
  };
  return std::string(std::is_integral_v<T> ? "a whole number" : "a number") + " from " + text(least) +
         " to " + text(most) + " is wanted";
}
// "1 row", "2 rows".
std::string Counted(std::size_t count, const std::string& what);
// "a; b; c; and 4 more": what one line of an error can hold.
std::string FirstOf(const std::vector<std::string>& causes);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_TEXT_PARTS_H_
