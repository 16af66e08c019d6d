// Rules 1 to 4: which dimension of a layout comes first, and which stays inside a node.

#include <algorithm>

#include "tests/rules/rules.h"
#include "tests/rules/sweep.h"

namespace rules {
namespace {

// A quarter of LLaMA-7B's layers on 16 devices, no recomputation, one sequence a micro-batch: small enough
// to sweep; what a layer computes and sends is that of the whole model.
Sets Quarter7b(const char* sharding, std::int64_t sequences, std::int64_t length) {
  return {{"devices", "16"},
          {"model.layers", "8"},
          {"batch.micro", "1"},
          {"training.recompute", "NONE"},
          {"training.optimizer_sharding", sharding},
          {"batch.global", std::to_string(sequences)},
          {"batch.sequence_length", std::to_string(length)}};
}

// Groups of `width` ranks that cut tensors or layers, beside data ranks alone.
Sweep DataTensorPipeline(const char* width) {
  Sweep sweep{
      .setting =
          std::string("Eight of LLaMA-7B's layers on 16 H800, ZeRO-1 but for one column: data 16; tensor ") +
          width + "; pipeline " + width + " (1F1B); the rest is data. Step in ms.",
      .columns = {"sequences a device x tokens", "data", "data, ZeRO-3", "tensor", "pipeline"},
      .claims = {"data is the fastest", "pipeline is slower than tensor",
                 "data with ZeRO-3 is faster than tensor and pipeline"},
      .rows = {}};
  struct Point {
    std::int64_t each, length;
  };
  for (const Point point :
       {Point{1, 1024}, Point{4, 1024}, Point{1, 2048}, Point{1, 4096}, Point{4, 4096}, Point{16, 4096}}) {
    const auto step = [&](const Sets& layout, const char* sharding = "ZERO_1") {
      const Sets job = Quarter7b(sharding, 16 * point.each, point.length);
      return Simulate("llama_7b_256xh800", job + layout).step_time.seconds();
    };
    const double data = step({}), cut = step({}, "ZERO_3");
    const double tensor = step({{"layout.tensor", width}, {"layout.sequence", "true"}});
    const double pipeline = step({{"layout.pipeline", width}});
    sweep.rows.push_back({{Count(point.each) + " x " + Count(point.length), Milliseconds(data),
                           Milliseconds(cut), Milliseconds(tensor), Milliseconds(pipeline)},
                          {Answer(data < std::min(tensor, pipeline)), Answer(pipeline > tensor),
                           Answer(cut < std::min(tensor, pipeline))}});
  }
  return sweep;
}

// 16 of Llama-2-70B's layers, one copy on 32 devices.
Sets Part70b(const char* device) {
  return {{"hardware", device}, {"devices", "32"}, {"model.layers", "16"}, {"layout.data", "1"}};
}

Sweep TensorOverTwoNodes() {
  Sweep sweep{
      .setting = R"(16 of Llama-2-70B's layers on 32 devices in nodes of 8, one copy, micro-batches of a
sequence of 4,096 tokens: tensor 4 with pipeline 8, tensor 8 with pipeline 4, tensor 16 with pipeline 2.
GB200 has all 32 in one NVLink domain. Step in ms.)",
      .columns = {"device", "sequences", "tensor 4", "tensor 8", "tensor 16"},
      .claims = {"a group of 8 is faster than one of 16"},
      .rows = {}};
  struct Point {
    const char *name, *device, *sequences;
    Sets more;
  };
  for (const Point& point :
       {Point{"H800", "h800_sxm", "16", {}}, Point{"H100", "h100_sxm", "16", {}},
        Point{"B200", "b200_sxm", "16", {}},
        Point{"GB200", "gb200_nvl72", "16", {{"topology", "single_node"}}}, Point{"H20", "h20", "16", {}},
        Point{"H800, one sequence", "h800_sxm", "1", {}}}) {
    const auto step = [&](const char* tensor, const char* pipeline) {
      const Sets layout = {
          {"layout.tensor", tensor}, {"layout.pipeline", pipeline}, {"batch.global", point.sequences}};
      return Simulate("llama_70b_64xh800_a", Part70b(point.device) + layout + point.more).step_time.seconds();
    };
    const double four = step("4", "8"), eight = step("8", "4"), sixteen = step("16", "2");
    sweep.rows.push_back(
        {{point.name, point.sequences, Milliseconds(four), Milliseconds(eight), Milliseconds(sixteen)},
         {Answer(eight < sixteen)}});
  }
  return sweep;
}

Sweep TensorLeavingNvlink() {
  Sweep sweep{
      .setting = R"(The same with tensor 8 and pipeline 4, in nodes of 8, 4, 2 and 1 devices, each with a
NIC of its own. What a device waits for tensor traffic, in ms, and how many times as long that is as in a
node of 8.)",
      .columns = {"devices a node", "H800", "times", "H100", "times"},
      .claims = {"on H800 it takes 10 to 30 times as long", "on H100 it does"},
      .rows = {}};
  double inside[2] = {};
  for (const char* node : {"8", "4", "2", "1"}) {
    Row row{{node}, ""};
    for (const int device : {0, 1}) {
      const Sets nodes = {
          {"batch.global", "16"}, {"hardware.node.devices", node}, {"hardware.node.nics", node}};
      const Sets sets = Part70b(device == 0 ? "h800_sxm" : "h100_sxm") + nodes;
      const double waits = SecondsOf(Simulate("llama_70b_64xh800_a", sets), "tensor");
      const bool whole = std::string(node) == "8";
      if (whole) inside[device] = waits;
      const double times = waits / inside[device];
      row.cells.push_back(Milliseconds(waits));
      row.cells.push_back(Number(times, 1));
      row.answers += whole ? '-' : Answer(times >= 10 && times <= 30);
    }
    sweep.rows.push_back(row);
  }
  return sweep;
}

