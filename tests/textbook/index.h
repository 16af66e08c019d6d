// index.csv: every numbered thing of the two chapters, and what became of it.
//
//   27.3, 17.4.8            sections
//   27 Eq7, 27 Ex15.2, ...  of chapter 27: equations, examples, exercises, tables (T), figure (F), algorithm
//   (A) 17.2.1 Ex2              a worked example of its section; "17.3.1 Ex" one without a number T17-46,
//   F17-18          tables and pictures of chapter 17 rule 8                  of the sixteen in 17.9.5
//
// Its states:
//
//   figures   printed figures of it are computed: rows of figures.h
//   test      another test holds it; `what` is its name
//   parts     a section whose contents stand below it
//   as        `what` is the id that shows the same
//   out       out of scope; `what` says why
//   open      nothing yet

#ifndef TESTS_TEXTBOOK_INDEX_H_
#define TESTS_TEXTBOOK_INDEX_H_

#include <string>
#include <vector>

namespace textbook {

struct Entry {
  std::string id, state, what;
};

// In the order of the chapters. Reads the file beside this one.
std::vector<Entry> ReadIndex();

// All ids that there must be, from how many of each kind a section has.
std::vector<std::string> AllIds();

}  // namespace textbook

#endif  // TESTS_TEXTBOOK_INDEX_H_
