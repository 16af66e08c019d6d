#include "scenarios/sweep/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/base/random.h"
#include "tests/scenarios/sweep/sweeping.h"

namespace scenarios {
namespace {

using testing::HasSubstr;

const SweepIdentity kIdentity = {{"the program", "one"}, {"--set", "a=\"b\" "}};

std::string PathOf(const std::string& name) {
  const std::string path = testing::TempDir() + "/" + name + ".journal";
  std::filesystem::remove(path);
  return path;
}

std::string TextOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void Write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

PointResult ResultOf(std::size_t point) {
  PointResult result{.point = point};
  result.row.reason = "reason, \"" + std::to_string(point) + "\"\n";
  return result;
}

std::string ErrorOf(const std::string& path, const SweepIdentity& identity) {
  Rows rows(9);
  const auto journal = Journal::Open(path, identity, &rows);
  return journal.ok() ? "" : journal.error().message;
}

// A journal with rows of the points 0 to n - 1.
void WriteRows(const std::string& path, std::size_t n) {
  Rows rows(9);
  Journal journal = std::move(Journal::Open(path, kIdentity, &rows)).value();
  for (std::size_t i = 0; i < n; ++i) ASSERT_FALSE(journal.Add(ResultOf(i)));
}

TEST(Journal, GivesBackTheRowsThatWereAdded) {
  const std::string path = PathOf("gives_back");
  WriteRows(path, 3);
  Rows rows(9);
  const auto journal = Journal::Open(path, kIdentity, &rows);
  ASSERT_TRUE(journal.ok()) << journal.error().message;
  EXPECT_EQ(rows[1]->reason, "reason, \"1\"\n");
  EXPECT_TRUE(rows[2]);
  EXPECT_FALSE(rows[3]);
  EXPECT_EQ(journal.value().torn_bytes(), 0u);
}

TEST(Journal, CutsOffWhatIsTorn) {
  const std::string path = PathOf("torn");
  WriteRows(path, 3);
  const std::string whole = TextOf(path);
  std::vector<std::size_t> ends;  // of records
  for (std::size_t at = 0; at < whole.size(); ++at) {
    if (whole[at] == '\n') ends.push_back(at + 1);
  }
  ASSERT_EQ(ends.size(), 4u);
  for (std::size_t size = 0; size <= whole.size(); size += size > 150 && size + 9 < whole.size() ? 7 : 1) {
    Write(path, whole.substr(0, size));
    Rows rows(9);
    {
      auto opened = Journal::Open(path, kIdentity, &rows);
      ASSERT_TRUE(opened.ok()) << size << opened.error().message;
      Journal journal = std::move(opened).value();
      for (std::size_t row = 0; row < 3; ++row) {
        EXPECT_EQ(rows[row].has_value(), size >= ends[row + 1]) << size;
        if (!rows[row]) {
          ASSERT_FALSE(journal.Add(ResultOf(row)));
        }
      }
    }
    EXPECT_EQ(TextOf(path), whole) << size;
  }
}

TEST(Journal, TakesNothingBehindAByteThatIsWrong) {
  const std::string path = PathOf("wrong");
  WriteRows(path, 3);
  const std::string whole = TextOf(path);
  const std::size_t first = whole.find('\n') + 1;
  sim::Random random(7, "bytes");
  for (int i = 0; i < 60; ++i) {
    std::string text = whole;
    const auto at = static_cast<std::size_t>(
        random.Between(static_cast<std::int64_t>(first), static_cast<std::int64_t>(whole.size()) - 1));
    text[at] = static_cast<char>(text[at] ^ (1 << random.Below(8)));
    Write(path, text);
    Rows rows(9);
    ASSERT_TRUE(Journal::Open(path, kIdentity, &rows).ok());
    for (std::size_t row = 0; row < 3; ++row) {
      const auto place = std::min(whole.find("\"row\":" + std::to_string(row)), whole.size());
      const std::size_t end = whole.find('\n', place);
      EXPECT_EQ(rows[row].has_value(), at > end) << at;
      if (rows[row]) {
        EXPECT_EQ(rows[row]->reason, ResultOf(row).row.reason);
      }
    }
  }
}

TEST(Journal, OfAnotherSweepIsRefusedWithWhatDiffersAndWhatWouldDo) {
  const std::string path = PathOf("foreign");
  WriteRows(path, 2);
  const std::string before = TextOf(path);
  SweepIdentity other = kIdentity;
  other[0].second = "two";
  EXPECT_THAT(ErrorOf(path, other), HasSubstr("is of another sweep: the program is another one"));
  EXPECT_THAT(ErrorOf(path, other), HasSubstr("remove " + path + " to start anew"));
  other = kIdentity;
  other[1].second = "";
  EXPECT_THAT(ErrorOf(path, other), HasSubstr("--set is another one"));
  other = kIdentity;
  other.emplace_back("--best", "cost");
  EXPECT_THAT(ErrorOf(path, other), HasSubstr("--best is another one"));
  EXPECT_EQ(TextOf(path), before);
  Write(path, "point,status\n1,ok\n");
  EXPECT_THAT(ErrorOf(path, kIdentity), HasSubstr("is no journal of this sweep"));
  EXPECT_EQ(TextOf(path), "point,status\n1,ok\n");
}

TEST(Journal, IsRefusedWhereAFileOfItsRowsHasChanged) {
  const std::string path = PathOf("changed"), model = testing::TempDir() + "/changed.textproto";
  Write(model, "first");
  {
    Rows rows(9);
    Journal journal = std::move(Journal::Open(path, kIdentity, &rows)).value();
    PointResult result = ResultOf(0);
    result.files = {{model, proto::DigestOf("first")}};
    ASSERT_FALSE(journal.Add(result));
    result.files = {{model, proto::DigestOf("second")}};
    const auto error = journal.Add(result);
    ASSERT_TRUE(error);
    EXPECT_THAT(error->message, HasSubstr(model + " has changed while the sweep ran"));
  }
  EXPECT_EQ(ErrorOf(path, kIdentity), "");
  Write(model, "second");
  EXPECT_THAT(ErrorOf(path, kIdentity), HasSubstr(model + " has changed since"));
  std::filesystem::remove(model);
  EXPECT_THAT(ErrorOf(path, kIdentity), HasSubstr(model + " has changed since"));
}

TEST(Journal, IsWrittenByOneRunAtATime) {
  const std::string path = PathOf("one_at_a_time");
  Rows rows(9);
  const auto journal = Journal::Open(path, kIdentity, &rows);
  ASSERT_TRUE(journal.ok());
  EXPECT_THAT(ErrorOf(path, kIdentity), HasSubstr("another run is writing this sweep"));
}

}  // namespace
}  // namespace scenarios
