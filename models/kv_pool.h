// The memory that a server keeps for keys and values, in tokens and blocks: how many
// requests it holds, what paging wastes and saves, what a shared prefix spares.
//
// Source: Kwon et al., "Efficient memory management for large language model serving
// with PagedAttention", SOSP 2023, section 4; textbook, 27.4, 17.8.6, 17.8.7.

#ifndef MODELS_KV_POOL_H_
#define MODELS_KV_POOL_H_

#include <cstdint>
#include <span>

#include "sim/base/units.h"

namespace models {

// Places that requests of these lengths reserve when each gets whole blocks of its own.
// Source: textbook, 27.4 and exercise 27.4. REQUIRES: block > 0, lengths >= 0
std::int64_t PagedTokens(std::span<const std::int64_t> lengths, std::int64_t block);

// What one rank can keep. `bytes_per_token` is that of one rank too: where ranks share the
// heads, each holds its part of every token (KvCacheBytesPerToken). All layers that
// keep a token's keys count, so nothing is counted twice or divided by the ranks again.
struct KvPool {
  sim::Bytes free;
  sim::Bytes bytes_per_token;  // > 0
  std::int64_t block = 1;      // tokens

  std::int64_t blocks() const { return free.count() / (block * bytes_per_token.count()); }
  std::int64_t tokens() const { return blocks() * block; }
  // Requests of `length` tokens each that fit at once, block-rounded. It is what every
  // mention of concurrency means: tokens() over what one such request reserves.
  std::int64_t requests(std::int64_t length) const {
    const std::int64_t reserved = (length + block - 1) / block;
    return blocks() / reserved;
  }
};

// Memory of a rank left for keys and values: a part of its memory less weights and working space.
// `utilisation` is of the whole memory, not of what is free after loading.
// Nothing when they do not leave any. REQUIRES: 0 < utilisation <= 1
sim::Bytes KvBudget(sim::Bytes memory, double utilisation, sim::Bytes weights, sim::Bytes workspace);

// Tokens of a prompt that need not be computed because `shared` of its first ones are cached:
// whole blocks, and never all of it, as the last token's logits are wanted.
std::int64_t ReusedTokens(std::int64_t prompt, std::int64_t shared, std::int64_t block);

// Where groups of layers have blocks of their own size, a hit is whole blocks of all of them:
// their least common multiple. REQUIRES: all > 0; not empty
std::int64_t CommonBlock(std::span<const std::int64_t> blocks);

}  // namespace models

#endif  // MODELS_KV_POOL_H_
