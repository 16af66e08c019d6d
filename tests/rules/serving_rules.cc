// Rules 11 to 13, of serving. Serving is not simulated: these are its closed forms.

#include <cmath>

#include "hardware/device_reader.h"
#include "hardware/roofline.h"
#include "models/kv_cache.h"
#include "models/model_reader.h"
#include "models/parameters.h"
#include "scenarios/budget/serving.h"
#include "tests/rules/rules.h"
#include "tests/rules/sweep.h"

namespace rules {
namespace {

models::Model ModelOf(const std::string& name) {
  proto::Diagnostics diagnostics;
  return models::ReadModel(name, {}, "", &diagnostics).value();
}

hardware::Roof RoofOf(const std::string& name) {
  proto::Diagnostics diagnostics;
  return hardware::RoofOf(hardware::ReadDevice(name, {}, "", &diagnostics).value(), sim::NumberFormat::kBf16);
}

// Llama 3 70B on four devices.
scenarios::Server Large(const hardware::Roof& roof, double weight_bits = 16) {
  return {.model = ModelOf("llama3_70b"), .roof = roof, .tensor = 4, .weight_bits = weight_bits};
}

// Whether a faster peak would not shorten the step: memory limits it.
bool ReadsMemory(const hardware::Roof& roof, std::int64_t batch, std::int64_t tokens) {
  const hardware::Roof faster{2 * roof.flops_per_s, roof.bytes_per_s};
  return DecodeSeconds(Large(faster), batch, tokens) == DecodeSeconds(Large(roof), batch, tokens);
}

}  // namespace

Rule DecodingReadsMemory() {
  Sweep sweep{
      .setting =
          R"(Not simulated: a decode step of Llama 3 70B on four devices by the roofline, at their peaks.
Step in ms, by requests in the batch x tokens that each holds.)",
      .columns = {"requests x tokens", "H800", "H20"},
      .claims = {"H800: memory limits the step", "H20: memory limits the step"},
      .rows = {}};
  const hardware::Roof h800 = RoofOf("h800_sxm"), h20 = RoofOf("h20");
  for (const std::int64_t tokens : {128, 4096}) {
    for (const std::int64_t batch : {1, 32, 64, 256, 512}) {
      sweep.rows.push_back(
          {{Count(batch) + " x " + Count(tokens), Milliseconds(DecodeSeconds(Large(h800), batch, tokens)),
            Milliseconds(DecodeSeconds(Large(h20), batch, tokens))},
           {Answer(ReadsMemory(h800, batch, tokens)), Answer(ReadsMemory(h20, batch, tokens))}});
    }
  }
  return {.id = "Rule 11",
          .says = "Decoding is always bound by memory.",
          .turns = R"(As many requests as the ridge has FLOPs a byte, while contexts are short.)",
          .sweeps = {sweep},
          .because =
              R"(Weights are read once for all requests, so their FLOPs a byte are the batch; keys and
values are each request's own and pull back towards memory. Past the ridge (295 FLOP a byte on H800, 37 on
H20) the peak limits where contexts are short, on H20 at 4,096 tokens too. A single request is always
bound by memory.)"};
}

Rule CachesOutgrowWeights() {
  const models::Model grouped = ModelOf("llama3_70b"), latent = ModelOf("deepseek_v3");
  models::Model whole = grouped;
  whole.kv_heads = whole.heads;
  const auto gb = [](const models::Model& model, std::int64_t tokens) {
    return static_cast<double>(KvCacheBytes(model, tokens, 2).count()) / 1e9;
  };
  const auto weights_gb = [](const models::Model& model) {
    return 2e-9 * static_cast<double>(models::ParametersOf(model).total());
  };
  Sweep sweep{.setting =
                  R"(Not simulated: GB of keys and values of one request in BF16, of Llama 3 70B with its
8 key-value heads, with one for each of its 64 query heads, and of DeepSeek-V3 with its narrow vector.
Weights take )" + Number(weights_gb(grouped)) +
                  " and " + Number(weights_gb(latent)) + " GB.",
              .columns = {"tokens", "64 heads", "8 heads", "DeepSeek-V3"},
              .claims = {"64 heads: one request outgrows the weights", "8 heads: it does not",
                         "a narrow vector: it does not"},
              .rows = {}};
  for (const std::int64_t tokens : {4096, 32768, 65536, 131072, 524288}) {
    sweep.rows.push_back(
        {{Count(tokens), Number(gb(whole, tokens), 1), Number(gb(grouped, tokens), 1),
          Number(gb(latent, tokens), 1)},
         {Answer(gb(whole, tokens) > weights_gb(grouped)), Answer(gb(grouped, tokens) <= weights_gb(grouped)),
          Answer(gb(latent, tokens) <= weights_gb(latent))}});
  }
  return {.id = "Rule 12",
          .says =
              "Keys and values explode with long sequences: without grouped heads one request outgrows the "
              "weights.",
          .turns = R"(64 heads: between 32K and 64K tokens. 8 heads: beyond 128K.)",
          .sweeps = {sweep},
          .because =
              R"(They grow in proportion to the sequence, no faster. With as many key-value heads as query
heads one request outgrows the weights below 128K tokens, as the rule has it; grouped heads and narrow
vectors put that off by as much as they save, and then it takes several requests.)"};
}

Rule FourBitsForThroughput() {
  Sweep sweep{
      .setting =
          R"(Not simulated: Llama 3 70B on four H800 by the roofline, at their peaks, weights in 4 and 8
bits, keys, values and products in BF16: how many times faster than with weights in 16. Decode steps by
requests x tokens.)",
      .columns = {"work", "4 bits", "8 bits"},
      .claims = {"4 bits are 2 to 3 times as fast"},
      .rows = {}};
  const hardware::Roof roof = RoofOf("h800_sxm");
  struct Work {
    std::int64_t batch, tokens;
  };
  for (const Work work : {Work{1, 4096}, Work{8, 4096}, Work{32, 4096}, Work{64, 4096}, Work{8, 32768}}) {
    const auto gain = [&](double bits) {
      return DecodeSeconds(Large(roof), work.batch, work.tokens) /
             DecodeSeconds(Large(roof, bits), work.batch, work.tokens);
    };
    const double four = gain(4);
    sweep.rows.push_back(
        {{"decode, " + Count(work.batch) + " x " + Count(work.tokens), Number(four, 2), Number(gain(8), 2)},
         {Answer(four >= 2 && four <= 3)}});
  }
  const auto prefill = [&](double bits) {
    return PrefillSeconds(Large(roof), 4096) / PrefillSeconds(Large(roof, bits), 4096);
  };
  sweep.rows.push_back({{"prefill, 4,096 tokens", Number(prefill(4), 2), Number(prefill(8), 2)},
                        {Answer(prefill(4) >= 2 && prefill(4) <= 3)}});
  return {
      .id = "Rule 13",
      .says = "INT4 for throughput, 2 to 3 times in decoding; FP8 for accuracy.",
      .turns =
          R"(4 times for one request, less than 2 once keys and values outweigh weights, 1 in a prefill.)",
      .sweeps = {sweep},
      .because =
          R"(Four bits are a fourth of the weights and no less of keys and values: nearly 4 times for one
request, less as more requests share the weights, nothing where the peak limits and products stay in BF16.
Accuracy is not computed.)"};
}

}  // namespace rules
