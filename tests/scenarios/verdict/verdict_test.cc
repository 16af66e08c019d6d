#include "scenarios/verdict/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "scenarios/budget/data_storage.h"
#include "scenarios/output/report_json.h"
#include "scenarios/output/report_text.h"
#include "scenarios/run.h"
#include "scenarios/verdict/remedies.h"

namespace scenarios {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// LLaMA-7B of four layers, data ranks only: each case sets what makes it what it is.
constexpr const char* kJob = R"(name: "small"
source { title: "made for the tests" }
model: "llama_7b"
hardware: "h100_sxm"
topology: "rail_optimised_ndr"
devices: 16
layout { tensor: 1 sequence: false context: 1 pipeline: 1 virtual: 1 expert: 1 expert_tensor: 1 }
batch { global: 16 micro: 1 sequence_length: 2048 }
)";

Changes Split(const std::string& words) {
  std::istringstream in(words);
  return {std::istream_iterator<std::string>(in), {}};
}

// kJob with more set, and its verdict.
struct Judged {
  Reload reload;
  std::optional<Scenario> scenario;
  Report report;
};

Judged Judge(const std::string& sets) {
  Judged judged;
  judged.reload = ReloadOf("small.textproto", {{1, "model.layers", "4"}}, kJob);
  const auto loaded = judged.reload(Split(sets));
  EXPECT_TRUE(loaded.ok()) << sets << ": " << (loaded.ok() ? "" : loaded.error().message);
  if (!loaded.ok()) return judged;
  judged.scenario = loaded.value();
  // What a suggestion sets comes on top of what the case did.
  const Reload first = judged.reload;
  judged.reload = [first, sets](const Changes& more) {
    Changes all = Split(sets);
    for (const std::string& set : more) {
      const std::string path = set.substr(0, set.find('=') + 1);
      std::erase_if(all, [&](const std::string& old) { return old.starts_with(path); });
      all.push_back(set);
    }
    return first(all);
  };
  judged.report = scenarios::Run(*judged.scenario).value().report;
  judged.report.verdict = MakeVerdict(*judged.scenario, judged.report, judged.reload);
  return judged;
}

// With saves, in the long run.
double TokensPerSecond(const Report& report) {
  const sim::Duration step = report.checkpoint ? report.checkpoint->effective_step_time : report.step_time;
  return static_cast<double>(report.global_batch * report.sequence_length) / step.seconds();
}

struct Case {
  const char* id;
  const char* sets;
};

