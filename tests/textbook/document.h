// docs/textbook.md, made from the figures and the index.

#ifndef TESTS_TEXTBOOK_DOCUMENT_H_
#define TESTS_TEXTBOOK_DOCUMENT_H_

#include <string>
#include <vector>

#include "tests/textbook/figures.h"
#include "tests/textbook/index.h"

namespace textbook {

std::vector<Figure> AllFigures();

// A printed number, and what one more in its last digit is: "6,738,411,520", "0.14", "1e5".
struct Printed {
  double value = 0, last_digit = 0;
};
Printed Parse(const std::string& text);

// Whether a figure is what was printed, to its last digit.
bool Agrees(double computed, const std::string& printed);

std::string Document(const std::vector<Figure>& figures, const std::vector<Entry>& index);

}  // namespace textbook

#endif  // TESTS_TEXTBOOK_DOCUMENT_H_
