// How SVG spells names and places.

#ifndef SCENARIOS_OUTPUT_SVG_TEXT_H_
#define SCENARIOS_OUTPUT_SVG_TEXT_H_

#include <cstdint>
#include <string>

namespace scenarios {

// Without what XML forbids, and '?' for what is not ASCII.
std::string EscapedXml(const std::string& text);

// Hundredths of a pixel as a number: "12.05".
std::string Pixels(std::int64_t hundredths);

}  // namespace scenarios

#endif  // SCENARIOS_OUTPUT_SVG_TEXT_H_
