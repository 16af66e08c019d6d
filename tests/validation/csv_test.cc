#include "scenarios/published/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// RFC 4180, section 2: rules 5 to 7.
TEST(Csv, QuotedCellsHoldCommasQuotesAndLineEnds) {
  proto::Diagnostics diagnostics;
  const auto table = ReadCsv("t.csv", "a,b\r\n\"1,2\",\"say \"\"x\"\"\nand y\"\n\n,last", &diagnostics);
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->columns, ElementsAre("a", "b"));
  ASSERT_EQ(table->rows.size(), 2u);
  EXPECT_THAT(table->rows[0].cells, ElementsAre("1,2", "say \"x\"\nand y"));
  EXPECT_THAT(table->rows[1].cells, ElementsAre("", "last"));
  EXPECT_EQ(table->rows[0].line, 2);
  EXPECT_EQ(table->rows[1].line, 5);  // after a cell of two lines and an empty one
  EXPECT_EQ(table->Find("b"), 1u);
  EXPECT_EQ(table->Find("c"), std::nullopt);
}

TEST(Csv, RowsOfAnotherLengthAreToldOnceAndTheRestIsReadAllTheSame) {
  proto::Diagnostics diagnostics;
  const auto table = ReadCsv("t.csv", "a,b\n1\n1,2\n1,2,3\n", &diagnostics);
  EXPECT_THAT(diagnostics.errors(),
              ElementsAre("t.csv:2: 1 cells; as many as columns, 2, are wanted (and 1 more line)"));
  ASSERT_TRUE(table.has_value());
  EXPECT_FALSE(table->whole);
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_THAT(table->rows[0].cells, ElementsAre("1", "2"));
}

TEST(Csv, AnOpenQuoteAndAnEmptyFileAreMistakes) {
  for (const auto& [text, wanted] :
       {std::pair("a,b\n1,\"2\n", "quote is not closed"), {"", "names the columns"}}) {
    proto::Diagnostics diagnostics;
    EXPECT_FALSE(ReadCsv("t.csv", text, &diagnostics).has_value());
    EXPECT_THAT(diagnostics.errors(), ElementsAre(HasSubstr(wanted)));
  }
}

TEST(Csv, ATableWithoutRowsIsATable) {
  proto::Diagnostics diagnostics;
  const auto table = ReadCsv("t.csv", "a\n", &diagnostics);
  ASSERT_TRUE(table.has_value());
  EXPECT_THAT(table->rows, IsEmpty());
}

}  // namespace
}  // namespace scenarios