// Jobs of which the cause is known, since it was put there.
const Case kCases[] = {
    // Layers run again from their inputs; nothing else is large. Table 17-59, first row.
    {"recomputation", "training.recompute=FULL batch.global=256"},
    // Four micro-batches in four stages: (p-1)/(m+p-1) = 3/7 of the pipeline's time. Its third row.
    {"pipeline_bubble", "devices=8 layout.pipeline=4 model.layers=8 batch.global=8"},
    // The last stage has logits of 128,000 words beside as many layers as the others.
    {"stage_imbalance",
     "devices=8 layout.pipeline=4 model.layers=16 batch.global=64 model.vocabulary=128000"},
    // The most popular of eight experts gets 1 / (1 + 1/2 + ... + 1/8) = 37 % of the tokens.
    {"expert_imbalance",
     "devices=8 model=mixtral_8x7b layout.expert=8 batch.global=16 experts.routing=ZIPF "
     "experts.zipf_exponent=1"},
    // The last of eight parts of a long sequence sees all keys, the first an eighth. Table 17-93, last row.
    {"context_imbalance",
     "devices=8 layout.context=8 layout.zigzag=false batch.sequence_length=65536 batch.global=1"},
    // One micro-batch between two reductions. Table 17-59, second row.
    {"data_parallel", ""},
    {"data_parallel", "training.overlap_gradient_reduce=false"},
    // Weights gathered, and gradients scattered, with each of four micro-batches.
    {"data_parallel", "training.optimizer_sharding=ZERO_3 batch.global=64"},
    // GPT-2's table is a third of it, and lies on both ends of a pipeline across nodes.
    {"tied_embedding", "layout.pipeline=2 model=gpt2 batch.sequence_length=1024 batch.global=16"},
    // Two collectives a layer and direction over eight GPUs that hold a 4,096-wide layer; over two nodes.
    {"tensor_parallel", "devices=8 layout.tensor=8 batch.global=8"},
    {"tensor_parallel", "layout.tensor=16 batch.global=8"},
    // A thousand tokens a rank: keys take longer to pass on than to attend to.
    {"context_parallel", "layout.context=16 batch.sequence_length=16384 batch.global=1"},
    // Eight of 128 small experts a token, over two nodes.
    {"expert_parallel", "model=qwen3_30b_a3b layout.expert=16 batch.global=32"},
    // Four pieces a stage, two stages on two nodes that share one NIC.
    {"pipeline_transfers",
     "layout.pipeline=2 layout.virtual=4 model.layers=8 batch.global=64 hardware.node.nics=1"},
    // PCIe takes longer for a layer's activations than the layer does.
    {"offload", "devices=1 training.offload.activation_layers=4 batch.global=8"},
    {"offload", "devices=1 training.offload.optimizer=1 batch.global=8"},
    // All ranks update all parameters, after 512 tokens each.
    {"optimizer",
     "devices=4 model.layers=8 batch.global=4 batch.sequence_length=512 "
     "training.optimizer_sharding=NONE"},
    // A head of 512 wide vectors and 32,000 words is read and written more than multiplied.
    {"memory_bandwidth", "devices=1 batch.global=8 model.hidden=512 model.ffn=1024 model.head_dim=16"},
    // Scores of all heads are written and read.
    {"memory_bandwidth",
     "devices=1 batch.global=8 model.hidden=512 model.ffn=1024 model.head_dim=16 "
     "training.attention=UNFUSED"},
    // Kernels of 128 tokens take a few us; their host takes 29 for each. A head of 512 wide vectors would be
    // memory_bandwidth, but shorter kernels would be waited for as long.
    {"host_launches",
     "devices=1 batch.global=8 model.hidden=512 model.ffn=1024 model.head_dim=16 batch.sequence_length=128 "
     "training.launches=EAGER"},
    // 1 GB/s for saves of 15 GB, one behind each step of a fraction of a second.
    {"save_stalls",
     "steps=8 checkpoint.every_steps=1 checkpoint.path=FRONTEND checkpoint.frontend_gb_per_s=1000 "
     "checkpoint.storage.servers=1 checkpoint.storage.write_gb_per_s=1 checkpoint.storage.read_gb_per_s=1 "
     "checkpoint.storage.source.title=made checkpoint.source.title=made"},
};

// Pipelines are for jobs that have one, a tensor group for one node, and experts for models with them.
void ExpectOfUse(const Suggestion& suggestion, const Scenario& job, const Scenario& changed) {
  EXPECT_LE(changed.layout.tensor, job.device.node.devices);
  for (const std::string& set : suggestion.set) {
    const bool of_pipelines = set.starts_with("layout.virtual") || set.starts_with("pipeline.s");
    EXPECT_TRUE(!of_pipelines || job.layout.pipeline > 1) << set;
    const bool of_experts = set.starts_with("experts.") || set.starts_with("layout.expert=");
    EXPECT_TRUE(!of_experts || job.model.experts.routed > 0) << set;
  }
}

TEST(Verdict, NamesTheCauseAndWhatItSuggestsMakesTheStepFaster) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(std::string(c.id) + ": " + c.sets);
    const Judged judged = Judge(c.sets);
    ASSERT_TRUE(judged.scenario.has_value());
    const Verdict& verdict = *judged.report.verdict;
    EXPECT_EQ(verdict.id, c.id) << verdict.text;
    EXPECT_GE(verdict.share, 0.05);
    ASSERT_THAT(verdict.suggestions, Not(IsEmpty()));
    for (const Suggestion& suggestion : verdict.suggestions) {
      SCOPED_TRACE(suggestion.text);
      const auto changed = judged.reload(suggestion.set);
      ASSERT_TRUE(changed.ok());
      ExpectOfUse(suggestion, *judged.scenario, changed.value());
      const double faster = TokensPerSecond(scenarios::Run(changed.value()).value().report);
      EXPECT_GT(faster, TokensPerSecond(judged.report));
    }
  }
}

