// orrery calibrate, from the command line to the device's file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

// All-gathers of 8 in one node: 25 us and the bytes of a port at 300 GB/s.
class CalibrateCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(folder_);
    std::ofstream table(Path("rows.csv"));
    table << "source,gpu,ranks,nodes,nccl,collective,bytes,time_us\n";
    std::ofstream output(Path("out.txt"));
    output << "all_gather_perf\n# nThread 1 nGpus 8\n";
    for (int i = 0; i < 8; ++i) {
      output << "#  Rank " << i << " Group 0 Pid 5 on host device " << i << " [0x07] NVIDIA H100 80GB HBM3\n";
    }
    output << "#       size         count      type   redop    root     time\n";
    for (std::int64_t bytes = 4 << 20; bytes <= std::int64_t{1} << 32; bytes *= 2) {
      const double us = 25 + static_cast<double>(bytes) * 7 / 8 / 300e3;
      table << "lab,h100_sxm,8,1,2.27,"
            << "all_gather," << bytes << ',' << us << '\n';
      output << bytes << " 1 float none -1 " << us << '\n';
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + name; }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  Result Calibrate(std::vector<std::string> words) const {
    words.insert(words.begin(), {"calibrate", "collectives"});
    return RunWords(words);
  }

 private:
  // One a test: they run side by side.
  const std::string folder_ = testing::TempDir() + "calibrate_test_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name() + "/";
};

TEST_F(CalibrateCommand, TablesFiguresAndErrorsAndWritesADevice) {
  const Result result = Calibrate({Path("rows.csv"), "--hardware", "h100_sxm", "--output",
                                   Path("mine.textproto"), "--residuals", Path("rows_off.csv")});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Collectives of \"h100_sxm\": 11 rows\n"), HasSubstr("Ring Simple"),
                                HasSubstr("h100_sxm all_gather from 1M")));
  EXPECT_THAT(Text("mine.textproto"), HasSubstr("name: \"mine\"\nderived_from: \"h100_sxm\"\n"));
  EXPECT_THAT(Text("rows_off.csv"), HasSubstr("rows.csv:2,lab,h100_sxm,8,2.27,all_gather,4194304,"));
  // It is a device: 4 GiB take what was measured, up to a per cent.
  const Result used = RunWords({"collective", "all_gather", "--hardware", Path("mine.textproto"), "--devices",
                                "8", "-b", "4G", "-e", "4G", "--json"});
  EXPECT_EQ(used.status, kExitDone) << used.err;
}

TEST_F(CalibrateCommand, ReadsWhatNcclTestsPrints) {
  const Result table = Calibrate({Path("rows.csv"), "--hardware", "h100_sxm"});
  const Result output = Calibrate({Path("out.txt"), "--hardware", "h100_sxm", "--nccl", "2.27"});
  EXPECT_EQ(output.status, kExitDone) << output.err;
  // The same rows, so the same figures.
  const auto figures = [](const std::string& text) { return text.substr(0, text.find("device collective")); };
  EXPECT_EQ(figures(output.out), figures(table.out));
}

TEST_F(CalibrateCommand, TheSameRowsGiveTheSameFile) {
  for (const char* name : {"one.textproto", "two.textproto"}) {
    EXPECT_EQ(Calibrate({Path("rows.csv"), "--hardware", "h100_sxm", "--output", Path(name)}).status,
              kExitDone);
  }
  std::string one = Text("one.textproto");
  one.replace(one.find("\"one\""), 5, "\"two\"");
  EXPECT_EQ(one, Text("two.textproto"));
}

TEST_F(CalibrateCommand, WritesOverNothing) {
  std::ofstream(Path("there.textproto")) << "mine";
  const Result result =
      Calibrate({Path("rows.csv"), "--hardware", "h100_sxm", "--output", Path("there.textproto")});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("is there already; it is not written over"));
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_EQ(Text("there.textproto"), "mine");
}

TEST_F(CalibrateCommand, RefusesWithOneLine) {
  const auto error = [&](const std::vector<std::string>& words) {
    const Result result = Calibrate(words);
    EXPECT_EQ(result.status, kExitUsage);
    EXPECT_EQ(Lines(result.err).size(), 1u) << result.err;
    return result.err;
  };
  EXPECT_THAT(error({Path("rows.csv")}), HasSubstr("--hardware: NAME is wanted"));
  EXPECT_THAT(error({Path("rows.csv"), "--hardware", "a100_80_sxm"}),
              HasSubstr("0 rows of one node of \"a100_80_sxm\", too few to fit"));
  EXPECT_THAT(error({Path("rows.csv"), "--hardware", "h100_sxm", "--where", "source=nobody"}),
              HasSubstr("no row has what --where asks for"));
  EXPECT_THAT(error({Path("none.csv"), "--hardware", "h100_sxm"}), HasSubstr("none.csv"));
  EXPECT_THAT(error({Path("rows.csv"), "--hardware", "h100_sxm", "--output", "mine.json"}),
              HasSubstr("the name of a .textproto is wanted"));
}

