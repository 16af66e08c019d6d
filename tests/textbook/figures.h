// The figures of two textbook chapters, 17 (AI infrastructure computation) and 27 (model size and
// resource budget), beside what the program computes from the same inputs.

#ifndef TESTS_TEXTBOOK_FIGURES_H_
#define TESTS_TEXTBOOK_FIGURES_H_

#include <string>
#include <vector>

#include "hardware/device.h"
#include "models/model.h"

namespace textbook {

struct Figure {
  const char* id;       // of index.csv: "17.2.1 Ex1", "T17-46"
  const char* what;     // with its unit
  const char* printed;  // its digits: the last one is what the print claims
  double computed;      // by the library, from the print's inputs
  // Where the print is wrong: what is right, derived by hand, and why.
  const char* right = "";
  const char* why = "";
};

std::vector<Figure> ParameterFigures();      // 17.1, 17.2, 27.2
std::vector<Figure> ComputeFigures();        // 17.3, 27.3
std::vector<Figure> MemoryFigures();         // 17.4, 27.4, 27.5
std::vector<Figure> TimeFigures();           // 17.5, 27.6, 27.7
std::vector<Figure> CommunicationFigures();  // 17.6
std::vector<Figure> StorageFigures();        // 17.7
std::vector<Figure> ServingFigures();        // 17.8
std::vector<Figure> CaseFigures();           // 17.9

// Of the catalogue.
models::Model ModelOf(const std::string& name);
hardware::Device DeviceOf(const std::string& name);

// As the chapter has them: an H800 and an H20 at their peaks, FLOP/s and bytes/s.
inline constexpr double kH800 = 989.5e12, kH20 = 148e12, kH800Memory = 3.35e12, kH20Memory = 4.0e12;

}  // namespace textbook

#endif  // TESTS_TEXTBOOK_FIGURES_H_
