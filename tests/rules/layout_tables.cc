// 17.5.8: the ranges of a layout's dimensions (table 17-62), and its tree of decisions (figure 17-26).

#include <algorithm>

#include "tests/rules/rules.h"
#include "tests/rules/sweep.h"

namespace rules {
namespace {

Sweep Refusals() {
  Sweep sweep{
      .setting =
          R"(Layouts of Llama-2-70B and of Qwen3-30B-A3B at the ends of the ranges and beyond: what the
program says of them.)",
      .columns = {"layout", "judged"},
      .claims = {"the program agrees with the range"},
      .rows = {}};
  struct Layout {
    const char* what;
    bool in_range;
    const char* scenario;
    Sets sets;
  };
  const char *dense = "llama_70b_64xh800_pp4", *experts = "qwen3_30b_a3b_16xh100";
  const auto of = [](const char* devices, const char* tensor, const char* pipeline, const char* data) {
    return Sets{{"devices", devices},
                {"layout.tensor", tensor},
                {"layout.pipeline", pipeline},
                {"layout.data", data},
                {"batch.global", "64"}};
  };
  for (const Layout& layout :
       {Layout{"tensor 8, pipeline 4, data 2", true, dense, of("64", "8", "4", "2")},
        Layout{"tensor 16, pipeline 2, data 2", false, dense, of("64", "16", "2", "2")},
        Layout{"pipeline 80, a layer a stage", true, dense, of("320", "4", "80", "1")},
        Layout{"pipeline 160, more than layers", false, dense, of("640", "4", "160", "1")},
        Layout{"data 16", true, dense, of("64", "4", "1", "16")},
        Layout{"data 1", true, dense, of("64", "8", "8", "1")},
        Layout{"expert 16, twice 8 a token", true, experts, {{"layout.expert", "16"}}},
        Layout{"expert 32 of 128 on 32 devices",
               false,
               experts,
               {{"devices", "32"}, {"layout.expert", "32"}}}}) {
    const bool legal = RefusalOf(layout.scenario, layout.sets).empty();
    sweep.rows.push_back({{layout.what, legal ? "taken" : "refused"}, {Answer(legal == layout.in_range)}});
  }
  return sweep;
}

Sweep TwicePerToken() {
  Sweep sweep{.setting =
                  R"(Experts over 2 to 32 of 32 H800: four layers of Mixtral (2 of 8 a token), eight of
Qwen3-30B-A3B (8 of 128). Step in ms.)",
              .columns = {"job", "expert 2", "4", "8", "16", "32"},
              .claims = {"twice the experts of a token is the fastest"},
              .rows = {}};
  struct Job {
    const char *what, *model, *layers;
    int per_token, routed;
    Sets more;
  };
  const Sets turns = {{"experts.dispatcher", "DEEPEP"}, {"pipeline.overlap_experts", "true"}};
  for (const Job& job : {Job{"Mixtral, all-to-all", "mixtral_8x7b", "4", 2, 8, {}},
                         Job{"Qwen3, all-to-all", "qwen3_30b_a3b", "8", 8, 128, {}},
                         Job{"Qwen3, once a node and by turns", "qwen3_30b_a3b", "8", 8, 128, turns}}) {
    Row row{{job.what}, ""};
    double least = 0, twice = 0;
    for (const int expert : {2, 4, 8, 16, 32}) {
      if (expert > job.routed) {
        row.cells.push_back("");
        continue;
      }
      const Sets sets = {{"model", job.model},
                         {"model.layers", job.layers},
                         {"hardware", "h800_sxm"},
                         {"devices", "32"},
                         {"batch.global", "128"},
                         {"layout.expert", std::to_string(expert)},
                         {"training.attention", "FLASH3"}};
      const double step = Simulate("qwen3_30b_a3b_16xh100", sets + job.more).step_time.seconds();
      row.cells.push_back(Milliseconds(step));
      if (least == 0 || step < least) least = step;
      if (expert == 2 * job.per_token) twice = step;
    }
    row.answers = std::string(1, Answer(twice == least));
    sweep.rows.push_back(row);
  }
  return sweep;
}

struct Candidate {
  const char* what;
  Sets sets;
};
// One branch of the tree: its layout first, then others.
struct Branch {
  const char* model;
  Sets job;
  std::vector<const char*> sequences;
  std::vector<Candidate> layouts;
};

Sets Cut(const char* tensor, const char* pipeline, const char* sharding) {
  return {{"layout.tensor", tensor},
          {"layout.sequence", std::string(tensor) == "1" ? "false" : "true"},
          {"layout.pipeline", pipeline},
          {"training.optimizer_sharding", sharding}};
}

