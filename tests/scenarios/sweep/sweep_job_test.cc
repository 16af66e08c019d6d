#include "scenarios/sweep/sweep_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/scenarios/sweep/sweeping.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> ErrorsOf(const SweepJob& job, const std::vector<std::string>& axes) {
  proto::Diagnostics diagnostics;
  CheckFields(job, PointsOfAxes(axes), &diagnostics);
  return diagnostics.errors();
}

TEST(SweepJob, TakesEveryFieldOfAllFourFilesForAnAxis) {
  EXPECT_THAT(
      ErrorsOf(SmallJob(), {"layout.tensor=1,2", "model=llama_7b,llama3_8b", "hardware=h100_sxm", "devices=8",
                            "hardware.node.nics=4", "topology.rail_optimised.uplinks_per_leaf=16",
                            "training.recompute=FULL", "nccl.environment=[\"NCCL_ALGO=Ring\"]",
                            "topology.faults[0].rate_factor=0.5", "model.kv_heads=8"}),
      ElementsAre());
}

TEST(SweepJob, RefusesFieldsAndValuesThatNoScenarioHasInOneRun) {
  EXPECT_THAT(ErrorsOf(SmallJob(), {"layout.tensr=1,2", "model.hiden=1", "training.recompute=NONE,FUL",
                                    "devices=8,many", "model.layers=4"}),
              ElementsAre(HasSubstr("--set model.layers: is swept as well"),
                          HasSubstr("layout.tensr: unknown field; did you mean layout.tensor?"),
                          HasSubstr("model.hiden: unknown field"), HasSubstr("devices: many is not a number"),
                          HasSubstr("did you mean FULL?")));
}

TEST(SweepJob, LoadsAPointOverItsSets) {
  const LoadedPoint loaded = Load(SmallJob(), {{"model", "llama3_8b"}, {"devices", "16"}});
  ASSERT_TRUE(loaded.scenario) << loaded.refused;
  EXPECT_EQ(loaded.scenario->model.name, "llama3_8b");
  EXPECT_EQ(loaded.scenario->model.layers, 4);
  EXPECT_EQ(loaded.scenario->devices, 16);
  EXPECT_TRUE(loaded.files.empty());
}

TEST(SweepJob, SaysWhichFilesAPointIsMadeOf) {
  const std::string folder = testing::TempDir() + "/sweep_job_files";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/job.textproto") << *SmallJob().text;
  std::ofstream(folder + "/my_net.textproto") << "name: \"my_net\" single_switch {}\n";
  proto::Diagnostics diagnostics;
  const auto job = ReadSweepJob(folder + "/job.textproto", {}, &diagnostics);
  ASSERT_TRUE(job) << testing::PrintToString(diagnostics.errors());
  const LoadedPoint loaded = Load(*job, {{"topology", "my_net"}});
  ASSERT_EQ(loaded.files.size(), 1u) << loaded.refused;
  EXPECT_THAT(loaded.files[0].path, HasSubstr("my_net.textproto"));
  // The scenario itself was read once, and is not read again.
  std::ofstream(folder + "/job.textproto") << "nothing";
  EXPECT_TRUE(Load(*job, {}).scenario);
}

TEST(SweepJob, IsRefusedWhereThereIsNoScenarioOrItsTextIsNone) {
  proto::Diagnostics unknown, empty;
  EXPECT_FALSE(ReadSweepJob("llama_70b_64xh80", {}, &unknown));
  EXPECT_THAT(unknown.errors(), ElementsAre(HasSubstr("did you mean llama_70b_64xh800")));
  const std::string file = testing::TempDir() + "/sweep_job_none.textproto";
  std::ofstream(file) << "modl: \"x\"\n";
  EXPECT_FALSE(ReadSweepJob(file, {}, &empty));
  EXPECT_THAT(empty.errors(), ElementsAre(HasSubstr("modl: unknown field")));
}

}  // namespace
}  // namespace scenarios
