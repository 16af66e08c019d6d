// orrery budget, from the command line to what it prints.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "models/catalogue.h"
#include "scenarios/catalogue.h"
#include "tests/tools/run_words.h"

namespace tools {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result Budget(std::vector<std::string> words) {
  words.insert(words.begin(), "budget");
  return RunWords(words);
}

TEST(BudgetCommand, PrintsFiguresWithFormulasAndAssumptions) {
  const Result r = Budget({"llama_7b", "--tokens", "2e12", "--devices", "256", "--mfu", "0.38"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(r.err, "");
  EXPECT_THAT(r.out, HasSubstr("llama_7b on h800_sxm: fits\n"));
  EXPECT_THAT(r.out, HasSubstr("6,738,415,616  (27.4)"));
  EXPECT_THAT(r.out, HasSubstr("\nassumptions\n"));
  for (const std::string& line : Lines(r.out)) EXPECT_LE(line.size(), 110u) << line;
}

// The same lines in all three forms.
TEST(BudgetCommand, WritesOneDocumentAndOneTable) {
  const Result text = Budget({"mixtral_8x7b"}), json = Budget({"mixtral_8x7b", "--json"}),
               csv = Budget({"mixtral_8x7b", "--csv"});
  const auto document = nlohmann::json::parse(json.out);
  EXPECT_EQ(document["schema_version"], 1);
  EXPECT_EQ(document["lines"][0]["value"], 46'702'792'704);
  const std::vector<std::string> rows = Lines(csv.out);
  EXPECT_EQ(rows.size(), 1 + document["lines"].size() + document["assumptions"].size());
  EXPECT_THAT(rows[1], HasSubstr("parameters,total,46702792704,"));
  for (const auto& line : document["lines"]) {
    EXPECT_THAT(text.out, HasSubstr("  " + line["name"].get<std::string>() + ' '));
    EXPECT_NE(line["formula"], "");
  }
}

TEST(BudgetCommand, TakesAScenariosModelDeviceAndLayout) {
  const Result r = Budget({"llama_70b_64xh800_a", "--json"});
  const auto document = nlohmann::json::parse(r.out);
  EXPECT_EQ(document["device"], "h800_sxm");
  const auto& all = document["assumptions"];
  const auto tensor =
      std::find_if(all.begin(), all.end(), [](const auto& a) { return a["name"] == "tensor"; });
  ASSERT_NE(tensor, all.end());
  EXPECT_EQ((*tensor)["value"], "8");
  EXPECT_EQ((*tensor)["source"], "given");
}

// The bill of materials in all three forms; what has no figure is "unknown", null and empty.
TEST(BudgetCommand, PrintsABillOfMaterials) {
  const std::vector<std::string> words = {"llama_7b", "--devices", "256",
                                          "--bill",   "--with",    "switch-usd=40000"};
  const auto with = [&](const char* flag) {
    std::vector<std::string> all = words;
    all.push_back(flag);
    return Budget(all);
  };
  const Result text = Budget(words), csv = with("--csv");
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, AllOf(HasSubstr("bill of materials: 256 h800_sxm at work for "),
                              HasSubstr("8 at 40,000; years"), HasSubstr("cables and optics")));
  for (const std::string& line : Lines(text.out)) EXPECT_LE(line.size(), 110u) << line;
  const auto document = nlohmann::json::parse(with("--json").out);
  EXPECT_EQ(document["lines"][0]["value"], 256);
  const auto& lines = document["lines"];
  const auto cables = std::find_if(lines.begin(), lines.end(),
                                   [](const auto& l) { return l["name"] == "cables and optics"; });
  ASSERT_NE(cables, lines.end());
  EXPECT_TRUE((*cables)["value"].is_null());
  EXPECT_THAT(csv.out, HasSubstr("\"owned, for as long\",cables and optics,,USD,"));
  EXPECT_EQ(Lines(csv.out).size(), 1 + lines.size() + document["assumptions"].size());
}

// Every choice is read: out of any range, each complains of itself.
TEST(BudgetCommand, ListsItsChoices) {
  const Result list = Budget({"--with", "list"});
  EXPECT_EQ(list.status, 0);
  std::vector<std::string> words = {"llama_7b", "--bill"}, names;
  for (const std::string& line : Lines(list.out)) {
    EXPECT_LE(line.size(), 100u);
    if (!line.starts_with("  ")) continue;
    names.push_back(line.substr(2, line.find(' ', 2) - 2));
    words.insert(words.end(), {"--with", names.back() + "=-1"});
  }
  EXPECT_GT(names.size(), 30u);
  const Result all = Budget(words);
  EXPECT_EQ(Lines(all.err).size(), names.size());
  for (const std::string& name : names) EXPECT_THAT(all.err, HasSubstr("--with " + name + ": \"-1\" is "));
}

TEST(BudgetCommand, RefusesChoicesOfABillWithoutOne) {
  EXPECT_THAT(Budget({"llama_7b", "--with", "replicas=2"}).err,
              HasSubstr("--with: replicas is of the bill of materials; --bill is wanted beside it\n"));
  EXPECT_THAT(Budget({"llama_7b", "--bill", "--with", "replicas=0", "--with", "rails=x"}).err,
              AllOf(HasSubstr("--with replicas: \"0\" is out of range; 1 to 100 would do\n"),
                    HasSubstr("--with rails: \"x\" is not a number; 1 to 1024 would do\n")));
  EXPECT_THAT(Budget({"llama_7b", "--bill", "--devices", "256", "--with", "device-hours=1"}).err,
              HasSubstr("devices: 256 fail every 14.06 s"));
}

TEST(BudgetCommand, EstimatesAHalfKnownModel) {
  const Result r =
      Budget({"--sketch", "layers=32,hidden=4096,gated=yes", "--tokens", "2e12", "--days", "10"});
  EXPECT_EQ(r.err, "");
  EXPECT_EQ(r.status, 0);
  EXPECT_THAT(r.out, AllOf(HasSubstr("sketch on h800_sxm: fits\n"), HasSubstr("\nleast\n"),
                           HasSubstr("\nmost\n"), HasSubstr("32,000 to 256,000")));
  EXPECT_EQ(nlohmann::json::parse(Budget({"--sketch", "layers=32,hidden=4096", "--json"}).out)["model"],
            "sketch");
  const Result wrong =
      Budget({"llama_7b", "--sketch", "layers=0,hiden=4096,gated=2,ffn,tied=no,tied=yes", "--bill"});
  EXPECT_EQ(wrong.status, 2);
  for (const char* line : {"--sketch: is given beside a model; give one\n",
                           "--bill: a sketch has none of it; a model is wanted\n",
                           "--sketch: no shape is called \"hiden\"; did you mean \"hidden\"?\n",
                           "--sketch: \"ffn\" has no value; layers=32,hidden=4096 is wanted\n",
                           "--sketch: tied is given twice; once is wanted\n",
                           "--sketch layers: \"0\" is out of range; 1 to 1000 would do\n",
                           "--sketch gated: \"2\" is unknown; one of yes, no would do\n"}) {
    EXPECT_THAT(wrong.err, HasSubstr(line));
  }
}

// Its even stages and its rank of one are no choices that another pipeline or tensor group would contradict.
TEST(BudgetCommand, TakesAnotherLayoutOverAScenarios) {
  EXPECT_EQ(Budget({"llama_70b_64xh800_a", "--with", "pipeline=8"}).err, "");
  EXPECT_THAT(Budget({"llama_7b_256xh800", "--with", "tensor=8"}).out,
              HasSubstr("sequence_parallel                                  yes  where"));
}

class BudgetFile : public testing::Test {
 protected:
  ~BudgetFile() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, std::string_view text) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  static std::string_view TextOf(std::span<const proto::CatalogueFile> catalogue, std::string_view name) {
    return std::find_if(catalogue.begin(), catalogue.end(), [&](const auto& e) { return e.name == name; })
        ->text;
  }

 private:
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                        testing::UnitTest::GetInstance()->current_test_info()->name();
};

// A file is budgeted as the catalogue's entry of the same text, whichever of the two kinds it is.
TEST_F(BudgetFile, IsAScenarioOrAModelAsItsFieldsSay) {
  const std::string scenario =
      Write("my_job.textproto", TextOf(scenarios::Catalogue(), "llama_70b_64xh800_a"));
  const Result of_scenario = Budget({scenario, "--csv"});
  EXPECT_EQ(of_scenario.err, "");
  EXPECT_EQ(of_scenario.out, Budget({"llama_70b_64xh800_a", "--csv"}).out);
  EXPECT_EQ(
      Budget({scenario, "--csv", "--set", "layout.tensor=4", "--set", "layout.pipeline=8"}).out,
      Budget({"llama_70b_64xh800_a", "--csv", "--set", "layout.tensor=4", "--set", "layout.pipeline=8"}).out);
  const std::string model = Write("my_model.textproto", TextOf(models::Catalogue(), "llama_7b"));
  EXPECT_EQ(Budget({model, "--csv"}).out, Budget({"llama_7b", "--csv"}).out);
}

TEST_F(BudgetFile, OfJsonIsAScenarioToo) {
  const Result r = Budget({Write("job.json", R"({"name": "job", "layout": {}, "devices": 8})")});
  EXPECT_EQ(r.status, 2);
  EXPECT_THAT(r.err, HasSubstr("layout"));
  EXPECT_THAT(r.err, Not(HasSubstr("unknown field")));
}

TEST_F(BudgetFile, IsMissedInOneLine) {
  const Result r = Budget({"no/such/job.textproto"});
  EXPECT_EQ(Lines(r.err).size(), 1u);
  EXPECT_THAT(r.err, HasSubstr("no/such/job.textproto: there is no such file"));
}

TEST(BudgetCommand, SaysWithItsStatusThatAModelDoesNotFit) {
  const Result r = Budget({"llama3_70b", "--devices", "8", "--with", "zero=1"});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.out, HasSubstr("does not fit"));
}

TEST(BudgetCommand, TellsEveryMistakeInOneLineEach) {
  EXPECT_EQ(Budget({}).status, 2);
  EXPECT_THAT(Budget({"lama_7b"}).err, HasSubstr("no model is called \"lama_7b\""));
  const Result r = Budget({"llama_7b", "--device", "h1OO", "--mfu", "1.5", "--with", "zero=4", "--tokens",
                           "nan", "--with", "optimizer=adam"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(Lines(r.err).size(), 5u);
  EXPECT_THAT(r.err, HasSubstr("\"h1OO\""));
  EXPECT_THAT(r.err, HasSubstr("--mfu: \"1.5\" is out of range; 0.001 to 1 would do\n"));
  EXPECT_THAT(r.err, HasSubstr("--with zero: \"4\" is unknown; one of 0, 1, 2, 3 would do\n"));
  EXPECT_THAT(r.err, HasSubstr("--tokens: \"nan\" is out of range; 1 to 1e+18 would do\n"));
  EXPECT_THAT(r.err,
              HasSubstr("one of adamw, adamw-8bit, sgd-momentum, adam-mini, adafactor, muon would do\n"));
  EXPECT_THAT(
      Budget({"llama_7b", "--with", "tensr=2", "--with", "zero", "--with", "micro=1", "--with", "micro=2"})
          .err,
      AllOf(HasSubstr("--with: no choice is called \"tensr\"; did you mean \"tensor\"?\n"),
            HasSubstr("--with: \"zero\" has no value; CHOICE=VALUE is wanted\n"),
            HasSubstr("--with: micro is given twice; once is wanted\n")));
  EXPECT_EQ(Budget({"llama_7b", "--json", "--csv"}).status, 2);
  EXPECT_THAT(Budget({"llama_7b", "--set", "layers=0"}).err, HasSubstr("--set 1"));
}

}  // namespace
}  // namespace tools
