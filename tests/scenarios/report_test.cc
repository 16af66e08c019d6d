#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "scenarios/catalogue.h"
#include "scenarios/loader.h"
#include "scenarios/output/report_json.h"
#include "scenarios/output/report_text.h"
#include "scenarios/run.h"
#include "scenarios/sharding.h"
#include "tests/scenarios/playing.h"

namespace scenarios {
namespace {

// The scenarios of the catalogue, the long ones with fewer micro-batches.
std::vector<Scenario> ShortScenarios() {
  std::vector<Scenario> list;
  for (const char* name :
       {"llama_7b_256xh800", "seed27_example", "megatron_22b_8xa100_full", "megatron_22b_8xa100_sp_selective",
        "sc21_gpt_3_6b_64xa100", "mcore_gpt_1_7b_48xh100"}) {
    list.push_back(LoadNamed(name));
  }
  list.push_back(LoadNamed("llama_7b_256xh800", {{1, "training.optimizer_sharding", "ZERO_1"}}));
  list.push_back(LoadNamed("llama_70b_64xh800_a", {{1, "batch.global", "16"}}));
  list.push_back(LoadNamed("llama_70b_64xh800_a", {{1, "batch.global", "16"},
                                                   {2, "training.recompute", "FULL"},
                                                   {3, "training.recompute_method", "BLOCK"},
                                                   {4, "training.recompute_layers", "3"}}));
  // Hybrid sharding of experts and of a tied table, over copies and tensor ranks.
  list.push_back(LoadNamed("llama_7b_256xh800", {{1, "model", "mixtral_8x7b"},
                                                 {2, "layout.tensor", "4"},
                                                 {5, "layout.expert_tensor", "4"},
                                                 {3, "batch.global", "512"},
                                                 {4, "training.sharding.ranks", "16"}}));
  list.push_back(LoadNamed("mpt_7b_8xa100", {{1, "training.sharding.no_sync", "true"}}));
  list.push_back(LoadNamed("llama_70b_64xh800_b", {{1, "batch.global", "20"}}));
  // Layers of other kinds: experts, narrow vectors, halves side by side.
  list.push_back(
      LoadNamed("llama_70b_64xh800_b",
                {{1, "batch.global", "20"}, {2, "model", "mixtral_8x22b"}, {3, "model.layers", "16"}}));
  list.push_back(LoadNamed("megatron_22b_8xa100_sp_selective", {{1, "model", "deepseek_v2_lite"}}));
  list.push_back(LoadNamed("megatron_22b_8xa100_sp_selective", {{1, "model", "palm_540b"},
                                                                {2, "model.layers", "4"},
                                                                {3, "model.heads", "48"},
                                                                {4, "model.kv_heads", "8"}}));
  // Last: tied embedding over two stages of GPT-2, interleaved, replicated optimizer.
  list.push_back(LoadNamed("llama_70b_64xh800_c", {{1, "model", "gpt2"},
                                                   {2, "layout.tensor", "4"},
                                                   {3, "layout.virtual", "3"},
                                                   {8, "pipeline.schedule", "INTERLEAVED"},
                                                   {4, "layout.data", "8"},
                                                   {5, "batch.global", "64"},
                                                   {6, "batch.sequence_length", "1024"},
                                                   {7, "training.optimizer_sharding", "NONE"}}));
  return list;
}

sim::Duration SumOf(const std::vector<TimePart>& parts) {
  sim::Duration sum;
  for (const TimePart& part : parts) sum += part.time;
  return sum;
}

TEST(Report, PartsAddUpToTheirWholeToThePicosecond) {
  for (const Scenario& scenario : ShortScenarios()) {
    SCOPED_TRACE(scenario.name);
    const Report report = scenarios::Run(scenario).value().report;
    EXPECT_TRUE(report.steady);
    EXPECT_EQ(SumOf(report.breakdown), report.step_time);
    EXPECT_EQ(SumOf(report.critical_path), report.step_time);
    for (const StageReport& stage : report.stages) {
      EXPECT_EQ(SumOf(stage.breakdown), report.step_time);
      sim::Bytes memory;
      for (const BytePart& part : stage.memory) memory += part.bytes;
      EXPECT_EQ(memory, stage.memory_total);
      EXPECT_EQ(stage.micro_batches_in_flight,
                scenario.pipeline.schedule->in_flight(scenario.pipeline.shape,
                                                      static_cast<std::uint32_t>(stage.stage)));
    }
    std::int64_t layers = 0;
    for (const StageReport& stage : report.stages) layers += stage.layers;
    EXPECT_EQ(layers, scenario.model.layers);
    for (const TierReport& tier : report.tiers) EXPECT_LE(tier.max_utilisation, 1.0) << tier.name;
  }
}

// What a rank sends by rings: twice (n-1)/n of a reduced tensor, once of a
// gathered or scattered one; a send is a send.
double Sent(const std::string& kind, double size, double n) {
  if (kind == "all-reduce") return 2 * size * (n - 1) / n;
  return kind == "send/recv" ? size : size * (n - 1) / n;
}

// Bytes that each rank sends in the run, added by class.
std::vector<std::map<sim::TaskClass, double>> SentByRank(const sim::Program& p) {
  std::vector<std::map<sim::TaskClass, double>> sent(p.ranks);
  for (std::size_t t = 0; t < p.tasks(); ++t) {
    if (p.row(sim::TaskId(t)).kind != sim::TaskKind::kSeat) continue;
    const sim::StreamKind stream = p.stream_kind_of(sim::TaskId(t));
    if (stream == sim::StreamKind::kFromNext || stream == sim::StreamKind::kFromPrevious) continue;
    const sim::Communication& c = p.communications[p.communication_of(sim::TaskId(t)).pos()];
    const sim::Traffic& traffic = p.traffics[c.traffic.pos()];
    sent[p.rank_of(sim::TaskId(t)).pos()][p.row(sim::TaskId(t)).task_class] +=
        Sent(p.names[traffic.name], static_cast<double>(traffic.size.count()), c.seats);
  }
  return sent;
}

TEST(Report, ClosedFormBytesAreThoseThatTheProgramSends) {
  for (const Scenario& scenario : ShortScenarios()) {
    SCOPED_TRACE(scenario.name);
    const RunResult run = scenarios::Run(scenario, {.fold = false}).value();
    const ClosedForm& form = run.report.closed_form;
    const auto steps = static_cast<double>(scenario.steps);
    // ZeRO-1 gathers parameters beside the next step's forward: once less than steps.
    const double gathers = SharingOf(scenario).weights ? steps : steps - 1;
    const double data = form.gradient_bytes_per_rank * steps + form.parameter_bytes_per_rank * gathers;
    double most_data = 0, most_tensor = 0, most_pipeline = 0;
    for (auto& by_class : SentByRank(run.steps.program)) {
      most_data = std::max(most_data, by_class[sim::TaskClass::kData]);
      most_tensor = std::max(most_tensor, by_class[sim::TaskClass::kTensor]);
      most_pipeline = std::max(most_pipeline, by_class[sim::TaskClass::kPipeline]);
    }
    EXPECT_NEAR(most_data, data, 1e-6 * data);
    EXPECT_NEAR(most_tensor, form.tensor_bytes_per_rank * steps, 1e-6 * most_tensor);
    EXPECT_NEAR(most_pipeline, form.pipeline_bytes_per_rank * steps, 1e-6 * most_pipeline);
  }
}

// Source: errata of 17.5.7 and HB-007: a tied table lives on both ends of the
// pipeline, and its gradient is reduced between them once a step.
TEST(Report, ATiedTableIsReducedBetweenTheEndsOfThePipeline) {
  const Scenario scenario = ShortScenarios().back();
  const RunResult run = scenarios::Run(scenario, {.fold = false}).value();
  std::map<std::uint32_t, int> seats;  // by stage
  for (std::size_t t = 0; t < run.steps.program.tasks(); ++t) {
    if (run.steps.program.row(sim::TaskId(t)).task_class != sim::TaskClass::kEmbedding) continue;
    const sim::Rank rank = run.steps.program.rank_of(sim::TaskId(t));
    ++seats[static_cast<std::uint32_t>(scenario.layout.Coordinate(rank, Dimension::kPipeline))];
  }
  const int ranks_of_stage = static_cast<int>(scenario.layout.tensor * scenario.layout.data);
  EXPECT_EQ(seats.size(), 2u);
  EXPECT_EQ(seats[0], ranks_of_stage * scenario.steps);
}

TEST(Report, ASecondRunIsTheSameToTheLastByte) {  // HB-228
  const Scenario scenario = LoadNamed("llama_7b_256xh800");
  const Report first = scenarios::Run(scenario).value().report,
               second = scenarios::Run(scenario).value().report;
  EXPECT_EQ(ReportJson(first), ReportJson(second));
  EXPECT_EQ(ReportText(first), ReportText(second));
}

TEST(Report, TextFitsAHundredColumns) {
  for (const Scenario& scenario : ShortScenarios()) {
    std::istringstream lines(ReportText(scenarios::Run(scenario).value().report));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
}

TEST(Report, ChunkFidelityGivesTheSameStepWithinAPerCent) {
  const std::vector<proto::Override> small = {{1, "model.layers", "2"}, {2, "steps", "2"}};
  Scenario scenario = LoadNamed("megatron_22b_8xa100_full", small);
  const double flow = scenarios::Run(scenario).value().report.step_time.seconds();
  scenario.fidelity = Fidelity::kChunk;
  EXPECT_NEAR(scenarios::Run(scenario).value().report.step_time.seconds() / flow, 1, 0.01);
}

TEST(Report, MfuIsTheModelsFlopsOverPeakAndHfuCountsRecomputation) {
  const Report report = scenarios::Run(LoadNamed("llama_7b_256xh800")).value().report;
  // 6 (QKVO + MLP + logits) + 12 s h a layer and token, 4,194,304 tokens; LLaMA-7B:
  // 32 (4 4096^2 + 3 4096 11008) + 4096 32000 = 6,607,077,376 weights in products.
  const double linear = 6.0 * 6'607'077'376, attention = 32 * 12.0 * 4096 * 4096;
  const double peak = 256 * 989.4e12;
  EXPECT_NEAR(report.mfu, (linear + attention) * 4'194'304 / report.step_time.seconds() / peak, 1e-9);
  // The layers' forward once more: a third of their 6, not of the logits'.
  const double again = 2.0 * (6'607'077'376 - 4096.0 * 32000) + attention / 3;
  EXPECT_NEAR(report.hfu, (linear + attention + again) * 4'194'304 / report.step_time.seconds() / peak, 1e-9);
  EXPECT_NEAR(report.closed_form.six_pd_flops, 6.0 * 6'738'415'616 * 4'194'304, 1e6);
}

TEST(Report, CostIsDeviceHoursTimesPrice) {
  const Report report = scenarios::Run(LoadNamed("llama_7b_256xh800")).value().report;
  EXPECT_NEAR(*report.cost_usd_per_step, 256 * 3.0 * report.step_time.seconds() / 3600, 1e-9);
}

// The last step's gathers share their links with no next step's, so it alone is shorter.
TEST(Report, AShorterLastStepIsNotTheStepTime) {
  const auto run = [](const char* steps) {
    return scenarios::Run(LoadNamed("deepseek_v2_l4_8xb200_pp2",
                                    {{1, "batch.sequence_length", "1024"}, {2, "steps", steps}}))
        .value()
        .report;
  };
  const Report three = run("3"), five = run("5"), six = run("6");
  EXPECT_FALSE(three.steady);
  EXPECT_TRUE(five.steady);
  EXPECT_TRUE(six.steady);
  EXPECT_EQ(five.step_time, six.step_time);
  EXPECT_GT(five.step_time, three.step_time);
  for (const StageReport& stage : five.stages) EXPECT_EQ(SumOf(stage.breakdown), five.step_time);
}

// sc21_gpt_3_6b_64xa100 states a published step time; with another batch it is another job.
TEST(Report, ComparesWithWhatWasPublishedWhileTheJobIsThePublishedOne) {
  const char* name = "sc21_gpt_3_6b_64xa100";
  const Report as_it_is = scenarios::Run(LoadNamed(name, {{1, "steps", "2"}})).value().report;
  EXPECT_TRUE(as_it_is.published_applies);
  EXPECT_THAT(ReportText(as_it_is), testing::HasSubstr(" % off\n"));
  const Report changed = scenarios::Run(LoadNamed(name, {{1, "batch.global", "1024"}})).value().report;
  EXPECT_FALSE(changed.published_applies);
  EXPECT_THAT(ReportText(changed), testing::HasSubstr(" s, for the job before --set changed it\n"));
  EXPECT_THAT(ReportText(changed), testing::Not(testing::HasSubstr("% off")));
}

// The device has figures of FlashAttention-2 for training and for serving; a step leans on the former.
TEST(Report, LeansOnNoFiguresOfServing) {
  const Report report = scenarios::Run(LoadNamed("mpt_7b_8xa100", {{1, "steps", "2"}})).value().report;
  int training = 0, serving = 0;
  for (const Provenance& figure : report.figures) {
    if (figure.key.starts_with("attention")) training += figure.used ? 1 : 0;
    if (!figure.key.starts_with("paged_attention")) continue;
    ++serving;
    EXPECT_FALSE(figure.used) << figure.key;
  }
  EXPECT_GE(training, 1);
  EXPECT_GE(serving, 1);
}

bool LeansOn(const Report& report, const std::string& key) {
  const auto is = [&](const Provenance& figure) { return figure.key == key; };
  const auto found = std::find_if(report.figures.begin(), report.figures.end(), is);
  EXPECT_NE(found, report.figures.end()) << key;
  return found != report.figures.end() && found->used;
}

// What changes when a figure of the device does was not independent of it: two runs each.
TEST(Report, LeansOnFiguresThatChangeTheResult) {
  struct Case {
    const char* name;
    std::vector<proto::Override> job;
    const char* key;  // of the device
    const char* field;
    const char* value;
    bool changes;
  };
  const std::vector<proto::Override> eager = {{2, "training.launches", "EAGER"}};
  const std::vector<proto::Override> pcie_alone = {{2, "hardware", "l40s"}};
  const std::vector<proto::Override> blocks = {{2, "training.matmul.recipe", "FP8_BLOCK"}};
  const Case cases[] = {
      {"mpt_7b_8xa100", {}, "node.launch", "eager_operation_us", "200", false},
      {"mpt_7b_8xa100", eager, "node.launch", "eager_operation_us", "200", true},
      {"llama3_8b_8xh100", {}, "node.pcie", "efficiency", "0.5", false},
      {"llama3_8b_8xh100", pcie_alone, "node.pcie", "efficiency", "0.5", true},
      {"llama3_8b_8xh100", {}, "exchanges[0]", "base_us", "500", false},
      {"llama3_8b_8xh100", {}, "peaks[2]", "tflops", "2500", false},
      {"llama3_8b_8xh100", blocks, "peaks[2]", "tflops", "2500", true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.name) + ' ' + c.key + (c.changes ? " changes" : ""));
    std::vector<proto::Override> changed = c.job;
    changed.push_back({1, std::string("hardware.") + c.key + '.' + c.field, c.value});
    const Report before = scenarios::Run(LoadNamed(c.name, c.job)).value().report;
    const Report after = scenarios::Run(LoadNamed(c.name, changed)).value().report;
    EXPECT_EQ(before.digest != after.digest || before.matmul_peak_tflops != after.matmul_peak_tflops,
              c.changes);
    EXPECT_EQ(LeansOn(before, c.key), c.changes);
  }
}

// It is fitted, not measured, and no figure of a file.
TEST(Report, OfEagerStepsSaysHowManyOperationsAKernelTakes) {
  const Report report =
      scenarios::Run(LoadNamed("mpt_7b_8xa100", {{1, "training.launches", "EAGER"}})).value().report;
  const Provenance& last = report.figures.back();
  EXPECT_EQ(last.key, "operations_per_kernel");
  EXPECT_EQ(last.value, "1.45");
  EXPECT_EQ(last.basis, "assumed");
  EXPECT_TRUE(last.used);
  // Nothing is sent by a launch.
  for (const TimePart& part : report.critical_path) {
    EXPECT_FALSE(part.name.starts_with("launch ")) << part.name;
  }
  const Report captured = scenarios::Run(LoadNamed("mpt_7b_8xa100")).value().report;
  EXPECT_NE(captured.figures.back().key, "operations_per_kernel");
}

}  // namespace
}  // namespace scenarios
