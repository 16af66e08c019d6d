// Computation beside communication, published and simulated, and docs/overlap.md to what comes of it.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/overlap/slow_downs.h"
#include "tests/pages/page.h"

namespace overlap {
namespace {

// A published figure beside the simulated one.
struct Line {
  const char* what;
  const char* source;
  double published = 0, simulated = 0;
  bool is_part = true;  // of a time; else times as long
  bool held = true;     // to the published figure, up to a third
};

constexpr const char* kStudy = "arXiv 2507.03114";
constexpr const char* kForum = "NVIDIA developer forum, topic 337991";
constexpr const char* kTrace = "NVIDIA/nccl, issue 1428";
constexpr const char* kPersistent = "pytorch/pytorch, issue 143988";
constexpr const char* kCopyEngines = "pytorch/pytorch, pull request 179937";

// Llama 3 8B, 2 sequences of 4,096 on each of 8 H100: how much longer NCCL's kernels make a step than copy
// engines that are as fast and take nothing.
double LongerByKernels() {
  Job job{"h100_sxm", "llama3_8b", 8, 2, 4096, {}};
  const double by_kernels = Play(job).step;
  job.sets = {{"hardware.interference.communication_sms", "0"}};
  return by_kernels / Play(job).step - 1;
}

void AddStudy(const char* device, bool held, std::vector<Line>* lines) {
  const std::vector<Played> all = Study(device);
  const Spread slow = SlowDowns(all), serial = Serials(all);
  const bool h100 = std::string(device) == "h100_sxm";
  lines->push_back(
      {h100 ? "FSDP on 4 H100: computation takes longer, mean" : "FSDP on 4 A100: the same, mean", kStudy,
       0.189, slow.mean, true, held});
  lines->push_back({h100 ? "the same, at most" : "at most", kStudy, 0.400, slow.most, true, held});
  lines->push_back({"communication and computation in turn take longer, mean", kStudy, 0.102, serial.mean});
  lines->push_back({"at most", kStudy, 0.266, serial.most});
}

std::vector<Line> Lines() {
  std::vector<Line> lines;
  AddStudy("h100_sxm", true, &lines);
  AddStudy("a100_80_sxm", false, &lines);
  const sim::Kernel one_wave = Product(11 * 256, 12 * 128, 8192);  // 132 tiles of 256 x 128
  // 1.1 ms and 0.18 ms on A100.
  const sim::Kernel product = Product(8192, 8192, 2048), attention = Attention(4, 12, 2048);
  lines.push_back({"product of one wave on H100, beside an all-gather", kForum, 80.0 / 47,
                   BesideGather("h100_sxm", one_wave), false});
  lines.push_back({"products of training on H100", kPersistent, 2, BesideGather("h100_sxm", product), false});
  lines.push_back({"product of training on A100, beside an all-gather", kTrace, 2.08 / 1.18,
                   BesideGather("a100_80_sxm", product), false});
  lines.push_back(
      {"attention, likewise", kTrace, 0.33 / 0.18, BesideGather("a100_80_sxm", attention), false});
  lines.push_back({"Llama 3 8B on 8 H100: a step by NCCL's kernels over one by copy engines", kCopyEngines,
                   9593.0 / 9369 - 1, LongerByKernels(), true, false});
  return lines;
}

std::string Times(double ratio) { return pages::Number(ratio, 2) + " x"; }

std::string Compared(const std::vector<Line>& lines) {
  std::string table = pages::TableHead({"what", "source", "published", "simulated", "over published"});
  for (const Line& line : lines) {
    const auto text = [&](double value) { return line.is_part ? pages::Percent(value) : Times(value); };
    table += pages::TableLine({line.what, line.source, text(line.published), text(line.simulated),
                               pages::Number(line.simulated / line.published, 2)});
  }
  return table;
}

std::string Taken() {
  std::string table = pages::TableHead({"device", "SMs", "of the memory's rate"});
  for (const char* device : {"a100_80_sxm", "a800_80_sxm", "h100_sxm", "h800_sxm", "h200_sxm", "b200_sxm"}) {
    const sim::DeviceTaken taken = TakenByGather(device);
    table += pages::TableLine({device, pages::Count(taken.sms),
                               pages::Percent(static_cast<double>(taken.memory) / sim::kWholeMemory)});
  }
  return table;
}

std::string Document(const std::vector<Line>& lines) {
  std::string page = "# Computation beside communication\n\n";
  page += pages::Wrapped(
              "Made by `tests/overlap` from published slow-downs and what the simulator gives. A "
              "communication takes "
              "SMs of each member from its arrival (a waiting kernel spins) and some of the memory's rate "
              "while its "
              "bytes flow; of several at a time it is the sum. Work that runs meanwhile takes as long as its "
              "slow-down table says (`sim/base/work_times.h`).") +
          "\n\n";
  page +=
      "- **SMs**: one a channel. Rings, trees and NVLS have the channels that NCCL's tuner gives them; "
      "DeepEP's\n"
      "  kernels those of the scenario; copy engines, and sends and receives of pipelines, none.\n"
      "- **Memory**: three bytes for each byte of bus bandwidth, as NCCL's authors count them (issue 1428), "
      "at the\n"
      "  rate that the communication has on the idle fabric. Work that the memory bounds takes 1 / (1 - s) "
      "times as "
      "long.\n"
      "- **Products** keep the tile that is fastest on the whole device, in whole waves on the SMs that are "
      "left.\n"
      "  Hopper's are persistent: a block for each SM, with its tiles from the start, so that they take "
      "twice as "
      "long\n"
      "  as soon as a block finds no SM (`persistent_products`).\n"
      "- **A100** is slowed down more than its SMs and bytes explain. `stalled_part: 1` makes products and "
      "attention "
      "as much\n"
      "  longer as memory-bound work is; it is fitted to the two lines of issue 1428 below, all else is not "
      "fitted.\n";
  page += "\n## Published and simulated\n\n" + Compared(lines) + '\n';
  page +=
      pages::Wrapped(
          "The study's abstract says GPT and LLaMA models on 4 GPUs of A100, H100, MI250 and MI210 together; "
          "its "
          "sizes and batches are not known here. The grid that stands for it is 1.7 to 13 billion parameters "
          "by "
          "1, 2, 4 and 8 sequences of 2,048 tokens on each device, FSDP with everything in 16 bits. That it "
          "takes "
          "about as much longer in turn as the study says means that it communicates about as much for its "
          "computation. On H100 the computation then slows down by 0.63 of the published mean, on A100 "
          "by "
          "one third: what communication itself loses beside computation is left out, and so are AMD's "
          "devices, "
          "clocks that fall when both draw power, and the study's pipelines.") +
      "\n\n" +
      pages::Wrapped(
          "Copy engines are taken to be as fast as NCCL here, and to hold nothing; those of the pull request "
          "reduce by kernels, so that its step gains less. The mean of its text, products that are 30 to 40 "
          "% "
          "slower, lies between whole waves (1.2) and persistent kernels (2.0).") +
      "\n\n";
  page += "## What an all-gather of 256 MiB over the 8 devices of a node takes\n\n" + Taken();
  return page;
}

TEST(OverlapPage, IsWhatTheStudiesAndTheSimulatorGive) {
  const std::string page = Document(Lines());
  if (page == pages::Kept("overlap.md")) return;
  ADD_FAILURE() << "docs/overlap.md is not up to date; the new one is "
                << pages::WriteNew("overlap.md", page);
}

// All but one are within a third; the mean over FSDP on H100 is 0.63 of the published one.
TEST(OverlapSlowDowns, AreThePublishedOnesUpToTwoFifths) {
  int held = 0;
  for (const Line& line : Lines()) {
    if (!line.held) continue;
    ++held;
    EXPECT_GT(line.simulated / line.published, 0.6) << line.what;
    EXPECT_LT(line.simulated / line.published, 1.4) << line.what;
  }
  EXPECT_EQ(held, 10);
}

// The share of a step that communication takes decides: more sequences a device, less slow-down.
TEST(OverlapSlowDowns, ShrinkAsStepsGrow) {
  for (const char* device : {"a100_80_sxm", "h100_sxm"}) {
    double before = 1;
    for (const std::int64_t micro : {1, 2, 4, 8}) {
      const double now = Play({device, "gpt_7_5b_sc21", 4, micro}).slow_down();
      EXPECT_LT(now, before) << device << ' ' << micro;
      before = now;
    }
  }
}

// Without kernels on SMs nothing is slowed down.
TEST(OverlapSlowDowns, AreNoneByCopyEngines) {
  const Played played =
      Play({"h100_sxm", "gpt_7_5b_sc21", 4, 1, 2048, {{"hardware.interference.communication_sms", "0"}}});
  EXPECT_NEAR(played.slow_down(), 0, 1e-9);
}

}  // namespace
}  // namespace overlap
