#include "models/context_core.h"

#include <algorithm>

#include "sim/base/check.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;
using sim::KernelKind;

// What a rank works on once heads are exchanged: `length` tokens of each sequence with
// its part of the heads.
struct Part {
  explicit Part(const Core& c) : core(c), spread(c.execution.context) {
    heads = core.heads / spread.ulysses;
    kv_heads = core.kv_heads * KeyCopies(core) / spread.ulysses;
    length = core.length * spread.ulysses;
    row = core.execution.micro_batch * core.sizes.element;
    widths = core.model.head_dim + core.model.value_dim();
  }
  // Bytes of queries (as wide as keys), outputs, or keys and values of so many tokens.
  std::int64_t Queries(std::int64_t tokens) const { return row * tokens * heads * core.model.head_dim; }
  std::int64_t Outputs(std::int64_t tokens) const { return row * tokens * heads * core.model.value_dim(); }
  std::int64_t KeysAndValues(std::int64_t tokens) const { return row * tokens * kv_heads * widths; }
  // FP32, one a query and head.
  std::int64_t Statistics(std::int64_t tokens) const {
    return 4 * core.execution.micro_batch * heads * tokens;
  }

  const Core& core;
  const ContextSpread& spread;
  std::int64_t heads, kv_heads, length;
  std::int64_t row;     // bytes of one number of one token, all sequences
  std::int64_t widths;  // channels of a key and its value
};

// Attention of `queries` tokens to `keys`; where `causal` the last query sees all keys.
struct Extent {
  std::int64_t queries = 0, keys = 0;
  bool causal = true;
};

Kernel Flash(const Part& part, Extent extent, KernelKind kind) {
  const bool backward = kind == KernelKind::kAttentionBackward;
  const Core& core = part.core;
  const std::int64_t reach = extent.keys == core.execution.sequence_length ? core.reach : extent.keys;
  Kernel kernel;
  kernel.name = backward ? "flash_backward" : "flash_forward";
  kernel.kind = kind;
  kernel.format = core.execution.format;
  kernel.attention = {.batch = core.execution.micro_batch,
                      .query_heads = part.heads,
                      .kv_heads = part.kv_heads,
                      .query_length = extent.queries,
                      .kv_length = extent.keys,
                      .head_dim = core.model.head_dim,
                      .value_dim = core.model.value_dim(),
                      .causal = extent.causal,
                      .window = reach < extent.keys ? core.window : 0,
                      .implementation = core.execution.attention};
  // Twice the pairs, so that half a diagonal is whole, as for whole sequences. A window
  // goes with whole sequences only, where there are as many queries as keys.
  const std::int64_t seen = std::min(extent.queries, reach);
  const std::int64_t twice_pairs =
      extent.causal ? seen * (2 * extent.keys - seen) : 2 * extent.queries * extent.keys;
  const std::int64_t width =
      backward ? sim::BackwardWidth(kernel.attention) : sim::ForwardWidth(kernel.attention);
  kernel.flops = sim::Flops(core.execution.micro_batch * part.heads * width * twice_pairs);
  const std::int64_t tensors =
      part.Queries(extent.queries) + part.Outputs(extent.queries) + part.KeysAndValues(extent.keys);
  const std::int64_t statistics = part.Statistics(extent.queries);
  kernel.bytes = Bytes(backward ? 2 * tensors + 2 * statistics : tensors + statistics);
  return kernel;
}

// Adds the attention of one extent to a piece.
void AddAttention(const Part& part, Extent extent, ContextCore::Piece* piece) {
  piece->forward.push_back(Flash(part, extent, KernelKind::kAttentionForward));
  piece->backward.push_back(Flash(part, extent, KernelKind::kAttentionBackward));
}

// One block of the ring. The forward scales the block's output by what the rows'
// statistics have become and adds it to the others'; the backward adds the gradients
// of queries, keys and values to those that are there already.
ContextCore::Piece RingPiece(const Part& part, Extent extent) {
  ContextCore::Piece piece;
  AddAttention(part, extent, &piece);
  const bool first = extent.causal;  // the forward begins with the rank's own block
  const std::int64_t output = part.Outputs(extent.queries), statistics = part.Statistics(extent.queries);
  if (first) {
    piece.forward.push_back(Moves("scale_first_output", 2 * output + 2 * statistics));
  } else {
    piece.forward.push_back(Moves("merge_statistics", 3 * statistics));
    piece.forward.push_back(Moves("merge_output", 3 * output + 2 * statistics));
  }
  piece.backward_merge.push_back(Moves("merge_query_gradient", 3 * part.Queries(extent.queries)));
  piece.backward_merge.push_back(Moves("merge_key_value_gradients", 3 * part.KeysAndValues(extent.keys)));
  return piece;
}