// Products of an H100 by its own figures are told again; the file is a device.
TEST_F(CalibrateCommand, FitsMatrixProducts) {
  const std::string rows = std::string(ORRERY_SOURCE_DIR) + "/tests/kernels/gemm_measured.csv";
  const Result result =
      RunWords({"calibrate", "gemm", rows, "--hardware", "h100_sxm", "--where", "gpu=h100_sxm", "--format",
                "BF16", "--output", Path("mine.textproto"), "--residuals", Path("off.csv")});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("Matrix products of \"h100_sxm\""),
                                HasSubstr("BF16          all               588 ")));
  EXPECT_EQ(Lines(Text("off.csv")).size(), 589u);
  EXPECT_THAT(Text("mine.textproto"), HasSubstr("fitted_to { m: 32768  n: 16384  k: 16384 }"));
  const Result used = RunWords({"run", "llama3_8b_8xh100", "--set", "hardware=" + Path("mine.textproto")});
  EXPECT_EQ(used.status, kExitDone) << used.err;
}

// The time of a point is what `orrery kernel` then says of its shape, and a report counts.
TEST_F(CalibrateCommand, WritesMeasuredPointsThatKernelsTake) {
  std::ofstream(Path("points.csv")) << "gpu,format,m,n,k,us\nh100_sxm,BF16,4096,6144,4096,262.5\n"
                                       "H100,FP8,64,64,64,3.25\na100_80_sxm,BF16,1,1,1,5\n";
  const Result result = RunWords({"calibrate", "points", Path("points.csv"), "--hardware", "h100_sxm",
                                  "--output", Path("mine.textproto")});
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("BF16               1 products; the figures that the device has are"),
                    HasSubstr("FP8 ")));
  const Result kernel = RunWords(
      {"kernel", "gemm", "--hardware", Path("mine.textproto"), "--shape", "4096x6144x4096", "--csv"});
  EXPECT_THAT(kernel.out, HasSubstr("BF16,4096,6144,4096,1,262.5,")) << kernel.err;
  EXPECT_THAT(kernel.out, HasSubstr("measurement"));
  // LLaMA-3-8B's query, key and value product of half a sequence.
  const Result run = RunWords({"run", "llama3_8b_8xh100", "--set", "hardware=" + Path("mine.textproto")});
  EXPECT_EQ(run.status, kExitDone) << run.err;
  EXPECT_THAT(run.out, HasSubstr("in a step, by how well their times are known\n  measurement "));
}

TEST_F(CalibrateCommand, OfPointsTellsEveryMistake) {
  std::ofstream(Path("points.csv")) << "format,m,n,k,us\nBF16,8,8,8,5\nBF16,8,8,8,6\nNVFP4,8,8,8,5\n";
  const Result result = RunWords({"calibrate", "points", Path("points.csv"), "--hardware", "h100_sxm",
                                  "--output", Path("mine.textproto")});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, AllOf(HasSubstr("points.csv:3: BF16 of 8 x 8 x 8 is at "),
                                HasSubstr("points.csv:4: NVFP4 needs compute capability 10.0")));
  EXPECT_THAT(RunWords({"calibrate", "points", Path("points.csv"), "--residuals", "a.csv"}).err,
              AllOf(HasSubstr("--output: DEVICE.textproto is wanted"),
                    HasSubstr("--hardware: NAME is wanted"), HasSubstr("--residuals: is of gemm")));
  EXPECT_THAT(RunWords({"calibrate", "points", Path("points.csv"), "--hardware", "h100_sxm", "--where",
                        "format=FP4", "--output", Path("mine.textproto")})
                  .err,
              HasSubstr("no row has what --where asks for"));
}

