#include "hardware/device_attention.h"

#include <set>
#include <utility>

#include "proto/hardware.pb.h"
#include "sim/base/check.h"

namespace hardware {

namespace {

using orrery::config::Hardware;

sim::AttentionKind ConvertImplementation(int implementation) {
  switch (implementation) {
    case Hardware::FLASH2:
      return sim::AttentionKind::kFlash2;
    case Hardware::FLASH3:
      return sim::AttentionKind::kFlash3;
    case Hardware::CUDNN:
      return sim::AttentionKind::kCudnn;
    case Hardware::TRTLLM:
      return sim::AttentionKind::kTrtLlm;
    default:
      CHECK(false);
  }
  return sim::AttentionKind::kUnfused;
}

AttentionModel::Pass ConvertPass(const Hardware::AttentionPass& pass) {
  return {.causal_flops_per_s = pass.causal_tflops() * 1e12,
          .full_flops_per_s = pass.full_tflops() * 1e12,
          .overhead_tokens = pass.overhead_tokens(),
          .query_tokens = pass.query_tokens(),
          .tail = pass.tail()};
}

// Each implementation once for a head dimension.
template <typename List>
void CheckTwice(const List& list, const char* name, const proto::Field& root,
                proto::Diagnostics* diagnostics) {
  std::set<std::pair<int, int>> seen;
  for (int i = 0; i < list.size(); ++i) {
    for (int j = 0; j < list[i].implementations_size(); ++j) {
      if (seen.insert({list[i].implementations(j), list[i].head_dim()}).second) continue;
      diagnostics->Error(root.At(name, i).At("implementations", j).place(),
                         Hardware::Implementation_Name(list[i].implementations(j)) +
                             " is given twice for head dimension " + std::to_string(list[i].head_dim()));
    }
  }
}

}  // namespace

void CheckAttention(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  CheckTwice(message.attention(), "attention", root, diagnostics);
  CheckTwice(message.paged_attention(), "paged_attention", root, diagnostics);
  for (int i = 0; i < message.attention_size(); ++i) {
    for (int j = 0; j < message.attention(i).implementations_size(); ++j) {
      if (message.attention(i).implementations(j) != Hardware::TRTLLM) continue;
      diagnostics->Error(root.At("attention", i).At("implementations", j).place(),
                         "TRTLLM has no backward; wanted in paged_attention");
    }
  }
}

void ConvertAttention(const Hardware& message, Device* device) {
  const auto block = [](const auto& attention) {
    return attention.has_block_queries() ? attention.block_queries() : AttentionModel().block_queries;
  };
  for (int i = 0; i < message.attention_size(); ++i) {
    const Hardware::Attention& attention = message.attention(i);
    for (const int implementation : attention.implementations()) {
      device->attention.push_back({.implementation = ConvertImplementation(implementation),
                                   .head_dim = attention.head_dim(),
                                   .forward = ConvertPass(attention.forward()),
                                   .backward = ConvertPass(attention.backward()),
                                   .block_queries = block(attention),
                                   .fixed_s = attention.fixed_us() * 1e-6,
                                   .place = i});
    }
  }
  for (int i = 0; i < message.paged_attention_size(); ++i) {
    const Hardware::PagedAttention& paged = message.paged_attention(i);
    for (const int implementation : paged.implementations()) {
      device->paged_attention.push_back({.implementation = ConvertImplementation(implementation),
                                         .head_dim = paged.head_dim(),
                                         .forward = {.causal_flops_per_s = paged.tflops() * 1e12,
                                                     .full_flops_per_s = paged.tflops() * 1e12,
                                                     .overhead_tokens = paged.overhead_tokens(),
                                                     .query_tokens = paged.query_tokens(),
                                                     .tail = paged.tail()},
                                         .block_queries = block(paged),
                                         .fixed_s = paged.fixed_us() * 1e-6,
                                         .cache_token_s = paged.cache_token_ns() * 1e-9,
                                         .cache_bytes_per_s = paged.cache_gb_per_s() * 1e9,
                                         .place = i});
    }
  }
}

}  // namespace hardware