// The README's small GPT: reductions over six nodes hold it up longer than its hosts do. The step without
// launches is the same one captured.
TEST(Verdict, NamesHostsThatAreBehindBesideALargerLoss) {
  const Reload reload = ReloadOf("mcore_gpt_1_7b_48xh100", {});
  const Changes eager = {"batch.sequence_length=256", "training.launches=EAGER"};
  const Scenario scenario = reload(eager).value();
  Report report = scenarios::Run(scenario).value().report;
  const Verdict verdict = MakeVerdict(scenario, report, [&](const Changes& more) {
    Changes all = more;
    all.push_back(eager.front());
    if (more.front().find("launches") == std::string::npos) all.push_back(eager.back());
    return reload(all);
  });
  EXPECT_EQ(verdict.id, "data_parallel");
  EXPECT_THAT(verdict.text, HasSubstr(". Beside it, the device waits 19."));
  ASSERT_THAT(verdict.suggestions, Not(IsEmpty()));
  EXPECT_EQ(verdict.suggestions.back().set, Changes{"training.launches=CUDA_GRAPHS"});
  const auto captured = reload({eager.front(), "training.launches=CUDA_GRAPHS"});
  const double saved =
      1 - scenarios::Run(captured.value()).value().report.step_time.seconds() / report.step_time.seconds();
  EXPECT_GT(saved, 0.1);
}

// A save behind each step of a fraction of a second.
TEST(Verdict, NamesSavesThatAStepWaitsForAndWritingThemBesideItIsFaster) {
  const std::string storage =
      "steps=8 training.optimizer_sharding=ZERO_1 checkpoint.every_steps=1 checkpoint.mode=SYNC "
      "checkpoint.path=FRONTEND checkpoint.frontend_gb_per_s=1000 checkpoint.storage.servers=100 "
      "checkpoint.storage.write_gb_per_s=100 checkpoint.storage.read_gb_per_s=100 "
      "checkpoint.storage.source.title=made checkpoint.source.title=made";
  const Judged judged = Judge(storage);
  ASSERT_TRUE(judged.scenario.has_value());
  const Verdict& verdict = *judged.report.verdict;
  EXPECT_EQ(verdict.id, "saves") << verdict.text;
  ASSERT_THAT(verdict.suggestions, Not(IsEmpty()));
  EXPECT_EQ(verdict.suggestions.front().set, Changes{"checkpoint.mode=ASYNC"});
  const Report changed =
      scenarios::Run(judged.reload(verdict.suggestions.front().set).value()).value().report;
  EXPECT_GT(TokensPerSecond(changed), TokensPerSecond(judged.report));
}

TEST(Verdict, SaysByHowMuchAJobDoesNotFitAndWhatItSuggestsFits) {
  const Judged judged =
      Judge("devices=8 model=llama2_70b model.layers=24 batch.global=8 training.optimizer_sharding=NONE");
  ASSERT_TRUE(judged.scenario.has_value());
  const Verdict& verdict = *judged.report.verdict;
  EXPECT_EQ(verdict.id, "memory");
  const auto has = static_cast<double>(judged.report.memory_per_device.count());
  const auto holds = static_cast<double>(judged.report.stages.front().memory_total.count());
  EXPECT_DOUBLE_EQ(verdict.share, holds / has - 1);
  EXPECT_THAT(verdict.text, HasSubstr(" too much: moments "));
  ASSERT_THAT(verdict.suggestions, Not(IsEmpty()));
  for (const Suggestion& suggestion : verdict.suggestions) {
    EXPECT_TRUE(scenarios::Run(judged.reload(suggestion.set).value()).value().report.fits) << suggestion.text;
  }
}