// A ring in a node of H800: 200 GB/s one way, of which it achieves 0.8 (hardware/h800_sxm.textproto).
constexpr double kRingBytesPerSecond = 160e9;

// A quarter of Qwen3-30B-A3B's layers, 128 experts of which a token visits 8, on 32 H800.
double StepOfQwen(const char* expert, const Sets& dispatch) {
  const Sets sets = {{"hardware", "h800_sxm"}, {"devices", "32"},     {"layout.expert", expert},
                     {"batch.global", "1024"}, {"model.layers", "8"}, {"training.attention", "FLASH3"}};
  return Simulate("qwen3_30b_a3b_16xh100", sets + dispatch).step_time.seconds();
}

Sweep ExpertsOfQwen() {
  Sweep sweep{
      .setting = R"(Eight layers of Qwen3-30B-A3B (8 of 128 experts a token) on 32 H800, 32 micro-batches
of a sequence: a copy of each token to each of its experts; one to each node (DeepEP); that, while another
micro-batch computes. Step in ms.)",
      .columns = {"expert", "all-to-all", "once a node", "by turns"},
      .claims = {"all-to-all is slower than at expert 8", "once a node is slower than at expert 8",
                 "by turns is slower than at expert 8"},
      .rows = {}};
  const Sets all_to_all = {{"experts.dispatcher", "ALLTOALL"}};
  const Sets once = {{"experts.dispatcher", "DEEPEP"}};
  const Sets dispatches[] = {all_to_all, once, once + Sets{{"pipeline.overlap_experts", "true"}}};
  double inside[3] = {};
  for (const char* expert : {"8", "16", "32"}) {
    Row row{{expert}, ""};
    for (std::size_t i = 0; i < 3; ++i) {
      const double step = StepOfQwen(expert, dispatches[i]);
      if (inside[i] == 0) inside[i] = step;
      row.cells.push_back(Milliseconds(step));
      row.answers += std::string(expert) == "8" ? '-' : Answer(step > inside[i]);
    }
    sweep.rows.push_back(row);
  }
  return sweep;
}

Sweep ExpertsOfDeepSeek() {
  Sweep sweep{
      .setting = R"(Four layers of DeepSeek-V3, three of them with experts, on 64 H800 as its report has
it: a token to four nodes at most, in FP8 on its way out, by turns with another micro-batch. Step in ms.)",
      .columns = {"expert", "4 micro-batches", "32 micro-batches"},
      .claims = {"4: it is slower than at expert 8", "32: it is slower than at expert 8"},
      .rows = {}};
  double inside[2] = {};
  for (const int expert : {8, 16, 32, 64}) {
    Row row{{std::to_string(expert)}, ""};
    for (const int count : {0, 1}) {
      const Sets sets = {{"model", "deepseek_v3"},
                         {"model.layers", "4"},
                         {"model.experts.first_dense_layers", "1"},
                         {"hardware", "h800_sxm"},
                         {"devices", "64"},
                         {"layout.expert", std::to_string(expert)},
                         {"batch.global", count == 0 ? "256" : "2048"},
                         {"training.attention", "FLASH3"},
                         {"experts.dispatcher", "DEEPEP"},
                         {"experts.dispatch_format", "FP8"},
                         {"experts.node_limit", std::to_string(std::min(4, expert / 8))},
                         {"pipeline.overlap_experts", "true"}};
      const double step = Simulate("qwen3_30b_a3b_16xh100", sets).step_time.seconds();
      if (expert == 8) inside[count] = step;
      row.cells.push_back(Milliseconds(step));
      row.answers += expert == 8 ? '-' : Answer(step > inside[count]);
    }
    sweep.rows.push_back(row);
  }
  return sweep;
}

}  // namespace

