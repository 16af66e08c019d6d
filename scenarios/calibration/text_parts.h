// Words, cells and lines of what calibrations write. Internal to this folder.

#ifndef SCENARIOS_CALIBRATION_TEXT_PARTS_H_
#define SCENARIOS_CALIBRATION_TEXT_PARTS_H_

#include <string>

namespace scenarios {

// Six digits at most, no zeros behind: "0.91", "478.2".
std::string FigureText(double value);
// In so many columns, to the left where the width is below zero.
std::string Padded(const std::string& text, int width);
// "12.3", "+0.4".
std::string PerCent(double part, bool with_sign);
// Of a textproto: a field two spaces in, and a text in quotes.
std::string Line(const std::string& key, const std::string& value);
std::string QuotedText(const std::string& text);

}  // namespace scenarios

#endif  // SCENARIOS_CALIBRATION_TEXT_PARTS_H_