void AddRing(const Part& part, ContextCore* context) {
  const std::int64_t whole = part.length, half = whole / 2;
  const bool zigzag = part.spread.zigzag;
  context->passed = Bytes(part.KeysAndValues(whole));
  context->pieces.push_back(RingPiece(part, {whole, whole, true}));
  // With parts from both ends: of a rank before this one only the first part is in the
  // past of all queries; the whole block of a rank behind it is in the past of the second.
  context->pieces.push_back(RingPiece(part, {whole, zigzag ? half : whole, false}));
  context->pieces.push_back(zigzag ? RingPiece(part, {half, whole, false}) : ContextCore::Piece{});
}

void AddGather(const Part& part, ContextCore* context) {
  const std::int64_t ranks = part.spread.ring(), whole = part.length, half = whole / 2;
  const Core& core = part.core;
  const std::int64_t token = part.row * part.kv_heads;
  const std::int64_t all = part.KeysAndValues(ranks * whole);
  context->gathers = true;
  context->keys = Bytes(token * ranks * whole * core.model.head_dim);
  context->values = Bytes(token * ranks * whole * core.model.value_dim());
  for (std::int64_t i = 0; i < ranks; ++i) {
    ContextCore::Piece piece;
    if (part.spread.zigzag) {
      const std::int64_t keys[] = {(i + 1) * half, (2 * ranks - i) * half};
      const Kernel reorder = Moves("reorder_keys_values", 2 * all);
      piece.forward.push_back(reorder);
      piece.backward.push_back(reorder);
      for (const std::int64_t seen : keys) {
        AddAttention(part, {half, seen, true}, &piece);
        piece.backward.push_back(Moves("add_key_value_gradients", 3 * part.KeysAndValues(seen)));
      }
      piece.backward.push_back(Moves("reorder_gradients", 2 * all));
    } else {
      AddAttention(part, {whole, (i + 1) * whole, true}, &piece);
    }
    context->pieces.push_back(std::move(piece));
  }
}

// The exchange of heads: each tensor is laid out by destination before it, and put in
// order behind it.
void AddExchange(const Part& part, ContextCore* context) {
  const Core& core = part.core;
  const std::int64_t copies = KeyCopies(core);
  const std::int64_t keys = copies * core.key_bytes, values = copies * core.value_bytes;
  const std::int64_t inputs = core.query_bytes + keys + values;
  context->query_heads = Bytes(core.query_bytes);
  context->key_heads = Bytes(keys);
  context->value_heads = Bytes(values);
  context->output_heads = Bytes(core.output_bytes);
  const std::int64_t repeated = core.key_bytes + core.value_bytes + keys + values;
  if (copies > 1) context->prepare.push_back(Moves("repeat_keys_values", repeated));
  context->prepare.push_back(Moves("pack_heads", 2 * inputs));
  context->arrive.push_back(Moves("unpack_heads", 2 * inputs));
  context->leave.push_back(Moves("pack_output", 2 * core.output_bytes));
  context->finish.push_back(Moves("unpack_output", 2 * core.output_bytes));
  context->prepare_back.push_back(Moves("pack_output_gradient", 2 * core.output_bytes));
  context->arrive_back.push_back(Moves("unpack_output_gradient", 2 * core.output_bytes));
  context->leave_back.push_back(Moves("pack_gradients", 2 * inputs));
  context->backward_after.push_back(Moves("unpack_gradients", 2 * inputs));
  if (copies > 1) context->backward_after.push_back(Moves("sum_repeated_gradients", repeated));
}

}  // namespace

std::int64_t KeyCopies(const Core& core) {
  CHECK(core.kv_heads % core.execution.context.ulysses == 0 ||
        core.execution.context.ulysses % core.kv_heads == 0);
  return std::max<std::int64_t>(1, core.execution.context.ulysses / core.kv_heads);
}

void AddContextCore(const Core& core, ContextCore* context) {
  const Part part(core);
  if (part.spread.ulysses > 1) AddExchange(part, context);
  if (part.spread.ring() == 1) {
    AddAttention(part, {part.length, part.length, true}, &context->pieces.emplace_back());
  } else if (part.spread.kind == ContextKind::kRing) {
    AddRing(part, context);
  } else {
    AddGather(part, context);
  }
}

std::vector<Kernel>* AddCoreForwardTo(const Core& core, Block* block) {
  if (core.execution.context.ranks == 1) {
    AddCoreForward(core, &block->main);
    return &block->main;
  }
  AddContextCore(core, &block->context);
  return &block->context.after;
}

std::vector<Kernel>* AddCoreBackwardTo(const Core& core, Block* block) {
  if (core.execution.context.ranks > 1) return &block->context.backward_after;
  AddCoreBackward(core, &block->backward_main);
  return &block->backward_main;
}

void AddCoreAgain(const Core& core, Block* block) {
  if (!core.execution.selective.attention_core) return;
  if (core.execution.context.ranks > 1) {
    block->again.core = true;
  } else {
    AddCoreForward(core, &block->again.main);
  }
}

}  // namespace models