// 64 sequences on one device, nothing to wait for: the share of the peak is MFU over compute's part.
TEST(Verdict, OfAJobThatComputesAllTheTimeHasNothingToSuggest) {
  const Judged judged = Judge("devices=1 batch.global=64");
  const Verdict& verdict = *judged.report.verdict;
  EXPECT_EQ(verdict.id, "compute");
  EXPECT_GT(verdict.share, 0.95);
  EXPECT_THAT(verdict.suggestions, IsEmpty());
  EXPECT_THAT(verdict.text, HasSubstr("nothing obvious to gain"));
}

TEST(Verdict, AStageThatWorksLongerIsTakenFromTheMeanOfAll) {
  const Judged judged =
      Judge("devices=8 layout.pipeline=4 model.layers=16 batch.global=64 model.vocabulary=128000");
  double mean = 0, most = 0;
  for (const StageReport& stage : judged.report.stages) {
    mean += stage.busy.seconds() / 4;
    most = std::max(most, stage.busy.seconds());
  }
  EXPECT_DOUBLE_EQ(judged.report.verdict->share, (most - mean) / judged.report.step_time.seconds());
}

TEST(Losses, AreTheBreakdownsPartsAndGradientNormHasARemedyOfItsOwn) {
  Judged judged = Judge("");
  for (TimePart& part : judged.report.breakdown) {
    part.time = part.name == "gradient norm" ? judged.report.step_time : sim::Duration();
  }
  const std::vector<Loss> losses = LossesOf(*judged.scenario, judged.report);
  ASSERT_EQ(losses.size(), 1u);
  EXPECT_EQ(losses[0].limit, Limit::kGradientNorm);
  EXPECT_DOUBLE_EQ(losses[0].share, 1);
  EXPECT_EQ(MakeVerdict(*judged.scenario, judged.report, judged.reload).suggestions.front().set,
            Changes{"batch.global=32"});
}

TEST(Losses, IdsAreDifferentAndWrittenAsFieldsAre) {
  std::set<std::string> ids;
  for (int limit = 0; limit <= static_cast<int>(Limit::kCompute); ++limit) {
    const std::string id = IdOf(static_cast<Limit>(limit));
    EXPECT_THAT(id, testing::MatchesRegex("[a-z_]+"));
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), static_cast<std::size_t>(Limit::kCompute) + 1);
}

// Table 17-93 asks whether disks, tokenizers or host memory keep devices waiting. No event of a step does, so
// the verdict says what they have to bring: 2 bytes a token for 32,000 words; four bytes of text a token, at
// 1 MB/s a core.
TEST(Verdict, SaysWhatDataLoadingHasToBring) {
  const Judged judged = Judge("devices=1 batch.global=64");
  const double tokens_per_s = 64 * 2048 / judged.report.step_time.seconds();
  char wanted[100];
  std::snprintf(wanted, sizeof wanted, "%.3g MB/s of token numbers", tokens_per_s * 2e-6);
  EXPECT_THAT(judged.report.verdict->note, HasSubstr(wanted));
  EXPECT_THAT(judged.report.verdict->note,
              HasSubstr("meanwhile: " + std::to_string(TokenizerCores(tokens_per_s, 4, 1e6)) + ")"));
}

TEST(Verdict, StandsUnderTheReportAndInItsJson) {
  const Judged judged = Judge("devices=8 layout.tensor=8 batch.global=8");
  const Verdict& verdict = *judged.report.verdict;
  const std::string text = ReportText(judged.report);
  EXPECT_GT(text.find("Verdict: collectives of the tensor group, 8 ranks, hold up "), text.find("digest"));
  EXPECT_THAT(text, HasSubstr("\n  try --set layout.tensor=4: "));
  const auto json = nlohmann::json::parse(ReportJson(judged.report))["verdict"];
  EXPECT_EQ(json["id"], "tensor_parallel");
  EXPECT_EQ(json["share"], verdict.share);
  EXPECT_EQ(json["suggestions"][0]["set"], Changes{"layout.tensor=4"});
  EXPECT_EQ(json["note"], verdict.note);
}

}  // namespace
}  // namespace scenarios