Rule DataFirstPipelineLast() {
  return {.id = "Rule 1",
          .says = "Data ranks first, tensor parallelism inside a node next, a pipeline last.",
          .turns =
              R"(Few tokens a device and step: tensor or pipeline before data. Many micro-batches:
pipeline before tensor.)",
          .sweeps = {DataTensorPipeline("2"), DataTensorPipeline("8")},
          .because =
              R"(Data ranks wait only for what the backward cannot hide of the reduction, so with enough
tokens a device they are the fastest. With too few, the whole model is reduced beside little work, where
tensor and pipeline ranks reduce their part of it; with ZeRO-3 that holds of every micro-batch, which
gathers the model twice. A pipeline loses its bubble, which more micro-batches make small; a tensor group
loses the same part of each. So those two change places with the number of micro-batches, and groups of 8
on an H800's NVLink come last whatever it is.)"};
}

Rule TensorInsideNvlink() {
  return {.id = "Rule 2",
          .says =
              "Tensor parallelism stays inside NVLink, at most 8 wide: across nodes it takes 10 to 30 times "
              "as long.",
          .turns =
              R"(Slow devices (H20) and too few sequences for a pipeline: 16 before 8. The factor is 1 to
9, by NICs in the group.)",
          .sweeps = {TensorOverTwoNodes(), TensorLeavingNvlink()},
          .because =
              R"(A group over two whole nodes has the NICs of both. It loses to 8 mostly because each
device computes half as much beside the same bytes, which it does in one NVLink domain of 32 too. Where
computing is slow (H20), and where few sequences leave a pipeline empty, 16 is faster. What costs most is
a group with few devices a node, whose ring has as few NICs; no device reaches the ten times.)"};
}

Rule AccumulationFreesData() {
  Sweep sweep{.setting = R"(Eight of LLaMA-7B's layers on 16 H800, micro-batches of 1,024 tokens,
accumulated. What a device waits for data parallelism in a step; beside it what ZeRO-1 sends, at the rate
of a ring, by the number of micro-batches, and what one computes.)",
              .columns = {"micro-batches", "ZeRO-1 waits, ms", "of the step", "traffic / n, ms",
                          "compute, ms", "ZeRO-3 waits, ms", "of the step"},
              .claims = {"ZeRO-1 waits for at most 10 % of the step",
                         "where traffic / n is below compute, nothing (1 %) is waited for",
                         "ZeRO-3 waits for at most 10 % of the step"},
              .rows = {}};
  for (const int count : {1, 2, 4, 8, 16, 32}) {
    const auto run = [&](const char* sharding) {
      return Simulate("llama_7b_256xh800", Quarter7b(sharding, 16 * count, 1024));
    };
    const scenarios::Report one = run("ZERO_1"), three = run("ZERO_3");
    const double waits = SecondsOf(one, "data"), share = waits / one.step_time.seconds();
    const double waits3 = SecondsOf(three, "data"), share3 = waits3 / three.step_time.seconds();
    const double sent = one.closed_form.gradient_bytes_per_rank + one.closed_form.parameter_bytes_per_rank;
    const double traffic = sent / kRingBytesPerSecond / count, compute = SecondsOf(one, "compute") / count;
    sweep.rows.push_back(
        {{std::to_string(count), Milliseconds(waits), Percent(share), Milliseconds(traffic),
          Milliseconds(compute), Milliseconds(waits3), Percent(share3)},
         {Answer(share <= 0.1), traffic < compute ? Answer(share <= 0.01) : '-', Answer(share3 <= 0.1)}});
  }
  return {
      .id = "Rule 3",
      .says =
          "Accumulation makes data parallelism nearly free: traffic over n micro-batches, once below the "
          "compute "
          "of one, is covered.",
      .turns = R"(What is waited for a step stays; its part falls with micro-batches. Never with ZeRO-3.)",
      .sweeps = {sweep},
      .because =
          R"(Gradients are complete in the last backward only, and that is all that their reduction hides
behind, however many micro-batches came before. So what is waited for stays, and the step grows around it:
as cheap as one likes, never covered. ZeRO-3 gathers weights in every micro-batch, and accumulation saves
nothing (correction A14).)"};
}

Rule ExpertsInsideANode() {
  return {.id = "Rule 4",
          .says = "Experts never spread over nodes: the all-to-all kills the step.",
          .turns = R"(One copy a node and another micro-batch beside it; large experts in any case.)",
          .sweeps = {ExpertsOfQwen(), ExpertsOfDeepSeek()},
          .because =
              R"(With a copy for each expert the rule stands. One copy a node takes a part of the cost
away, and so do fewer nodes a token, FP8 on the way out, and most of all another micro-batch that computes
meanwhile. Spreading experts wider gains as well: data ranks hold fewer copies of each and reduce less,
the more so the larger the experts and the fewer the micro-batches. DeepSeek-V3 was trained with expert 64
on eight nodes.)"};
}

}  // namespace rules
