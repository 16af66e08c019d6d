// Two chapters of a textbook, figure by figure.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/textbook/document.h"
#include "tests/textbook/symbols.h"

namespace textbook {
namespace {

// Entries of the index that nothing holds yet. It may only fall.
constexpr int kMostOpen = 5;

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// "Suite, Name" of every test that there is.
std::set<std::string> TestNames() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ORRERY_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cc") continue;
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line);) {
      const std::size_t open = line.find('(');
      if (!line.starts_with("TEST") || open == std::string::npos) continue;
      names.insert(line.substr(open + 1, line.find(')') - open - 1));
    }
  }
  return names;
}

TEST(Textbook, EveryFigureIsWhatTheFormulasGiveOrItIsSaidWhyNot) {
  for (const Figure& f : AllFigures()) {
    SCOPED_TRACE(std::string(f.id) + ": " + f.what);
    if (*f.why == '\0') {
      EXPECT_STREQ(f.right, "");
      EXPECT_TRUE(Agrees(f.computed, f.printed)) << f.computed << " is not " << f.printed;
      continue;
    }
    EXPECT_TRUE(Agrees(f.computed, f.right)) << f.computed << " is not " << f.right;
    EXPECT_FALSE(Agrees(f.computed, f.printed)) << f.printed << " needs no correction";
  }
}

TEST(Textbook, TheIndexHasEveryIdOnceAndNoOther) {
  std::multiset<std::string> wanted, found;
  for (const std::string& id : AllIds()) wanted.insert(id);
  for (const Entry& entry : ReadIndex()) found.insert(entry.id);
  EXPECT_EQ(found, wanted);
}

TEST(Textbook, EveryEntryIsHeldBySomethingThatExists) {
  const std::vector<Entry> index = ReadIndex();
  const std::set<std::string> tests = TestNames();
  std::set<std::string> with_figures;
  for (const Figure& figure : AllFigures()) with_figures.insert(figure.id);
  std::map<std::string, std::string> states;
  for (const Entry& entry : index) states[entry.id] = entry.state;
  const auto is_section = [](const Entry& e) {
    return e.id.find_first_not_of("0123456789.") == std::string::npos;
  };

  for (std::size_t i = 0; i < index.size(); ++i) {
    const Entry& entry = index[i];
    SCOPED_TRACE(entry.id);
    EXPECT_EQ(with_figures.count(entry.id) == 1, entry.state == "figures");
    if (entry.state == "test") {
      EXPECT_EQ(tests.count(entry.what), 1u) << "there is no test " << entry.what;
    } else if (entry.state == "as") {
      ASSERT_EQ(states.count(entry.what), 1u) << entry.what;
      EXPECT_TRUE(states[entry.what] == "figures" || states[entry.what] == "test") << states[entry.what];
    } else if (entry.state == "parts") {
      // A part's sections follow it, a section's contents too.
      EXPECT_TRUE(is_section(entry));
      ASSERT_LT(i + 1, index.size());
      EXPECT_TRUE(index[i + 1].id.starts_with(entry.id + ".") || !is_section(index[i + 1]));
    } else if (entry.state == "out") {
      EXPECT_GT(entry.what.size(), 10u) << "why?";
    } else {
      EXPECT_TRUE(entry.state == "figures" || entry.state == "open") << entry.state;
      EXPECT_EQ(entry.what, "");
    }
  }
  for (const std::string& id : with_figures) EXPECT_EQ(states.count(id), 1u) << id << " is not in the index";
}

TEST(Textbook, OpenEntriesMayOnlyFall) {
  int open = 0;
  for (const Entry& entry : ReadIndex()) open += entry.state == "open" ? 1 : 0;
  EXPECT_EQ(open, kMostOpen) << "more: hold them; fewer: lower kMostOpen";
}

TEST(Textbook, ItsPageIsWhatTheFiguresMakeOfIt) {
  const std::string page = Document(AllFigures(), ReadIndex());
  if (ReadText(ORRERY_SOURCE_DIR "/docs/textbook.md") == page) return;
  const std::string path = (std::filesystem::path(testing::TempDir()) / "textbook.md").string();
  std::filesystem::create_directories(testing::TempDir());
  std::ofstream(path) << page;
  ADD_FAILURE() << "docs/textbook.md is not up to date; the new one is " << path;
}

// A flag of `orrery budget` stands in its table of flags; the last part of a path is a field of a schema.
TEST(Textbook, SymbolsAreFieldsAndFlagsThatThereAre) {
  std::string schemas;
  for (const char* file : {"model", "scenario", "hardware"}) {
    schemas += ReadText(std::string(ORRERY_SOURCE_DIR "/proto/") + file + ".proto");
  }
  const std::string flags =
      ReadText(ORRERY_SOURCE_DIR "/tools/budget.cc") + ReadText(ORRERY_SOURCE_DIR "/tools/budget_flags.cc");
  for (const Symbol& s : kSymbols) {
    const std::string field = s.field;
    if (field.starts_with("--")) {
      const std::string name = field.substr(field.starts_with("--with ") ? 7 : 2);
      EXPECT_NE(flags.find('"' + name + "\", "), std::string::npos) << field;
      continue;
    }
    for (std::size_t at = 0; at < field.size();) {
      const std::size_t end = std::min(field.find('.', at), field.size());
      EXPECT_NE(schemas.find(' ' + field.substr(at, end - at) + " = "), std::string::npos) << field;
      at = end + 1;
    }
  }
}

TEST(PrintedNumbers, ClaimTheirLastDigit) {
  EXPECT_EQ(Parse("6,738,411,520").value, 6738411520.0);
  EXPECT_EQ(Parse("6,738,411,520").last_digit, 1);
  EXPECT_DOUBLE_EQ(Parse("0.14").last_digit, 0.01);
  EXPECT_DOUBLE_EQ(Parse("3.35e-3").last_digit, 1e-5);
  EXPECT_TRUE(Agrees(163.3, "163"));
  EXPECT_TRUE(Agrees(163.9, "163"));  // cut off
  EXPECT_FALSE(Agrees(164.1, "163"));
  EXPECT_FALSE(Agrees(6738415616, "6,738,411,520"));
  EXPECT_FALSE(Agrees(8, "7"));
}

}  // namespace
}  // namespace textbook
