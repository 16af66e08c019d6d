// orrery import of training jobs, as a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;

constexpr const char* kFlags =
    "--num-layers 24 --hidden-size 768 --num-attention-heads 12 --seq-length 1024 "
    "--max-position-embeddings 1024 --micro-batch-size 1 --global-batch-size 64 --bf16 --tp-comm-overlap\n";

class ImportJob : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "import_job_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ + "/args.txt") << kFlags;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result Import(const std::vector<std::string>& more) {
    std::vector<std::string> words = {"import",      "megatron", folder_ + "/args.txt",
                                      "--hardware",  "h100_sxm", "--topology",
                                      "single_node", "--output", folder_ + "/job.textproto"};
    words.insert(words.end(), more.begin(), more.end());
    return RunWords(words);
  }
  std::size_t files() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++n;
    return n;
  }
  std::string folder_;
};

// 24 layers of 768 channels on GPT-2's vocabulary, 1,024 positions, by hand:
// 50,257 x 768 + 1,024 x 768 + 24 x (12 x 768^2 + 13 x 768) + 2 x 768.
TEST_F(ImportJob, WritesAScenarioAndItsModelThatCheckAccepts) {
  const Result result = Import({"--devices", "8", "--set", "vocab-size=50257"});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("209,494,272 parameters on 8 devices\n"));
  EXPECT_THAT(result.err, HasSubstr("import: its model is " + folder_ + "/job_model.textproto\n"));
  EXPECT_THAT(result.err, HasSubstr("import: not mapped: ! --tp-comm-overlap"));
  const Result check = RunWords({"check", folder_ + "/job.textproto"});
  EXPECT_EQ(check.status, kExitDone) << check.err;
  EXPECT_THAT(check.out, HasSubstr("legal: job_model on"));
}

TEST_F(ImportJob, WritesNothingWhenThereIsAMistake) {
  const Result result = Import({"--devices", "7"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("--vocab-size: missing"));
  EXPECT_THAT(result.err, HasSubstr("batch.global: 64 % (1*7) = 1"));
  EXPECT_EQ(files(), 1u);
}

TEST_F(ImportJob, NeverWritesOverAFile) {
  std::ofstream(folder_ + "/job_model.textproto") << "mine";
  const Result result = Import({"--devices", "8", "--set", "vocab-size=50257"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("job_model.textproto is there already; it is not written over"));
  EXPECT_EQ(files(), 2u);
}

TEST_F(ImportJob, SaysWhatItWants) {
  const std::string file = folder_ + "/args.txt";
  EXPECT_THAT(RunWords({"import", "megatron"}).err, HasSubstr("no file is given"));
  EXPECT_THAT(RunWords({"import", "megatron", file}).err, HasSubstr("--output NAME.textproto is wanted"));
  EXPECT_THAT(RunWords({"import", "megatron", file, "--output", "x.textproto", "--name", "a b"}).err,
              HasSubstr("\"a b\" is no name"));
  EXPECT_THAT(Import({"--devices", "x"}).err, HasSubstr("--devices \"x\": a whole number of 1 and more"));
  EXPECT_THAT(Import({"--set", "x"}).err, HasSubstr("is not PATH=VALUE"));
  EXPECT_THAT(RunWords({"import", "hf", file, "--devices", "8"}).err,
              HasSubstr("--devices is for training jobs"));
  EXPECT_THAT(RunWords({"import", "megatron", folder_ + "/none", "--output", folder_ + "/x.textproto"}).err,
              HasSubstr("there is no such file"));
  EXPECT_THAT(RunWords({"import", "--help"}).out, HasSubstr("orrery import torchtitan JOB.toml|JOB.json"));
}

}  // namespace
}  // namespace tools
