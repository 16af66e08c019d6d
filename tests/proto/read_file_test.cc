#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "proto/text_reader.h"

namespace proto {
namespace {

using testing::ElementsAre;

class ReadFileTest : public testing::Test {
 protected:
  // A file of its own for each test, since tests and builds run side by side.
  ReadFileTest() : path_(testing::TempDir() + "/read_file_XXXXXX") {
    const int file = mkstemp(path_.data());
    EXPECT_GE(file, 0);
    close(file);
  }
  ~ReadFileTest() override { std::filesystem::remove(path_); }

  std::string Write(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  // The error line without the path, or "" when the file was read.
  std::string Refusal(const std::string& path) {
    Diagnostics diagnostics;
    std::string text;
    const bool ok = ReadFile(path, &text, &diagnostics);
    EXPECT_EQ(ok, diagnostics.ok());
    if (ok) return "";
    EXPECT_EQ(diagnostics.errors().size(), 1u);
    EXPECT_EQ(diagnostics.errors()[0].substr(0, path.size() + 2), path + ": ");
    return diagnostics.errors()[0].substr(path.size() + 2);
  }

 private:
  std::string path_;
};

TEST_F(ReadFileTest, ReadsTheWholeFile) {
  const std::string bytes(200'000, 'x');
  Diagnostics diagnostics;
  std::string text;
  EXPECT_TRUE(ReadFile(Write(bytes), &text, &diagnostics));
  EXPECT_EQ(text, bytes);
}

// HB-223: 0-byte file, UTF-16 file, directory instead of file, missing file.
TEST_F(ReadFileTest, SaysInOneLineWhatIsWrong) {
  EXPECT_EQ(Refusal("no/such/file.textproto"), "there is no such file");
  EXPECT_EQ(Refusal(testing::TempDir()), "this is a directory; a file is wanted");
  EXPECT_EQ(Refusal(Write("")), "the file is empty; a text is wanted");
  EXPECT_EQ(Refusal(Write(std::string("\xFF\xFE{\0", 4))), "the file is UTF-16; save it as UTF-8");
  EXPECT_EQ(Refusal(Write(std::string("\xFE\xFF\0{", 4))), "the file is UTF-16; save it as UTF-8");
  EXPECT_EQ(Refusal(Write(std::string("\x7F"
                                      "ELF\x02\0\0",
                                      7))),
            "the file is binary (byte 0 at offset 5); UTF-8 text is wanted");
  EXPECT_EQ(Refusal(Write("name: \"\xE9\"")), "the file is not UTF-8; save it as UTF-8");
  EXPECT_EQ(Refusal(Write("\xC0\xAF")), "the file is not UTF-8; save it as UTF-8");      // overlong "/"
  EXPECT_EQ(Refusal(Write("\xED\xA0\x80")), "the file is not UTF-8; save it as UTF-8");  // half a surrogate
  EXPECT_EQ(Refusal(Write("\xF4\x90\x80\x80")), "the file is not UTF-8; save it as UTF-8");  // above U+10FFFF
  EXPECT_EQ(Refusal(Write("name: \"é😀\"")), "");
}

TEST_F(ReadFileTest, RefusesMoreThan64Mib) {
  const std::string path = Write("x");
  std::filesystem::resize_file(path, (64u << 20) + 1);
  EXPECT_EQ(Refusal(path), "the file is larger than 64 MiB, the most that is read");
}

}  // namespace
}  // namespace proto
