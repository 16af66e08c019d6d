// 17.8: closed forms of serving.

#include <array>

#include "models/adapters.h"
#include "models/kv_cache.h"
#include "models/kv_pool.h"
#include "models/parameters.h"
#include "scenarios/budget/cost.h"
#include "scenarios/budget/deployment.h"
#include "scenarios/budget/serving.h"
#include "tests/textbook/figures.h"

namespace textbook {
namespace {

using namespace scenarios;

using sim::Number;

constexpr hardware::Roof kH800Roof{0.7 * kH800, kH800Memory}, kH20Roof{0.7 * kH20, kH20Memory};

Server Of(const char* model, std::int64_t tensor, hardware::Roof roof = kH800Roof, double bits = 16) {
  return {.model = ModelOf(model), .roof = roof, .tensor = tensor, .weight_bits = bits};
}
double StepMs(const Server& s, std::int64_t batch) { return DecodeSeconds(s, batch, 4096) * 1e3; }

// The chapter's prefill: 2 P S FLOPs at 70 per cent of the peak.
double LinearMs(double parameters, double tokens, double flops_per_s) {
  return hardware::Roof{flops_per_s, kH800Memory}.time(2 * parameters * tokens, 0) * 1e3;
}

std::vector<Figure> Phases() {
  const hardware::Roof h800{kH800, kH800Memory}, h20{kH20, kH20Memory};
  const Server s8 = Of("llama3_8b", 1);
  const char* attention = "A13: with the attention of 131,072 tokens, causal";
  return {
      {"17.8.1 Ex2", "FLOP/B where an H800 turns", "295", h800.ridge()},
      {"17.8.1 Ex2", "FLOP/B where an H20 turns", "37", h20.ridge()},
      {"17.8.1 Ex1", "FLOP/B of a decode step", "0.98", 2 * 8e9 / (16e9 + KvBytes(s8, 4096)), "0.97",
       "E16: 0.537 GB of keys and values"},
      {"17.8.2 Ex1", "ms, 8e9, 4,096 tokens", "94.7", LinearMs(8e9, 4096, 692e12)},
      {"17.8.2 Ex2", "ms, 70e9, 4,096 tokens", "829", LinearMs(70e9, 4096, 692e12)},
      {"17.8.2 Ex2", "ms on eight", "104", LinearMs(70e9, 4096, 8 * 692e12)},
      {"17.8.2 Ex3", "s, 70e9, 131,072 tokens, linear layers", "26.5", LinearMs(70e9, 131072, 692e12) * 1e-3},
      {"17.8.2 Ex3", "s, LLaMA-3-70B, all of it", "26.5", PrefillSeconds(Of("llama3_70b", 1), 131072), "58.4",
       attention},
      {"17.8.2 Ex4", "ms, 405e9 on eight", "599", LinearMs(405e9, 4096, 8 * 692e12)},
      {"17.8.2 Ex5", "s, 70e9 on an H20", "5.53", LinearMs(70e9, 4096, 103.6e12) * 1e-3},
      {"17.8.9 Ex2", "ms of a chunk of 512, linear layers", "104", LinearMs(70e9, 512, 692e12)},
      {"17.8.9 Ex2", "ms of the last chunk", "104", LastChunkSeconds(Of("llama3_70b", 1), 131072, 512) * 1e3,
       "354", "A13: it attends to all 131,072 tokens"},
      {"17.8.9", "ms of a prompt of 50 tokens", "2", PrefillSeconds(Of("llama3_70b", 1), 50) * 1e3, "42",
       "A13: the weights are read whatever its length"},
  };
}

std::vector<Figure> Decoding() {
  const Server s70 = Of("llama3_70b", 1), s70h20 = Of("llama3_70b", 1, kH20Roof);
  const Server t4 = Of("llama3_70b", 4), t4h20 = Of("llama3_70b", 4, kH20Roof), s8 = Of("llama3_8b", 1);
  const double weights = hardware::Roof{1, kH800Memory}.time(0, 140e9) * 1e3;
  const char* keys = "E16: a request has 1.342 GB of keys and values";
  const char* computes = "E16; at 70 per cent of its peak an H20 computes longer than it reads";
  const char* keys8 = "E16: a request has 0.537 GB of keys and values";
  const auto rate = [](const Server& s, std::int64_t batch) {
    return Throughput(Number(batch), DecodeSeconds(s, batch, 4096));
  };
  return {
      {"17.8.3 Ex2", "ms to read 140 GB, H800", "41.8", weights},
      {"17.8.3 Ex2", "ms to read 140 GB, H20", "35.0", hardware::Roof{1, kH20Memory}.time(0, 140e9) * 1e3},
      {"17.8.3 Ex1", "ms, 8B, one request", "4.78", StepMs(s8, 1), "4.95", keys8},
      {"T17-97", "GB of keys and values, 4,096", "0.625", KvBytes(s70, 4096) * 1e-9, "1.342", keys},
      {"T17-97", "GB of keys and values, 131,072", "20.0", KvBytes(s70, 131072) * 1e-9, "42.9", keys},
      {"T17-97", "ms, one request of 4,096", "42.0", StepMs(s70, 1), "42.5", keys},
      {"T17-98", "tokens/s, 32 requests", "670", rate(s70, 32), "582", keys},
      {"T17-98", "tokens/s, 64 requests", "1,192", rate(s70, 64), "944", keys},
      {"T17-99", "ms, 32 requests, H800", "44.4", StepMs(s70, 32), "54.9", keys},
      {"T17-99", "ms, 32 requests, H20", "37.2", StepMs(s70h20, 32), "46.2", computes},
      {"17.8.3 Ex4", "ms, INT4", "10.5", hardware::Roof{1, kH800Memory}.time(0, 35e9) * 1e3},
      {"T17-100", "tokens/s on four H800, 32 requests", "3,040", rate(t4, 32), "2,330", keys},
      {"T17-100", "tokens/s on four H20, 32 requests", "3,630", rate(t4h20, 32), "2,767", computes},
      {"T17-103", "tokens/s on four H800, 128 requests", "11,907", rate(t4, 128), "5,482", keys},
      {"T17-104", "tokens/s of 8B, 128 requests", "26,230", rate(s8, 128), "5,057", keys8},
      {"T17-102", "tokens/s of 8B, H800", "25,600", rate(s8, 128), "5,057", keys8},
  };
}

std::vector<Figure> Concurrency() {
  const auto fits = [](const Server& s, double memory) {
    return Number(RequestsThatFit(s, memory, 2e9, 4096));
  };
  const Server t4 = Of("llama3_70b", 4), int4 = Of("llama3_70b", 1, kH800Roof, 4);
  Server int4_kv8 = int4;
  int4_kv8.kv_width = 1;
  const char* divided = "A11: each of four holds a quarter of a request";
  const Server s8 = Of("llama3_8b", 1);
  return {
      {"T17-101", "requests of 4,096 on four, 45 GB free", "33",
       Number(static_cast<std::int64_t>(45e9 / KvBytes(t4, 4096))), "134", divided},
      {"17.8.6 Ex1", "requests of a group", "32", fits(t4, 80e9), "127", divided},
      {"17.8.6 Ex1", "requests on 8 H800", "64", 2 * fits(t4, 80e9), "254", divided},
      {"T17-107", "requests on 8 H20", "88", 2 * fits(t4, 96e9), "350", divided},
      {"T17-107", "requests of 8B on one H800", "54", fits(s8, 80e9), "115", "E16: 0.537 GB each"},
      {"T17-109", "requests, INT4, H800", "32", fits(int4, 80e9), "31", "70.55e9 parameters, not 70e9"},
      {"T17-109", "requests, INT4, H20", "44", fits(int4, 96e9), "43", "70.55e9 parameters, not 70e9"},
      {"T17-121", "requests, INT4 and INT8 keys", "67", fits(int4_kv8, 80e9), "63",
       "2 GB of overhead left out there"},
      {"17.8.10 Ex2", "requests of 131,072, INT4 and INT8 keys", "2",
       Number(RequestsThatFit(int4_kv8, 80e9, 2e9, 131072)), "1",
       "70.55e9 parameters leave 42.7 GB of 42.95"},
  };
}

std::vector<Figure> Paging() {
  const models::Model m = ModelOf("llama3_70b");
  const auto gb = [&](std::int64_t tokens) {
    return Number(models::KvCacheBytes(m, tokens, 2).count()) * 1e-9;
  };
  const std::array<std::int64_t, 1> used = {700};
  std::array<std::int64_t, 20> own{};
  own.fill(572);
  const std::array<std::int64_t, 32> lengths = {500, 200, 200, 200, 100, 100, 100, 100, 50, 50, 50,
                                                50,  50,  50,  50,  50,  20,  20,  20,  20, 20, 20,
                                                20,  20,  20,  20,  20,  20,  20,  20,  20, 20};
  return {
      {"T17-110", "GB for 4,096", "1.34", gb(4096)},
      {"17.8.7 Ex1", "GB of 700", "0.229", gb(700)},
      {"17.8.7 Ex1", "per cent unused", "82.9", 100 * (1 - gb(700) / gb(4096))},
      {"17.8.7 Ex2", "blocks of 16", "44", Number(models::PagedTokens(used, 16) / 16)},
      {"17.8.7 Ex2", "MB of a block", "5.24", gb(16) * 1e3},
      {"17.8.7", "tokens of 20 requests behind one prompt of 128", "11,568",
       Number(128 + models::PagedTokens(own, 1))},
      {"17.8.7", "GB of them", "3.9", gb(11568), "3.8", "rounded up"},
      {"T17-106", "per cent of the slots that work", "13.9", 100 * StaticBatchUse(lengths.data(), 32)},
      {"17.8.5 Ex2", "times as many with 90 per cent", "6.4", 0.9 / StaticBatchUse(lengths.data(), 32)},
  };
}

std::vector<Figure> Speculation() {
  const char* sum = "E17: (1 - a^(k+1)) / (1 - a)";
  return {
      {"T17-113", "0.9, 3", "2.44", SpeculatedTokens(0.9, 3), "3.439", sum},
      {"T17-113", "0.9, 5", "3.54", SpeculatedTokens(0.9, 5), "4.686", sum},
      {"T17-113", "0.9, 8", "4.58", SpeculatedTokens(0.9, 8), "6.126", sum},
      {"T17-113", "0.8, 3", "2.08", SpeculatedTokens(0.8, 3), "2.952", sum},
      {"T17-113", "0.8, 5", "2.76", SpeculatedTokens(0.8, 5), "3.689", sum},
      {"T17-113", "0.8, 8", "3.37", SpeculatedTokens(0.8, 8), "4.329", sum},
      {"T17-113", "0.7, 3", "1.72", SpeculatedTokens(0.7, 3), "2.533", sum},
      {"T17-113", "0.7, 5", "2.10", SpeculatedTokens(0.7, 5), "2.941", sum},
      {"T17-113", "0.7, 8", "2.40", SpeculatedTokens(0.7, 8), "3.199", sum},
      {"T17-113", "0.6, 3", "1.42", SpeculatedTokens(0.6, 3), "2.176", sum},
      {"T17-113", "0.6, 5", "1.62", SpeculatedTokens(0.6, 5), "2.383", sum},
      {"T17-113", "0.6, 8", "1.76", SpeculatedTokens(0.6, 8), "2.475", sum},
      {"17.8.8 Ex1", "0.8, 5", "3.69", SpeculatedTokens(0.8, 5)},
      {"17.8.8 Ex1", "times as fast, a draft of 1/1,000", "3.67", SpeculationSpeedup(0.8, 5, 0.001)},
      {"17.8.8 Ex2", "0.9, 5", "4.69", SpeculatedTokens(0.9, 5)},
      {"T17-116", "0.85, 5", "3.88", SpeculatedTokens(0.85, 5), "4.15", sum},
      {"T17-116", "0.7, 5", "2.40", SpeculatedTokens(0.7, 5), "2.94", sum},
      {"T17-116", "0.55, 5", "1.67", SpeculatedTokens(0.55, 5), "2.16", sum},
  };
}

std::vector<Figure> Waiting() {
  const Server s = Of("llama3_70b", 1);
  const std::array<Prompt, 3> prompts = {{{0, 131'072}, {1, 50}, {5, 200}}};
  const std::vector<double> whole = FirstTokenSeconds(s, prompts),
                            chunks = FirstTokenSecondsInChunks(s, prompts, 512);
  const char* attention = "A13: with the attention of the first prompt";
  const char* rest = "A13: the rest of a step, and the next one with a chunk of the first prompt";
  return {
      {"17.8.9 Ex1", "s to A's first token", "26.5", whole[0], "58.4", attention},
      {"17.8.9 Ex1", "s to B's first token", "25.5", whole[1], "57.5", attention},
      {"17.8.9 Ex1", "s to C's first token", "21.5", whole[2], "53.5", attention},
      {"17.8.9 Ex2", "ms to B's first token in chunks", "106", chunks[1] * 1e3, "183", rest},
      {"17.8.9 Ex2", "ms to C's first token in chunks", "212", chunks[2] * 1e3, "318", rest},
      {"17.8.9 Ex2", "times as fast for B", "241", whole[1] / chunks[1], "314", attention},
  };
}

// Requests of 1,024 tokens and as many of answer, all that fit.
Deployment DeployedFor(const Server& s, double memory, double tokens_per_day, double usd) {
  const Load load{1024, 1024};
  return DeploymentFor(s, CapacityOf(s, memory, 2e9, load).value(), tokens_per_day / 1024, 0, usd);
}

std::vector<Figure> Deployments() {
  const Server s8 = Of("llama3_8b", 1), int4 = Of("llama3_70b", 1, kH20Roof, 4), t4 = Of("llama3_70b", 4);
  const Deployment small = DeployedFor(s8, 80e9, 1e6, 2.5), middle = DeployedFor(int4, 96e9, 1e8, 1);
  const Deployment large = DeployedFor(t4, 80e9, 1e9, 2.5), platform = DeployedFor(t4, 80e9, 1e10, 2.5);
  const char* margin = "without a margin for peaks, which the chapter does not name";
  return {
      {"T17-125", "devices for 1e6 tokens a day of 8B", "1", Number(small.devices)},
      {"T17-125", "USD a day", "60", small.usd_per_day},
      {"T17-125", "H20s for 1e8 tokens a day of 70B, INT4", "4", Number(middle.devices)},
      {"T17-125", "USD a day of them", "100", middle.usd_per_day, "96", "1 USD an hour each"},
      {"T17-125", "H800s for 1e9 tokens a day of 70B", "32", Number(large.devices), "8", margin},
      {"T17-125", "USD a day of 32", "1920", 32 * 24 * 2.5},
      {"T17-125", "H800s for 1e10 tokens a day of 70B", "128", Number(platform.devices), "60", margin},
  };
}

// Tokens a dollar on an H20 over those on an H800, spot.
double H20Better(std::int64_t tensor, const char* model, const Load& load, std::int64_t most) {
  const Server h800 = Of(model, tensor), h20 = Of(model, tensor, kH20Roof);
  return UsdPerMillionOutputs(h800, CapacityOf(h800, 80e9, 2e9, load, most).value(), load, 1.0) /
         UsdPerMillionOutputs(h20, CapacityOf(h20, 96e9, 2e9, load, most).value(), load, 0.5);
}

std::vector<Figure> Choice() {
  const char* computes =
      "at 70 per cent of its peak an H20 computes longer than it reads from 36 requests on";
  return {
      {"T17-137", "H20 over H800, tokens a dollar, 70B, 128 in and 1,024 out, 8 at once", "2.4",
       H20Better(4, "llama3_70b", {128, 1024}, 8)},
      {"T17-137", "32 at once", "2.4", H20Better(4, "llama3_70b", {128, 1024}, 32), "1.9", computes},
      {"T17-137", "all that fit", "2.4", H20Better(4, "llama3_70b", {128, 1024}, INT64_MAX), "0.3", computes},
      {"T17-137", "2,048 in and out, all that fit", "2.4",
       H20Better(4, "llama3_70b", {2048, 2048}, INT64_MAX), "0.6", computes},
      {"T17-137", "experts: Qwen3-235B on eight, 2,048 in and out, all that fit", "2.4",
       H20Better(8, "qwen3_235b_a22b", {2048, 2048}, INT64_MAX), "2.7", "an H20 holds more of them"},
  };
}

std::vector<Figure> Money() {
  const double rate = Throughput(32, DecodeSeconds(Of("llama3_70b", 4), 32, 4096));
  return {
      {"T17-118", "GB of 70e9 in INT4", "35",
       Number(models::QuantisedBytes(70'000'000'000, {4, 128, 0}).count()) * 1e-9},
      {"17.8.10 Ex1", "ms to read 35 GB", "10.45", hardware::Roof{1, kH800Memory}.time(0, 35e9) * 1e3},
      {"T17-122", "tokens/s of weights alone", "3062", Throughput(32, 35e9 / kH800Memory)},
      {"T17-123", "USD a million tokens at 3,040/s", "0.91", UsdPerMillionTokens(4, 2.5, 3040)},
      {"17.8.11", "USD a million tokens, with keys and values", "0.91", UsdPerMillionTokens(4, 2.5, rate),
       "1.19", "E16: 2,330 tokens/s"},
      {"17.8.11 Ex1", "USD a million tokens at 2,500/s", "2.67", UsdPerMillionTokens(8, 3, 2500)},
      {"17.8.11", "1e6 tokens a day to break even, output at 10 USD", "120",
       BreakEvenMillionsADay(4, 2.5, 10, 0.5), "25.3", "B17: 2.50 is the price of input"},
      {"17.8.11", "1e6 tokens a day to break even at 30 USD", "19.2", BreakEvenMillionsADay(8, 3, 30)},
      {"17.8.11 Ex2", "USD a million tokens, H20 spot", "0.15", UsdPerMillionTokens(4, 0.5, 3630)},
      {"17.8.11 Ex2", "USD a million tokens, H800 spot", "0.37", UsdPerMillionTokens(4, 1.0, 3040)},
  };
}

}  // namespace

std::vector<Figure> ServingFigures() {
  std::vector<Figure> all;
  for (const auto& part : {Phases(), Decoding(), Waiting(), Concurrency(), Paging(), Speculation(), Money(),
                           Deployments(), Choice()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace textbook
