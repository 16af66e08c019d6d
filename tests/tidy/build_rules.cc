#include <set>

#include "tests/tidy/rules.h"

namespace tidy {
namespace {

constexpr const char* kBuildFile = "CMakeLists.txt";

std::string BuildFileOf(const std::string& folder) {
  return folder.empty() ? kBuildFile : folder + "/" + kBuildFile;
}

std::string NameOf(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// A CMakeLists.txt without its comments.
std::string Commands(const Source& source) {
  std::string text;
  for (const std::string& line : LinesOf(source.text)) text += line.substr(0, line.find('#')) + '\n';
  return text;
}

// Whether a file name stands in `text` as a word of its own: "ring.cc" is not in "boring.cc".
bool Lists(const std::string& text, const std::string& name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const std::string beside = " \n();\"";
    const bool opens = at == 0 || beside.find(text[at - 1]) != std::string::npos;
    const bool closes =
        at + name.size() == text.size() || beside.find(text[at + name.size()]) != std::string::npos;
    if (opens && closes) return true;
  }
  return false;
}

// What is wrong with the place of a file in the build; "" for nothing.
std::string NotBuilt(const Sources& sources, const std::string& path) {
  const std::string folder = FolderOf(path);
  if (NameOf(path) == kBuildFile) {
    if (folder.empty()) return "";
    const Source* above = Find(sources, BuildFileOf(FolderOf(folder)));
    const std::string call = "add_subdirectory(" + NameOf(folder) + ")";
    if (above != nullptr && Commands(*above).find(call) != std::string::npos) return "";
    return "the CMakeLists.txt above has no " + call;
  }
  const Source* build = Find(sources, BuildFileOf(folder));
  if (build == nullptr) return "there is no CMakeLists.txt beside it";
  return Lists(Commands(*build), NameOf(path)) ? "" : "not in the CMakeLists.txt beside it";
}

std::set<std::string> AllIncluded(const Sources& sources) {
  std::set<std::string> included;
  for (const Source& source : sources) {
    if (!IsCode(source.path)) continue;
    for (const std::string& line : LinesOf(source.text)) {
      if (line.starts_with("#include \"")) included.insert(line.substr(10, line.find('"', 10) - 10));
    }
  }
  return included;
}

}  // namespace

Complaints DeadFiles(const Sources& sources) {
  Complaints complaints;
  const std::set<std::string> included = AllIncluded(sources);
  for (const Source& source : sources) {
    const std::string& path = source.path;
    std::string wrong;
    if (EndsWith(path, ".cc") || EndsWith(path, ".proto") || NameOf(path) == kBuildFile) {
      wrong = NotBuilt(sources, path);
    } else if (IsHeader(path) && included.count(path) == 0) {
      wrong = "nothing includes this header";
    }
    if (!wrong.empty()) complaints.push_back(path + ":1: " + wrong);
  }
  return complaints;
}

Complaints EmptyTests(const Sources& sources) {
  Complaints complaints;
  for (const Source& source : sources) {
    if (!EndsWith(source.path, "_test.cc")) continue;
    const std::string code = CodeOnly(source.text);
    const auto has = [&](const char* part) { return code.find(part) != std::string::npos; };
    if (!has("TEST(") && !has("TEST_F(") && !has("TEST_P(") && !has("TYPED_TEST(") &&
        !has("RC_GTEST_PROP(")) {
      complaints.push_back(source.path + ":1: a test file without a test");
    } else if (!has("RC_ASSERT(") && !has("EXPECT_") && !has("ASSERT_")) {
      complaints.push_back(source.path + ":1: nothing is expected here");
    }
  }
  return complaints;
}

}  // namespace tidy
