#include "scenarios/output/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/scenarios/output/trace_reader.h"

namespace scenarios {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  OutputFileTest() {
    std::string name = testing::TempDir() + "/output_file_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }
  std::string In(const std::string& name) const { return folder_ + "/" + name; }
  std::size_t Files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  std::string folder_;
};

TEST_F(OutputFileTest, HasItsNameOnlyWhenItIsWhole) {
  OutputFile file = OutputFile::Create(In("a.json")).value();
  file.Write("hello ");
  EXPECT_FALSE(fs::exists(In("a.json")));
  file.Write("world");
  EXPECT_EQ(file.Finish().value(), 11);
  EXPECT_EQ(ReadMaybeGz(In("a.json")), "hello world");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, LeavesTheOldFileAndNothingElseWhenItIsNotFinished) {
  std::ofstream(In("a.json")) << "old";
  {
    OutputFile file = OutputFile::Create(In("a.json")).value();
    file.Write("new");
  }
  EXPECT_EQ(ReadMaybeGz(In("a.json")), "old");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, IsCompressedByItsName) {
  const std::string text(100'000, 'x');
  OutputFile file = OutputFile::Create(In("a.json.gz")).value();
  file.Write(text);
  EXPECT_EQ(file.Finish().value(), 100'000);
  EXPECT_LT(fs::file_size(In("a.json.gz")), 2000u);
  EXPECT_EQ(ReadMaybeGz(In("a.json.gz")), text);
}

TEST_F(OutputFileTest, TwoAtOnceDoNotMix) {
  OutputFile a = OutputFile::Create(In("a.json")).value();
  OutputFile b = OutputFile::Create(In("a.json")).value();
  a.Write("first");
  b.Write("second");
  EXPECT_TRUE(a.Finish().ok());
  EXPECT_TRUE(b.Finish().ok());
  EXPECT_EQ(ReadMaybeGz(In("a.json")), "second");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, SaysWhyItCannotBeWritten) {
  const auto missing = OutputFile::Create(In("none/a.json"));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "cannot write " + In("none/a.json") + ": No such file or directory");
  const auto folder = OutputFile::Create(folder_);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message, "cannot write " + folder_ + ": Is a directory");
}

TEST_F(OutputFileTest, KeepsALinkAndWritesWhatItPointsTo) {
  std::ofstream(In("real.json")) << "old";
  fs::create_symlink(In("real.json"), In("link.json"));
  OutputFile file = OutputFile::Create(In("link.json")).value();
  file.Write("new");
  EXPECT_TRUE(file.Finish().ok());
  EXPECT_TRUE(fs::is_symlink(In("link.json")));
  EXPECT_EQ(ReadMaybeGz(In("real.json")), "new");
  EXPECT_EQ(Files(), 2u);
}

// As `orrery ... > all.txt` with /dev/stdout for a file: behind what went there.
TEST_F(OutputFileTest, GoesOnWhereAnOpenDescriptorIs) {
  const int descriptor = open(In("all.txt").c_str(), O_WRONLY | O_CREAT, 0666);
  ASSERT_EQ(write(descriptor, "first ", 6), 6);
  OutputFile file = OutputFile::Create("/dev/fd/" + std::to_string(descriptor)).value();
  file.Write("second ");
  EXPECT_TRUE(file.Finish().ok());
  ASSERT_EQ(write(descriptor, "third", 5), 5);
  close(descriptor);
  EXPECT_EQ(ReadMaybeGz(In("all.txt")), "first second third");
}

// To open a pipe that nobody reads would wait for ever.
TEST_F(OutputFileTest, AsksAboutAPipeWithoutOpeningIt) {
  ASSERT_EQ(mkfifo(In("pipe").c_str(), 0666), 0);
  EXPECT_FALSE(OutputFile::WhyNot(In("pipe")).has_value());
  EXPECT_FALSE(OutputFile::WhyNot(In("a.json")).has_value());
  EXPECT_TRUE(OutputFile::WhyNot(In("none/a.json")).has_value());
  EXPECT_EQ(Files(), 1u);
}

TEST_F(OutputFileTest, KnowsAFileByItsOtherNames) {
  std::ofstream(In("a.json")) << "old";
  fs::create_symlink(In("a.json"), In("link.json"));
  EXPECT_TRUE(IsSameFile(In("a.json"), In("link.json")));
  EXPECT_TRUE(IsSameFile(In("a.json"), In("./x/../a.json")));
  EXPECT_TRUE(IsSameFile(In("new.json"), In("./new.json")));  // neither is there yet
  EXPECT_FALSE(IsSameFile(In("a.json"), In("b.json")));
}

// /dev/full takes nothing: a full disk.
TEST_F(OutputFileTest, AFullDiskIsAnErrorNotASilentLoss) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  OutputFile file = OutputFile::Create("/dev/full").value();
  for (int i = 0; i < 100; ++i) file.Write(std::string(10'000, 'x'));
  EXPECT_TRUE(file.failed());
  const auto bytes = file.Finish();
  ASSERT_FALSE(bytes.ok());
  EXPECT_EQ(bytes.error().message, "cannot write /dev/full: No space left on device");

  OutputFile small = OutputFile::Create("/dev/full").value();
  small.Write("fits the buffer, but not the disk");
  EXPECT_FALSE(small.Finish().ok());
}

}  // namespace
}  // namespace scenarios
