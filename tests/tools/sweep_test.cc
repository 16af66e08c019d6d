// orrery sweep from the command line; sweep_kill_test.cc ends it at random times.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "scenarios/published/csv.h"
#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::HasSubstr;
using testing::Not;

Result Sweep(std::vector<std::string> words) {
  words.insert(words.begin(), {"sweep", "seed27_example"});
  return RunWords(words);
}

std::string SweptFile(const std::string& name) {
  const std::string path = testing::TempDir() + "/sweep_command_" + name;
  std::filesystem::remove(path);
  std::filesystem::remove(path + ".journal");
  return path;
}

std::string TextOfFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

scenarios::CsvTable TableOf(const std::string& text) {
  proto::Diagnostics diagnostics;
  auto table = scenarios::ReadCsv("rows.csv", text, &diagnostics);
  EXPECT_TRUE(table && table->whole && diagnostics.ok());
  return *table;
}

std::string CellOf(const scenarios::CsvTable& table, std::size_t row, const std::string& column) {
  return table.rows[row].cells[*table.Find(column)];
}

// seed27_example has micro-batches of 8 on one device.
const std::vector<std::string> kAxes = {"--over", "batch.global=8,12,16", "--over", "model.layers=1,2"};

std::vector<std::string> With(std::vector<std::string> words) {
  words.insert(words.begin(), kAxes.begin(), kAxes.end());
  return words;
}

TEST(SweepCommand, PrintsARowAPointInTheOrderOfTheGrid) {
  const Result result = Sweep(With({}));
  EXPECT_EQ(result.status, kExitDone) << result.err;
  EXPECT_THAT(result.err, HasSubstr("6 points: 4 ok, 2 refused"));
  const scenarios::CsvTable table = TableOf(result.out);
  ASSERT_EQ(table.rows.size(), 6u);
  const std::vector<std::string> batches = {"8", "8", "12", "12", "16", "16"};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(CellOf(table, i, "point"), std::to_string(i + 1));
    EXPECT_EQ(CellOf(table, i, "batch.global"), batches[i]);
    EXPECT_EQ(CellOf(table, i, "model.layers"), i % 2 == 0 ? "1" : "2");
  }
  EXPECT_EQ(CellOf(table, 2, "status"), "refused");
  EXPECT_THAT(CellOf(table, 2, "reason"), HasSubstr("not a multiple of micro 8"));
  EXPECT_EQ(CellOf(table, 2, "step_time_s"), "");
  // The same as orrery run says of it.
  const Result run =
      RunWords({"run", "seed27_example", "--json", "--set", "batch.global=16", "--set", "model.layers=2"});
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_EQ(CellOf(table, 5, "digest"), report["digest"]);
  EXPECT_DOUBLE_EQ(std::stod(CellOf(table, 5, "step_time_s")), report["step_time_s"].get<double>());
}

TEST(SweepCommand, WritesTheSameFileWhateverTheJobsAndLeavesNoJournal) {
  const std::string one = SweptFile("one.csv"), many = SweptFile("many.csv");
  EXPECT_EQ(Sweep(With({"-o", one, "--jobs", "1"})).status, kExitDone);
  EXPECT_EQ(Sweep(With({"-o", many, "--jobs", "5"})).status, kExitDone);
  EXPECT_EQ(TextOfFile(one), TextOfFile(many));
  EXPECT_EQ(TextOfFile(one), Sweep(With({})).out);
  EXPECT_FALSE(std::filesystem::exists(one + ".journal"));
  const Result again = Sweep(With({"-o", one}));
  EXPECT_EQ(again.status, kExitUsage);
  EXPECT_THAT(again.err, HasSubstr(one + " is there already"));
}

TEST(SweepCommand, QuotesCellsAsRfc4180) {
  const Result result = Sweep({"--over", "nccl.environment=[\"NCCL_ALGO=ring\", \"NCCL_PROTO=LL\"],[]"});
  EXPECT_THAT(result.out, HasSubstr("1,\"[\"\"NCCL_ALGO=ring\"\", \"\"NCCL_PROTO=LL\"\"]\",ok,"));
  EXPECT_EQ(CellOf(TableOf(result.out), 0, "nccl.environment"), "[\"NCCL_ALGO=ring\", \"NCCL_PROTO=LL\"]");
}

