#include "tests/textbook/index.h"

#include <fstream>

namespace textbook {
namespace {

struct Section {
  const char* id;
  int examples = 0;         // numbered from 1
  bool unnumbered = false;  // one more without a number
};

// 17.1 to 17.9 and what is below them.
constexpr Section kSections[] = {{"17.1"},
                                 {"17.1.1", 2},
                                 {"17.1.2", 3},
                                 {"17.1.3"},
                                 {"17.1.4", 3},
                                 {"17.1.5", 2},
                                 {"17.1.6", 2},
                                 {"17.2"},
                                 {"17.2.1", 3},
                                 {"17.2.2", 3},
                                 {"17.2.3", 3},
                                 {"17.2.4", 2},
                                 {"17.2.5", 2},
                                 {"17.3"},
                                 {"17.3.1", 2, true},
                                 {"17.3.2", 2},
                                 {"17.3.3", 3},
                                 {"17.3.4", 0, true},
                                 {"17.3.5", 0, true},
                                 {"17.3.6", 0, true},
                                 {"17.3.7", 3},
                                 {"17.3.8", 3},
                                 {"17.3.9", 2},
                                 {"17.4"},
                                 {"17.4.1"},
                                 {"17.4.2", 2},
                                 {"17.4.3", 3},
                                 {"17.4.4", 2},
                                 {"17.4.5", 3},
                                 {"17.4.6", 2},
                                 {"17.4.7", 2},
                                 {"17.4.8"},
                                 {"17.4.9", 3},
                                 {"17.4.10", 2},
                                 {"17.4.11", 2},
                                 {"17.4.12"},
                                 {"17.5"},
                                 {"17.5.1", 3},
                                 {"17.5.2", 3, true},
                                 {"17.5.3", 3},
                                 {"17.5.4", 2, true},
                                 {"17.5.5", 2},
                                 {"17.5.6", 2},
                                 {"17.5.7", 2},
                                 {"17.5.8", 2},
                                 {"17.5.9", 3, true},
                                 {"17.5.10", 1, true},
                                 {"17.6"},
                                 {"17.6.1"},
                                 {"17.6.2", 1},
                                 {"17.6.3", 3},
                                 {"17.6.4", 2},
                                 {"17.6.5", 1},
                                 {"17.6.6", 1},
                                 {"17.6.7", 1},
                                 {"17.6.8", 2},
                                 {"17.6.9", 2},
                                 {"17.6.10", 1},
                                 {"17.7"},
                                 {"17.7.1", 3},
                                 {"17.7.2", 3},
                                 {"17.7.3", 5},
                                 {"17.7.4", 3},
                                 {"17.7.5", 3},
                                 {"17.7.6", 0, true},
                                 {"17.7.7", 2},
                                 {"17.8"},
                                 {"17.8.1", 2},
                                 {"17.8.2", 5},
                                 {"17.8.3", 4},
                                 {"17.8.4", 2},
                                 {"17.8.5", 2},
                                 {"17.8.6", 2},
                                 {"17.8.7", 3},
                                 {"17.8.8", 2},
                                 {"17.8.9", 2},
                                 {"17.8.10", 2},
                                 {"17.8.11", 2},
                                 {"17.9"},
                                 {"17.9.1"},
                                 {"17.9.2"},
                                 {"17.9.3"},
                                 {"17.9.4", 0, true},
                                 {"17.9.5"},
                                 {"17.9.6"}};

void Number(const std::string& prefix, int last, std::vector<std::string>* ids) {
  for (int i = 1; i <= last; ++i) ids->push_back(prefix + std::to_string(i));
}

}  // namespace

std::vector<Entry> ReadIndex() {
  std::ifstream file(ORRERY_SOURCE_DIR "/tests/textbook/index.csv");
  std::vector<Entry> entries;
  std::string line;
  std::getline(file, line);  // the names of the columns
  while (std::getline(file, line)) {
    const std::size_t first = line.find(','), second = line.find(',', first + 1);
    entries.push_back(
        {line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)});
  }
  return entries;
}

std::vector<std::string> AllIds() {
  std::vector<std::string> ids;
  Number("27.", 8, &ids);
  Number("27 T", 2, &ids);
  Number("27 A", 1, &ids);
  Number("27 F", 1, &ids);
  Number("27 Ex15.", 3, &ids);
  Number("27 Eq", 21, &ids);
  Number("27 exercise ", 9, &ids);
  for (const Section& section : kSections) {
    const std::string id = section.id;
    ids.push_back(id);
    if (section.unnumbered) ids.push_back(id + " Ex");
    Number(id + " Ex", section.examples, &ids);
  }
  Number("T17-", 138, &ids);
  Number("F17-", 57, &ids);
  Number("rule ", 16, &ids);
  return ids;
}

}  // namespace textbook
