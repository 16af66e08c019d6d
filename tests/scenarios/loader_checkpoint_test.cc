#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenarios/loading.h"

namespace scenarios {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kSaving = std::string(kScenario) + R"(checkpoint {
  every_steps: 100
  path: FRONTEND
  frontend_gb_per_s: 25
  storage {
    servers: 4
    write_gb_per_s: 40
    read_gb_per_s: 50
    efficiency: 0.8
    replicas: 2
    source { title: "made for the tests" }
  }
  source { title: "made for the tests" }
}
)";

TEST(ReadCheckpoint, FillsWhatIsNotSaid) {
  const Loading loading = Load({}, kSaving);
  ASSERT_THAT(loading.errors(), IsEmpty());
  const Checkpoint& save = *loading.scenario->checkpoint;
  EXPECT_EQ(save.every_steps, 100);
  EXPECT_EQ(save.mode, SaveMode::kAsync);
  EXPECT_EQ(save.copy, SaveCopy::kBlocking);
  EXPECT_EQ(save.format, SaveFormat::kSharded);
  EXPECT_TRUE(save.weights && save.master_weights && save.moments && save.replicas_spread);
  EXPECT_FALSE(save.mtbf_hours.has_value());
  // 4 x 40 x 0.8 = 128, of which each byte of a save takes two; reads take one copy: 4 x 50 x 0.8.
  EXPECT_EQ(save.write, sim::ByteRate::BytesPerSecond(64'000'000'000));
  EXPECT_EQ(save.read, sim::ByteRate::BytesPerSecond(160'000'000'000));
  EXPECT_EQ(loading.scenario->steps, 6);
  ASSERT_NE(loading.scenario->fabric.storage, nullptr);
}

TEST(ReadCheckpoint, WithoutOneNothingIsSaved) {
  const Loading loading = Load();
  EXPECT_FALSE(loading.scenario->checkpoint.has_value());
  EXPECT_EQ(loading.scenario->fabric.storage, nullptr);
  EXPECT_EQ(loading.scenario->steps, 3);
}

struct Mistake {
  Sets sets;
  std::string error;
};

TEST(ReadCheckpoint, EachMistakeIsOneClearLine) {
  const std::vector<Mistake> mistakes = {
      {{{"checkpoint.every_steps", "0"}}, "checkpoint.every_steps: 0 is out of range; a number from 1"},
      {{{"checkpoint.mode", "SYNC"}, {"checkpoint.copy", "OVERLAPPED"}},
       "checkpoint.copy: is of mode ASYNC only"},
      {{{"checkpoint.format", "DELTA"}}, "checkpoint.delta_fraction: missing"},
      {{{"checkpoint.delta_fraction", "0.5"}}, "checkpoint.delta_fraction: is of format DELTA only"},
      {{{"checkpoint.path", "NIC"}}, "checkpoint.frontend_gb_per_s: is of path FRONTEND only"},
      {{{"checkpoint.contents.weights", "false"},
        {"checkpoint.contents.master_weights", "false"},
        {"checkpoint.contents.moments", "false"}},
       "checkpoint.contents: nothing would be saved"},
      {{{"checkpoint.serialise_gb_per_s", "0"}}, "checkpoint.serialise_gb_per_s: 0 is out of range"},
      {{{"checkpoint.storage.servers", "-1"}}, "checkpoint.storage.servers: -1 is out of range"},
      {{{"checkpoint.storage.efficiency", "1.5"}}, "checkpoint.storage.efficiency: 1.5 is out of range"},
      {{{"checkpoint.storage.replicas", "0"}}, "checkpoint.storage.replicas: 0 is out of range"},
      {{{"checkpoint.storage.write_gb_per_s", "nan"}}, "checkpoint.storage.write_gb_per_s"},
      {{{"checkpoint.storage.servers", "1000000"},
        {"checkpoint.storage.write_gb_per_s", "1000"},
        {"checkpoint.storage.read_gb_per_s", "1"}},
       "all servers together move 4e+08 GB/s of a save; from 1e-06 to 1e+06 is wanted"},
      {{{"checkpoint.frontend_gb_per_s", "1e308"}}, "checkpoint.frontend_gb_per_s: 1e+308 is out of range"},
      {{{"checkpoint.frontend_gb_per_s", "1e7"}}, "checkpoint.frontend_gb_per_s: 1e+07 is out of range"},
      {{{"checkpoint.mtbf_hours", "0"}}, "checkpoint.mtbf_hours: 0 is out of range"},
      {{{"checkpoint.storage.source.title", ""}}, "checkpoint.storage.source.title"},
      {{{"checkpoint.source.title", ""}}, "checkpoint.source.title"},
  };
  for (const Mistake& mistake : mistakes) {
    const Loading loading = Load(mistake.sets, kSaving);
    EXPECT_FALSE(loading.scenario.has_value()) << mistake.error;
    EXPECT_THAT(loading.errors(), Contains(HasSubstr(mistake.error)));
    EXPECT_EQ(loading.errors().size(), 1u) << testing::PrintToString(loading.errors());
  }
}

TEST(ReadCheckpoint, AnEmptyOneNamesEverythingThatIsMissing) {
  const Loading loading = Load({}, std::string(kScenario) + "checkpoint {}\n");
  for (const char* field : {"every_steps", "path", "storage.servers", "storage.write_gb_per_s",
                            "storage.read_gb_per_s", "storage.source.title", "source.title"}) {
    EXPECT_THAT(loading.errors(), Contains(HasSubstr(std::string("checkpoint.") + field + ": missing")));
  }
}

// LLaMA-7B has 6,738,415,616 parameters: 14 bytes of each are 94.3 GB, half of them on each node.
TEST(ReadCheckpoint, StagingThatHoldsNoSaveIsRefusedWithBothFigures) {
  const Loading small = Load({{"checkpoint.staging_gb_per_node", "40"}}, kSaving);
  ASSERT_EQ(small.errors().size(), 1u);
  EXPECT_THAT(small.errors()[0], HasSubstr("checkpoint.staging_gb_per_node: 40 GB of staging is too small: "
                                           "one save of a node is 47."));
  EXPECT_THAT(Load({{"checkpoint.staging_gb_per_node", "48"}}, kSaving).errors(), IsEmpty());
  const Loading large = Load({{"checkpoint.staging_gb_per_node", "9000"}}, kSaving);
  ASSERT_EQ(large.errors().size(), 1u);
  EXPECT_THAT(large.errors()[0], HasSubstr("9000 GB of staging is more than the 2199.02 GB of memory"));
}

TEST(ReadCheckpoint, AFabricThatCannotCarryItIsNamedAtThePath) {
  std::string text = kSaving;
  text.replace(text.find("path: FRONTEND\n  frontend_gb_per_s: 25\n"), 39, "path: NIC\n");
  EXPECT_THAT(Load({}, text).errors(), IsEmpty());
  const Loading alone = Load(
      {{"topology", "single_node"}, {"devices", "8"}, {"layout.tensor", "4"}, {"batch.global", "8"}}, text);
  ASSERT_EQ(alone.errors().size(), 1u);
  EXPECT_THAT(alone.errors()[0], HasSubstr("checkpoint.path: NIC needs NICs"));
}

// Rates become whole numbers when they are read: one that does not fit is refused before.
TEST(ReadCheckpoint, ARateBeyondAllLinksIsRefusedWhereverItStands) {
  for (const char* field :
       {"frontend_gb_per_s", "serialise_gb_per_s", "storage.write_gb_per_s", "storage.read_gb_per_s"}) {
    for (const char* rate : {"1e308", "1e9", "1e7", "-1"}) {
      const std::string path = std::string("checkpoint.") + field;
      const Loading loading = Load({{path, rate}}, kSaving);
      ASSERT_EQ(loading.errors().size(), 1u) << path << '=' << rate;
      EXPECT_THAT(loading.errors()[0], HasSubstr(path + ": "));
      EXPECT_THAT(loading.errors()[0], HasSubstr("is out of range"));
    }
  }
}

TEST(ReadCheckpoint, ANumberInPlaceOfTheBlockIsOneMistake) {
  const Loading loading = Load({{"checkpoint", "1"}}, kSaving);
  ASSERT_EQ(loading.errors().size(), 1u) << testing::PrintToString(loading.errors());
  EXPECT_THAT(loading.errors()[0], HasSubstr("checkpoint: 1; a block { ... } is wanted"));
}

}  // namespace
}  // namespace scenarios