TEST(SweepCommand, PrintsOneDocumentWithAllRowsAndTheRanking) {
  const Result result = Sweep(With({"--json", "--best", "step_time"}));
  ASSERT_EQ(result.status, kExitDone) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["counts"]["ok"], 4);
  ASSERT_EQ(json["points"].size(), 6u);
  EXPECT_EQ(json["points"][0]["set"]["batch.global"], "8");
  EXPECT_TRUE(json["points"][2]["step_time_s"].is_null());
  // Fewer sequences and layers take less; they hold less, too.
  EXPECT_EQ(json["ranking"]["points"][0], 1);
  EXPECT_EQ(json["ranking"]["front"], nlohmann::json::array({1}));
  EXPECT_EQ(json["ranking"]["front_cost"], "device_seconds_per_step");
}

TEST(SweepCommand, RanksByMoneyOnlyWithAPrice) {
  const Result none = Sweep(With({"--best", "cost"}));
  EXPECT_EQ(none.status, kExitUsage);
  EXPECT_THAT(none.err, HasSubstr("--set price.usd_per_device_hour=2.5 gives one"));
  const std::vector<std::string> price = {"--set", "price.usd_per_device_hour=3600", "--set",
                                          "price.source.title=mine"};
  std::vector<std::string> words = With({"--best", "tokens_per_dollar"});
  words.insert(words.end(), price.begin(), price.end());
  const Result priced = Sweep(words);
  EXPECT_EQ(priced.status, kExitDone) << priced.err;
  EXPECT_THAT(priced.out, HasSubstr("Best by tokens_per_dollar"));
  EXPECT_THAT(priced.out, HasSubstr("time, memory and cost"));
}

TEST(SweepCommand, RefusesTheJournalOfAnotherSweep) {
  const std::string file = SweptFile("foreign.csv");
  std::ofstream(file + ".journal") << "rows of my own\n";
  const Result result = Sweep(With({"-o", file}));
  EXPECT_EQ(result.status, kExitUsage);
  EXPECT_THAT(result.err, HasSubstr(file + ".journal: is no journal of this sweep"));
  EXPECT_THAT(result.err, HasSubstr("to start anew"));
  EXPECT_EQ(TextOfFile(file + ".journal"), "rows of my own\n");
}

TEST(SweepCommand, TellsAllMistakesInOneRun) {
  const Result result = Sweep({"--over", "layout.tensr=1", "--over", "x", "--best", "time", "--jobs", "0",
                               "--output", "rows.txt", "--points", "/there/is/none"});
  EXPECT_EQ(result.status, kExitUsage);
  for (const char* part : {"--over x: PATH=VALUE", "--best: \"time\" is unknown; one of step_time, cost",
                           "--jobs: \"0\" is out of range", "--output rows.txt: a name that ends in",
                           "/there/is/none: there is no such file", "layout.tensr: unknown field"}) {
    EXPECT_THAT(result.err, HasSubstr(part));
  }
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(Sweep({}).err, HasSubstr("nothing is swept"));
  EXPECT_THAT(Sweep(With({"--shards", "3"})).err, HasSubstr("--shards without --engine slurm"));
  EXPECT_THAT(Sweep(With({"--engine", "slurm"})).err, HasSubstr("--engine slurm: --output FILE is wanted"));
  EXPECT_THAT(Sweep(With({"--engine", "cloud"})).err, HasSubstr("--engine cloud: unknown"));
  EXPECT_THAT(Sweep(With({"--shard", "3/3", "-o", "x.csv"})).err, HasSubstr("--shard 3/3: INDEX/COUNT"));
  EXPECT_THAT(Sweep(With({"--no-front"})).err, HasSubstr("--no-front without --best"));
}

TEST(SweepCommand, SaysSoWhereNothingFits) {
  const Result result = Sweep({"--over", "batch.global=3,5"});
  EXPECT_EQ(result.status, kExitNo);
  EXPECT_THAT(result.err, HasSubstr("no point was played that fits; the first: refused: "));
}

TEST(SweepCommand, TakesPointsFromAFile) {
  const std::string file = testing::TempDir() + "/sweep_command_points.txt";
  std::ofstream(file) << "model.layers=1\nmodel.layers=2 batch.global=16  # more\n";
  const scenarios::CsvTable table = TableOf(Sweep({"--points", file}).out);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(CellOf(table, 0, "batch.global"), "");
  EXPECT_EQ(CellOf(table, 1, "global_batch_sequences"), "16");
}

}  // namespace
}  // namespace tools