TEST_F(CalibrateCommand, OfProductsRefusesOneColumnTwiceToo) {
  const std::string rows = std::string(ORRERY_SOURCE_DIR) + "/tests/kernels/gemm_measured.csv";
  const Result result = RunWords({"calibrate", "gemm", rows, "--hardware", "h100_sxm", "--where",
                                  "gpu=h100_sxm", "--where", "gpu=h200_sxm"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("--where gpu=h200_sxm: the column is given twice"));
}

TEST_F(CalibrateCommand, TellsEveryMistakeOfItsWords) {
  const Result result = RunWords({"calibrate", "gemm", "rows.csv", "--hardware", "h100_sxm", "--hardware",
                                  "h200_sxm", "--nccl", "2.27", "--output", "mine.json"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("--hardware: one is wanted"), HasSubstr("--nccl: is of collectives"),
                    HasSubstr("the name of a .textproto is wanted")));
}

// What has no effect on what is read is refused.
TEST_F(CalibrateCommand, RefusesWhatNoFileNeeds) {
  const auto error = [&](std::vector<std::string> words) {
    words.insert(words.begin() + 1, {"--hardware", "h100_sxm"});
    const Result result = Calibrate(words);
    EXPECT_EQ(result.status, kExitUsage);
    EXPECT_EQ(Lines(result.err).size(), 1u) << result.err;
    return result.err;
  };
  EXPECT_THAT(error({Path("rows.csv"), "--format", "BF16"}),
              HasSubstr("--format: is of gemm, not of collectives"));
  EXPECT_THAT(error({Path("rows.csv"), "--output", Path("h100_sxm.textproto")}),
              HasSubstr("\"h100_sxm\" is the device that it derives from"));
  EXPECT_THAT(error({Path("rows.csv"), "--nccl", "2.27"}),
              HasSubstr("--nccl 2.27: tables say it in their column \"nccl\"; leave it out"));
  EXPECT_THAT(error({Path("rows.csv"), "--collective", "all_gather"}),
              HasSubstr("--collective all_gather: tables say it in their column"));
  EXPECT_THAT(error({Path("out.txt"), "--collective", "all_gather"}),
              HasSubstr("--collective all_gather: every output says its own; leave it out"));
  EXPECT_THAT(error({Path("out.txt"), "--where", "source=lab"}),
              HasSubstr("--where source=lab: outputs of nccl-tests have no columns"));
  EXPECT_THAT(error({Path("rows.csv"), "--where", "source=lab", "--where", "source=lab"}),
              HasSubstr("--where source=lab: the column is given twice"));
  EXPECT_THAT(error({Path("out.txt"), "--nccl", "newest"}), HasSubstr("--nccl: \"newest\" is none"));
  EXPECT_THAT(error({Path("out.txt"), "--collective", "allreduce"}),
              HasSubstr("--collective: \"allreduce\" is no collective"));
  EXPECT_THAT(error({Path("rows.csv"), Path("./rows.csv")}), HasSubstr("rows.csv; once is wanted"));
  EXPECT_THAT(error({Path("rows.csv"), "--hardware", "h200_sxm"}),
              HasSubstr("--hardware h200_sxm: no row is of this device"));
  EXPECT_THAT(error({Path("rows.csv"), "--hardware", "h100_sxm"}),
              HasSubstr("--hardware h100_sxm: is given twice; once is wanted"));
}

// Milliseconds, or bus bandwidths in MB/s, in the place of what is wanted: nothing is written.
TEST_F(CalibrateCommand, RefusesTimesOfAnotherUnit) {
  const auto table = [&](const char* name, double factor) {
    std::ofstream rows(Path(name));
    rows << "source,gpu,ranks,nodes,nccl,collective,bytes,time_us\n";
    for (std::int64_t bytes = 4 << 20; bytes <= std::int64_t{1} << 32; bytes *= 2) {
      rows << "lab,h100_sxm,8,1,2.27,all_gather," << bytes << ','
           << factor * (25 + static_cast<double>(bytes) * 7 / 8 / 300e3) << '\n';
    }
  };
  table("fast.csv", 1e-3);
  table("slow.csv", 1e3);
  const Result fast = Calibrate({Path("fast.csv"), "--hardware", "h100_sxm"});
  EXPECT_EQ(fast.status, kExitUsage);
  EXPECT_THAT(fast.err,
              AllOf(HasSubstr("fast.csv:2: 0.03723 us; "),
                    HasSubstr(" times as fast as the links of the node"), HasSubstr("more lines)")));
  const Result slow =
      Calibrate({Path("slow.csv"), "--hardware", "h100_sxm", "--output", Path("mine.textproto")});
  EXPECT_EQ(slow.status, kExitUsage);
  EXPECT_THAT(slow.out, HasSubstr("doubtful: half of the rows take "));
  EXPECT_THAT(slow.err, HasSubstr("mine.textproto: not written: half of the rows take "));
  EXPECT_FALSE(std::filesystem::exists(Path("mine.textproto")));
}

// Five shapes that somebody measured: their errors, and no device.
TEST_F(CalibrateCommand, ComparesAFewMatrixProductsAndWritesNothing) {
  std::ofstream table(Path("five.csv"));
  table << "m,n,k,us\n";
  for (const int m : {512, 1024, 2048, 4096, 8192}) table << m << ",8192,8192," << m * 0.22 << '\n';
  table.close();
  const Result shown = RunWords({"calibrate", "gemm", Path("five.csv"), "--hardware", "h100_sxm"});
  EXPECT_EQ(shown.status, kExitDone) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("BF16          all                 5 "),
                               HasSubstr("note: in BF16, 5 rows of 1 pair of n and k are too few to fit"),
                               HasSubstr("without a column \"format\" are taken as BF16")));
  const Result written = RunWords(
      {"calibrate", "gemm", Path("five.csv"), "--hardware", "h100_sxm", "--output", Path("mine.textproto")});
  EXPECT_EQ(written.status, kExitUsage);
  EXPECT_THAT(written.err, HasSubstr("mine.textproto: not written: in BF16, 5 rows of 1 pair"));
  EXPECT_FALSE(std::filesystem::exists(Path("mine.textproto")));
}

