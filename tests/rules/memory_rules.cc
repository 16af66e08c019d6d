// Rules 5 to 8: what training holds.

#include <algorithm>

#include "tests/rules/rules.h"
#include "tests/rules/sweep.h"

namespace rules {
namespace {

constexpr const char* kLlama = "llama_7b_256xh800";

// Bytes a parameter on the fullest device.
struct PerParameter {
  double moments, state, largest_other;
};

PerParameter StateOf(const scenarios::Report& report) {
  const double parameters = static_cast<double>(report.stages[0].parameters);
  const double moments = MemoryOf(report, "moments");
  double state = moments, largest = MemoryOf(report, "activations") + MemoryOf(report, "recomputed");
  for (const char* part : {"weights", "gradients", "master_weights"}) {
    state += MemoryOf(report, part);
    largest = std::max(largest, MemoryOf(report, part));
  }
  return {moments / parameters, state / parameters, largest / parameters};
}

struct Holding {
  const char* what;
  int ranks;  // that share the moments of one copy; 0 = they are not on devices

  Sets sets;
};
// LLaMA-7B on one node of H800, one sequence of 4,096 a device.
std::vector<Holding> Holdings() {
  return {
      {"nothing cut, BF16 gradients", 1, {{"training.optimizer_sharding", "NONE"}}},
      {"nothing cut, FP32 gradients",
       1,
       {{"training.optimizer_sharding", "NONE"}, {"training.gradient_type", "FP32"}}},
      {"ZeRO-1", 8, {{"training.optimizer_sharding", "ZERO_1"}}},
      {"ZeRO-3", 8, {{"training.optimizer_sharding", "ZERO_3"}}},
      {"nothing cut, moments and master copy on the host",
       0,
       {{"training.optimizer_sharding", "NONE"}, {"training.offload.optimizer", "1"}}},
  };
}
PerParameter Held(const Sets& sets) {
  const Sets node = {
      {"devices", "8"}, {"topology", "single_node"}, {"batch.global", "8"}, {"batch.micro", "1"}};
  return StateOf(Simulate(kLlama, node + sets));
}

// The fastest of a few sizes of a micro-batch that fits into memory: tokens a second, and the size; 0 where
// none does.
struct Fastest {
  double tokens_per_s = 0;
  std::string micro = "none";
  std::string Thousands() const { return tokens_per_s > 0 ? Number(tokens_per_s / 1e3) : "does not fit"; }
};
Fastest FastestThatFits(const std::string& scenario, const Sets& sets) {
  Fastest best;
  for (const char* micro : {"1", "2", "4"}) {
    const scenarios::Report report = Simulate(scenario, sets + Sets{{"batch.micro", micro}});
    if (report.fits && report.tokens_per_s > best.tokens_per_s) best = {report.tokens_per_s, micro};
  }
  return best;
}

Sweep Recomputing() {
  Sweep sweep{
      .setting =
          R"(16 H800, four sequences a device and step, with the micro-batch of 1, 2 or 4 that fits and is
fastest. Of 4,096 tokens where nothing is said. Thousands of tokens a second.)",
      .columns = {"job", "without", "its micro-batch", "recomputing all", "its micro-batch"},
      .claims = {"where the same layout fits without, recomputing is faster",
                 "where it does not, recomputing fits", "and is faster than another layout without"},
      .rows = {}};
  struct Job {
    const char* what;
    Sets sets, without;
  };
  const auto job = [](const char* model, const char* layers, const char* tokens) {
    return Sets{{"model", model},
                {"model.layers", layers},
                {"batch.sequence_length", tokens},
                {"devices", "16"},
                {"batch.global", "64"}};
  };
  // A quarter of the layers on a quarter of 64 devices: each holds what it would of the whole.
  const Sets large = job("llama2_70b", "20", "16384");
  const auto cut = [](const char* tensor, const char* pipeline) {
    return Sets{{"layout.tensor", tensor},
                {"layout.sequence", "true"},
                {"layout.pipeline", pipeline},
                {"training.optimizer_sharding", "ZERO_1"}};
  };
  for (const Job& point : {Job{"LLaMA-7B, ZeRO-3", job("llama_7b", "32", "4096"), {}},
                           Job{"Llama-2-13B, ZeRO-3", job("llama2_13b", "40", "4096"), {}},
                           Job{"LLaMA-7B, 32,768 tokens, ZeRO-3", job("llama_7b", "32", "32768"), {}},
                           Job{"Llama-2-70B (20 layers), 16,384 tokens, ZeRO-3", large, {}},
                           Job{"the same; without: tensor 2, pipeline 4", large, cut("2", "4")},
                           Job{"the same; without: tensor 8", large, cut("8", "1")}}) {
    const Sets plain = point.sets + point.without + Sets{{"training.recompute", "NONE"}};
    const Fastest without = FastestThatFits(kLlama, plain);
    const Sets recompute = point.sets + Sets{{"training.recompute", "FULL"}};
    const Fastest again = FastestThatFits(kLlama, recompute);
    const bool fits = without.tokens_per_s > 0, same = point.without.empty();
    const char faster = Answer(again.tokens_per_s > without.tokens_per_s);
    sweep.rows.push_back({{point.what, without.Thousands(), without.micro, again.Thousands(), again.micro},
                          {same && fits ? faster : '-', same && !fits ? Answer(again.tokens_per_s > 0) : '-',
                           same ? '-' : faster}});
  }
  return sweep;
}

Sweep ActivationsLeft() {
  Sweep sweep{.setting = "Activations of a device in GB, ZeRO-3, micro-batches of one sequence, 16 H800.",
              .columns = {"model", "tokens", "without", "recomputing all", "times less"},
              .claims = {"10 to 50 times less"},
              .rows = {}};
  struct Point {
    const char *model, *name;
    std::int64_t tokens;
  };
  for (const Point& point :
       {Point{"llama_7b", "LLaMA-7B, 32 layers", 4096}, Point{"llama_7b", "LLaMA-7B, 32 layers", 32768},
        Point{"llama2_70b", "Llama-2-70B, 80 layers", 4096}}) {
    const auto held = [&](const char* recompute) {
      const scenarios::Report report =
          Simulate(kLlama, {{"model", point.model},
                            {"devices", "16"},
                            {"batch.global", "16"},
                            {"batch.micro", "1"},
                            {"batch.sequence_length", std::to_string(point.tokens)},
                            {"training.recompute", recompute}});
      return MemoryOf(report, "activations") + MemoryOf(report, "recomputed");
    };
    const double without = held("NONE"), again = held("FULL"), ratio = without / again;
    sweep.rows.push_back({{point.name, Count(point.tokens), Number(without / 1e9, 1), Number(again / 1e9, 1),
                           Number(ratio, 1)},
                          {Answer(ratio >= 10 && ratio <= 50)}});
  }
  return sweep;
}

Sweep OnOneDevice() {
  Sweep sweep{.setting = "One device alone, one sequence of 2,048 tokens, everything recomputed. GB held.",
              .columns = {"model", "parameters, 1e9", "held", "fits"},
              .claims = {"it fits if it has at most 5e9 parameters, and not beyond"},
              .rows = {}};
  struct Point {
    const char *name, *model, *device;
    Sets more;
  };
  for (const Point& point :
       {Point{"Megatron's 1.7B, H800", "mcore_gpt_1_7b", "h800_sxm", {}},
        Point{"Qwen3-4B, H800", "qwen3_4b", "h800_sxm", {}},
        Point{"LLaMA-7B, H800", "llama_7b", "h800_sxm", {}}, Point{"LLaMA-7B, H20", "llama_7b", "h20", {}},
        Point{"LLaMA-7B, B200", "llama_7b", "b200_sxm", {}},
        Point{"LLaMA-7B, H800, optimizer on the host",
              "llama_7b",
              "h800_sxm",
              {{"training.offload.optimizer", "1"}}}}) {
    const scenarios::Report report = Simulate(kLlama, Sets{{"model", point.model},
                                                           {"hardware", point.device},
                                                           {"devices", "1"},
                                                           {"topology", "single_node"},
                                                           {"batch.global", "1"},
                                                           {"batch.micro", "1"},
                                                           {"batch.sequence_length", "2048"},
                                                           {"training.optimizer_sharding", "NONE"}} +
                                                          point.more);
    sweep.rows.push_back({{point.name, Number(static_cast<double>(report.parameters) / 1e9, 1),
                           Number(MemoryOf(report) / 1e9, 1), report.fits ? "yes" : "no"},
                          {Answer(report.fits == (report.parameters <= 5'000'000'000))}});
  }
  return sweep;
}

}  // namespace

Rule AdamTakesEight() {
  Sweep sweep{
      .setting = R"(LLaMA-7B on a node of 8 H800, one sequence a device, everything recomputed: bytes a
parameter on a device, by the simulation's report.)",
      .columns = {"held", "moments", "largest other part"},
      .claims = {"the ranks that share one copy hold 8 bytes together", "moments are the largest part"},
      .rows = {}};
  for (const Holding& holding : Holdings()) {
    if (holding.ranks == 0) continue;
    const PerParameter held = Held(holding.sets);
    const double together = held.moments * holding.ranks;
    sweep.rows.push_back(
        {{holding.what, Number(held.moments, 2), Number(held.largest_other, 2)},
         {Answer(together > 7.99 && together < 8.01), Answer(held.moments > held.largest_other)}});
  }
  return {.id = "Rule 5",
          .says = "Adam's moments take 8 bytes a parameter, the largest part of what training holds.",
          .turns = R"(Sharded over data ranks, moments are not the largest part.)",
          .sweeps = {sweep},
          .because =
              R"(Two FP32 numbers are 8 bytes wherever they lie. Data ranks that share them, as the rule
itself advises, hold their part each, and then whole weights are larger.)"};
}

Rule RecomputationPays() {
  return {
      .id = "Rule 6",
      .says =
          "Recomputing all activations almost always pays: a third more work, 10 to 50 times less memory, "
          "room "
          "worth more than the work.",
      .turns = R"(The same layout fits without: it loses. It does not: it is what fits.)",
      .sweeps = {Recomputing(), ActivationsLeft()},
      .because =
          R"(A larger micro-batch gains a few per cent once a sequence fills the device; the second
forward costs a fifth of the step. So recomputing loses where the same layout fits without, and is what
makes layouts fit that would not; whether that beats another layout without it depends on how much the
other one waits. While one layer runs again it is held whole, beside every layer's input, so models of few
layers save less than the rule has it.)"};
}

Rule SixteenBytesAtLeast() {
  Sweep sweep{
      .setting =
          R"(LLaMA-7B on a node of 8 H800: weights, gradients, master copy and moments on a device, bytes
a parameter.)",
      .columns = {"held", "state"},
      .claims = {"a device holds 16 bytes of each parameter or more"},
      .rows = {}};
  for (const Holding& holding : Holdings()) {
    const double state = Held(holding.sets).state;
    sweep.rows.push_back({{holding.what, Number(state, 2)}, {Answer(state > 15.99)}});
  }
  return {
      .id = "Rule 7",
      .says = "Training holds 16 bytes a parameter at least; beyond 5e9 parameters one device is not enough.",
      .turns = R"(State cut over ranks or moved to the host; devices with more memory.)",
      .sweeps = {sweep, OnOneDevice()},
      .because =
          R"(It is the floor while nothing is cut or moved away; FP32 gradients raise it to 18. How many
parameters fill a device follows from its memory: 80 GB over 16 bytes are 5e9, 180 GB are 11e9, and with
the optimizer on the host four bytes a parameter stay.)"};
}

Rule SavesTakeTen() {
  Sweep sweep{
      .setting = R"(Four of Llama-2-70B's layers on 64 H800 that save while they train: bytes written, a
parameter.)",
      .columns = {"contents", "bytes", "starts again exactly"},
      .claims = {"what starts again exactly takes 10 bytes a parameter"},
      .rows = {}};
  struct Contents {
    const char* what;
    bool exact;  // the master copy is there

    Sets sets;
  };
  for (const Contents& contents :
       {Contents{"weights, master copy, moments", true, {}},
        Contents{"master copy, moments", true, {{"checkpoint.contents.weights", "false"}}},
        Contents{"weights, moments", false, {{"checkpoint.contents.master_weights", "false"}}}}) {
    // 32,000 rows of the vocabulary as they are: padding would be saved as well.
    const Sets job = {
        {"model.layers", "4"}, {"batch.global", "8"}, {"steps", "6"}, {"training.vocabulary_divisor", "1"}};
    const scenarios::Report report = Simulate("llama_70b_64xh800_checkpoint", job + contents.sets);
    const double bytes =
        static_cast<double>(report.checkpoint->bytes.count()) / static_cast<double>(report.parameters);
    sweep.rows.push_back({{contents.what, Number(bytes, 2), contents.exact ? "yes" : "no"},
                          {contents.exact ? Answer(bytes > 9.99 && bytes < 10.01) : '-'}});
  }
  return {.id = "Rule 8",
          .says = "A save takes 10 bytes a parameter: BF16 weights and Adam's moments.",
          .turns = R"(What starts again exactly takes 12 or 14.)",
          .sweeps = {sweep},
          .because =
              R"(Ten bytes leave out the FP32 master copy, and with it what rounding took from the
weights: what starts from such a save is another run (correction E19). 14 have all of it, 12 too, as the
master copy gives the BF16 weights.)"};
}

}  // namespace rules