std::vector<Branch> Branches() {
  const auto job = [](const char* model, const char* devices, const char* layers, const char* tokens) {
    return Sets{{"model", model},         {"devices", devices},
                {"model.layers", layers}, {"batch.sequence_length", tokens},
                {"batch.micro", "1"},     {"training.recompute", "NONE"}};
  };
  const Sets middle = job("llama2_13b", "32", "40", "4096");
  return {{"1.7B on 16",
           job("mcore_gpt_1_7b", "16", "24", "2048"),
           {"32", "128"},
           {{"data", Cut("1", "1", "NONE")},
            {"pipeline 2", Cut("1", "2", "NONE")},
            {"tensor 2", Cut("2", "1", "NONE")}}},
          {"13B on 32",
           middle,
           {"32", "128"},
           {{"pipeline 4", Cut("1", "4", "NONE")},
            {"data", Cut("1", "1", "NONE")},
            {"tensor 4", Cut("4", "1", "NONE")}}},
          {"13B on 32, ZeRO",
           middle,
           {"32", "128", "512"},
           {{"pipeline 4, ZeRO-1", Cut("1", "4", "ZERO_1")},
            {"data, ZeRO-1", Cut("1", "1", "ZERO_1")},
            {"data, ZeRO-3", Cut("1", "1", "ZERO_3")}}},
          {"four layers of 1T on 32",
           job("megatron_1t", "32", "4", "2048"),
           {"32", "128"},
           {{"tensor 4, pipeline 4", Cut("4", "4", "NONE")},
            {"pipeline 4", Cut("1", "4", "NONE")},
            {"pipeline 4, ZeRO-1", Cut("1", "4", "ZERO_1")}}}};
}

// Whether the first of a branch's layouts is the fastest of those that fit.
Row Judge(const Branch& branch, const char* sequences) {
  Row row{{std::string(branch.model) + ", " + sequences + " sequences"}, ""};
  double tree = 0, least = 0;
  for (const Candidate& layout : branch.layouts) {
    const Sets batch = {{"batch.global", sequences}};
    const scenarios::Report report = Simulate("llama_7b_256xh800", branch.job + batch + layout.sets);
    const double step = report.step_time.seconds();
    row.cells.push_back(std::string(layout.what) + ": " +
                        (report.fits ? Milliseconds(step, 0) : "does not fit"));
    if (!report.fits) continue;
    if (&layout == &branch.layouts[0]) tree = step;
    if (least == 0 || step < least) least = step;
  }
  row.answers = std::string(1, Answer(tree > 0 && tree == least));
  return row;
}

}  // namespace

Rule RangesOfLayouts() {
  return {.id = "Table 17-62",
          .says =
              R"(Tensor at most 8, pipeline 1 to a stage a layer, data from 1 without limit, expert about
twice the experts that a token visits, to balance loads.)",
          .turns =
              R"(16 tensor ranks run; the best number of expert ranks is the node's 8, or more where
dispatch hides.)",
          .sweeps = {Refusals(), TwicePerToken()},
          .because =
              R"(What makes no layout is refused. Wider tensor groups (with a warning) and more expert
ranks are legal and cost what rules 2 and 4 show. How far experts are spread does not balance their loads,
routing does; the best number follows from the node and from what hides dispatch.)"};
}

Rule LayoutsByModelSize() {
  Sweep sweep{
      .setting = R"(Three models on H800, micro-batches of one sequence of 2,048 tokens (4,096 for 13B),
no recomputation, the tree's layout first. 16 bytes a parameter of 1.7B fit on one device; of 13B a
layer's do, of the largest not even those. Step in ms.)",
      .columns = {"job", "the tree's", "others", ""},
      .claims = {"the model fits: data alone is the fastest",
                 "a layer fits, nothing is sharded: pipeline and data are the fastest",
                 "a layer fits, state is sharded: pipeline and data are the fastest",
                 "no layer fits: tensor parallelism with them is the fastest"},
      .rows = {}};
  const std::vector<Branch> branches = Branches();
  for (std::size_t i = 0; i < branches.size(); ++i) {
    for (const char* sequences : branches[i].sequences) {
      Row row = Judge(branches[i], sequences);
      const char answer = row.answers[0];
      row.answers = std::string(branches.size(), '-');
      row.answers[i] = answer;
      sweep.rows.push_back(row);
    }
  }
  return {
      .id = "Figure 17-26",
      .says =
          R"(A model that fits on one device: data alone. One whose layers fit: pipeline and data, no
tensor parallelism. Else tensor parallelism as well.)",
      .turns =
          R"(With sharded state data alone beats a pipeline; without it a pipeline needs many sequences.)",
      .sweeps = {sweep},
      .because =
          R"(The ends of the tree stand. Its middle knows no sharded state: with ZeRO a model that does
not fit on one device is trained by data alone, faster than in a pipeline. Without it few sequences fill
no pipeline, and tensor ranks are faster.)"};
}

}  // namespace rules