TEST_F(CalibrateCommand, OfProductsTellsTheRealCause) {
  std::ofstream(Path("other.csv")) << "gpu,m,n,k,us\na100_80_sxm,512,512,512,50\n";
  std::ofstream(Path("plain.csv")) << "m,n,k,us\n512,512,512,50\n";
  std::ofstream(Path("nvfp4.csv")) << "format,m,n,k,us\nNVFP4,512,512,512,50\n";
  const auto error = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"calibrate", "gemm", Path(file), "--hardware", "h100_sxm"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = RunWords(words);
    EXPECT_EQ(result.status, kExitUsage);
    EXPECT_EQ(Lines(result.err).size(), 1u) << result.err;
    return result.err;
  };
  EXPECT_THAT(error("other.csv", {}),
              HasSubstr("no rows to compare with \"h100_sxm\": 1 row of device \"a100"));
  EXPECT_THAT(error("nvfp4.csv", {}), HasSubstr("1 row in NVFP4 of which the device has no peak"));
  EXPECT_THAT(error("plain.csv", {"--format", "FP8"}),
              HasSubstr("--format FP8: no table has a column \"format\", so all rows are BF16"));
  EXPECT_THAT(error("nvfp4.csv", {"--format", "FP8"}), HasSubstr("--format FP8: no row is in it"));
  EXPECT_THAT(error("plain.csv", {Path("plain.csv")}), HasSubstr("is given twice; once is wanted"));
  EXPECT_THAT(
      error("plain.csv", {"--output", Path("h100_sxm.textproto")}),
      HasSubstr("\"h100_sxm\" is the device that it derives from; the new one needs a name of its own"));
  EXPECT_THAT(error("plain.csv", {"--output", Path(".textproto")}),
              HasSubstr("a name in front of .textproto, not hidden"));
  EXPECT_THAT(error("plain.csv", {"--residuals", Path(".csv")}), HasSubstr("a name in front of .csv"));
}

// A link that leads nowhere is somebody's all the same.
TEST_F(CalibrateCommand, WritesThroughNoLink) {
  std::filesystem::create_symlink(Path("nowhere.textproto"), Path("link.textproto"));
  std::filesystem::create_symlink(Path("nowhere.csv"), Path("link.csv"));
  const Result result = Calibrate({Path("rows.csv"), "--hardware", "h100_sxm", "--output",
                                   Path("link.textproto"), "--residuals", Path("link.csv")});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, AllOf(HasSubstr("link.textproto: is there already; it is not written over"),
                                HasSubstr("link.csv: is there already")));
  EXPECT_TRUE(std::filesystem::is_symlink(Path("link.textproto")));
  EXPECT_FALSE(std::filesystem::exists(Path("nowhere.textproto")));
}

// What is simulated is no measurement.
TEST_F(CalibrateCommand, ReadsNoOutputOfOrreryCollective) {
  const Result simulated = RunWords({"collective", "all_reduce", "-b", "1M", "-e", "4M"});
  std::ofstream(Path("own.txt")) << simulated.out;
  const Result result = Calibrate({Path("own.txt"), "--hardware", "h100_sxm"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_EQ(Lines(result.err).size(), 1u) << result.err;
  EXPECT_THAT(result.err, HasSubstr("`orrery collective` printed this, which measures nothing"));
}

// Of one size no fit tells latency from rate.
TEST_F(CalibrateCommand, RefusesRowsOfOneSize) {
  std::ofstream table(Path("one.csv"));
  table << "gpu,ranks,nodes,nccl,collective,bytes,time_us\n";
  for (int i = 0; i < 12; ++i) table << "h100_sxm,8,1,2.27,all_gather,67108864," << 250 + i << '\n';
  table.close();
  const Result result = Calibrate({Path("one.csv"), "--hardware", "h100_sxm"});
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr("--hardware: 12 rows of one node of \"h100_sxm\", too few to fit; 8 of "
                                    "one algorithm and protocol, of 2 sizes or more, would do"));
}

}  // namespace
}  // namespace tools
