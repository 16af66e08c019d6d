// Rules 9, 10 and 16: what scale and experts cost.

#include <algorithm>

#include "tests/rules/rules.h"
#include "tests/rules/sweep.h"

namespace rules {
namespace {

// LLaMA-7B by data parallelism on H800 in rails.
scenarios::Report Scaled(int devices, int sequences, const Sets& sets) {
  const Sets scale = {{"devices", std::to_string(devices)}, {"batch.global", std::to_string(sequences)}};
  return Simulate("llama_7b_256xh800", scale + sets);
}

Sets Training(const char* sharding, const char* micro, const char* recompute) {
  return {
      {"training.optimizer_sharding", sharding}, {"batch.micro", micro}, {"training.recompute", recompute}};
}

Sweep ByTens() {
  Sweep sweep{
      .setting =
          R"(16 of LLaMA-7B's layers by data parallelism on H800 in rails, sequences of 4,096 tokens. MFU.)",
      .columns = {"job", "8 devices", "80", "800"},
      .claims = {"each ten times costs 2 to 5 points"},
      .rows = {}};
  struct Job {
    const char* what;
    int each;  // sequences a device; 0 = 800 sequences whatever the devices
    Sets sets;
  };
  const Sets layers = {{"model.layers", "16"}}, within = {{"training.sharding.ranks", "8"}};
  for (const Job& job :
       {Job{"weak: 4 a device, ZeRO-3, recomputing", 4, Training("ZERO_3", "4", "FULL")},
        Job{"weak: 1 a device, ZeRO-1", 1, Training("ZERO_1", "1", "NONE")},
        Job{"weak: 1 a device, ZeRO-3", 1, Training("ZERO_3", "1", "NONE")},
        Job{"weak: 1 a device, ZeRO-3 in nodes (HSDP)", 1, Training("ZERO_3", "1", "NONE") + within},
        Job{"strong: 800 in all, ZeRO-1", 0, Training("ZERO_1", "1", "NONE")}}) {
    Row row{{job.what}, ""};
    double before = 0;
    bool holds = true;
    for (const int devices : {8, 80, 800}) {
      const double mfu = Scaled(devices, job.each > 0 ? job.each * devices : 800, job.sets + layers).mfu;
      const double fall = 100 * (before - mfu);
      row.cells.push_back(Percent(mfu));

      holds = holds && (devices == 8 || (fall >= 2 && fall <= 5));
      before = mfu;
    }
    row.answers = std::string(1, Answer(holds));

    sweep.rows.push_back(row);
  }
  return sweep;
}

double MixtralMfu(const char* device, const Sets& more) {
  const Sets job = {{"hardware", device},
                    {"devices", "32"},
                    {"layout.tensor", "2"},
                    {"layout.sequence", "true"},
                    {"layout.virtual", "1"},
                    {"batch.global", "64"},
                    {"training.attention", "FLASH3"}};
  return Simulate("mixtral_8x7b_64xh100", job + more).mfu;
}

double QwenMfu(const Sets& more) {
  const Sets job = {
      {"hardware", "h800_sxm"}, {"devices", "16"}, {"batch.global", "64"}, {"training.attention", "FLASH3"}};
  return Simulate("qwen3_30b_a3b_16xh100", job + more).mfu;
}

}  // namespace

Rule UtilisationFallsByTens() {
  return {.id = "Rule 9",
          .says = "Ten times as many devices cost 2 to 5 points of MFU.",
          .turns = R"(None of it while reductions hide; far more once rings over all devices do not.)",
          .sweeps = {ByTens()},
          .because =
              R"(It does not fall evenly. While reductions hide behind the backward, devices cost nothing;
a ring over all of them takes a hop of latency for each, and once that is longer than what hides it, every
further device shows. More tokens a device, or rings over a node with copies between nodes, move that knee
out. Stragglers and congestion by other jobs, which the rule may count as well, are not simulated.
NCCL's trees reduce in fewer hops, but neither gather nor scatter.)"};
}

Rule ExpertsCostUtilisation() {
  Sweep sweep{
      .setting = R"(Mixtral 8x7B beside Llama-2-13B, which is as large as what a token of Mixtral visits:
32 devices, tensor 2, pipeline 4, 64 sequences. Qwen3-30B-A3B beside Qwen3-4B: 16 H800, by data. MFU.)",
      .columns = {"experts", "MFU", "dense", "points lower"},
      .claims = {"MFU is lower", "by 5 to 15 points"},
      .rows = {}};
  const Sets dense13 = {{"model", "llama2_13b"}, {"layout.expert", "1"}};
  const double h800 = MixtralMfu("h800_sxm", dense13), h100 = MixtralMfu("h100_sxm", dense13);
  const double small = QwenMfu({{"model", "qwen3_4b"}, {"layout.expert", "1"}});
  const Sets spread = {{"layout.expert", "8"}}, nodes = {{"layout.expert", "16"}};
  const Sets cut = {{"layout.expert", "1"}, {"layout.expert_tensor", "2"}};
  const Sets unequal = spread + Sets{{"experts.routing", "ZIPF"}, {"experts.zipf_exponent", "0.2"}};
  struct Pair {
    const char* what;
    double experts, dense;  // MFU
  };
  for (const Pair& pair :
       {Pair{"Mixtral, H800, expert 8", MixtralMfu("h800_sxm", spread), h800},
        Pair{"Mixtral, H100, expert 8", MixtralMfu("h100_sxm", spread), h100},
        Pair{"Mixtral, H800, not spread, each cut by tensor 2", MixtralMfu("h800_sxm", cut), h800},
        Pair{"Mixtral, H800, expert 8, unequal loads (Zipf 0.2)", MixtralMfu("h800_sxm", unequal), h800},
        Pair{"Qwen3, expert 8", QwenMfu(spread), small}, Pair{"Qwen3, expert 16", QwenMfu(nodes), small}}) {
    const double points = 100 * (pair.dense - pair.experts);
    sweep.rows.push_back({{pair.what, Percent(pair.experts), Percent(pair.dense), Number(points, 1)},
                          {Answer(points > 0), Answer(points >= 5 && points <= 15)}});
  }
  return {.id = "Rule 10",
          .says = "With experts MFU is 5 to 15 points below that of a dense model of the same size.",
          .turns = R"(Few wide experts with equal loads cost less, many narrow ones more.)",
          .sweeps = {sweep},
          .because =
              R"(Lower it is; how far depends on the experts. A few wide ones, spread in a node with equal
loads, cost little; unequal loads cost what the busiest rank has more; many narrow ones (small products,
eight copies of a token) cost more than twice the range.)"};
}

Rule NetworksCostBeyond64() {
  Sweep sweep{
      .setting = R"(LLaMA-7B by ZeRO-3 on H800 in rails, without recomputation. The part of a step that
waits for communication, by sequences x tokens a device.)",
      .columns = {"a device", "8 devices", "64", "128", "512"},
      .claims = {"up to 64 devices it is free", "beyond, 10 to 30 % wait"},
      .rows = {}};
  struct Load {
    const char *name, *micro, *tokens;
  };
  for (const Load& load :
       {Load{"1 x 1,024", "1", "1024"}, Load{"1 x 4,096", "1", "4096"}, Load{"4 x 4,096", "4", "4096"}}) {
    Row row{{load.name}, ""};
    bool free = true, beyond = true;
    for (const int devices : {8, 64, 128, 512}) {
      const Sets sets = Training("ZERO_3", load.micro, "NONE") + Sets{{"batch.sequence_length", load.tokens}};
      const double waits = ShareWaiting(Scaled(devices, devices * std::stoi(load.micro), sets));
      row.cells.push_back(Percent(waits));
      if (devices <= 64) free = free && waits < 0.05;
      if (devices > 64) beyond = beyond && waits >= 0.1 && waits <= 0.3;
    }
    row.answers = {Answer(free), Answer(beyond)};
    sweep.rows.push_back(row);
  }
  return {
      .id = "Rule 16",
      .says =
          "Up to 64 devices the network is free (here: less than 5 % of a step waits for it); beyond, 10 to "
          "30 %.",
      .turns = R"(Tokens a device and step decide, on one node as well; the number of devices after them.)",
      .sweeps = {sweep},
      .because =
          R"(64 is no threshold. What waits follows from the work that a device has beside what it sends,
and only then from how many there are: with too few tokens one node waits as well, with enough of them
hundreds of devices hardly do.)"};
}

}  // namespace rules
