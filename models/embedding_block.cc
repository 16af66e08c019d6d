#include "models/kernels.h"
#include "models/transformer.h"

namespace models {
namespace {

using sim::Bytes;
using sim::Kernel;
using sim::MemoryClass;

inline constexpr std::int64_t kTokenIdBytes = 8;

void AddForward(const Model& model, const Execution& execution, Block* block) {
  const Sizes sizes(model, execution);
  const std::int64_t whole = sizes.whole_h * sizes.element, cut = sizes.cut_h * sizes.element;
  // A rank looks every token up; those of other ranks' rows it sets to zero.
  block->main.push_back(Moves("look_up", kTokenIdBytes * sizes.tokens + 2 * whole, MemoryClass::kGather));
  if (execution.tensor > 1) {
    block->main.push_back(Moves("vocabulary_mask", whole - whole / execution.tensor));
  }
  std::vector<Kernel>* after = &block->after_reduce;
  if (model.learned_positions > 0) {
    const std::int64_t rows = execution.local_length() * model.hidden * sizes.element;
    after->push_back(Moves("positions", 2 * cut + rows));
  }
  if (model.embedding_norm) AddNorm("embedding_norm", model.norm, sizes.cut, model.hidden, execution, after);
  if (execution.dropout) after->push_back(Moves("dropout", 2 * cut + sizes.cut_h));
}

void AddBackward(const Model& model, const Execution& execution, Block* block) {
  const Sizes sizes(model, execution);
  const std::int64_t whole = sizes.whole_h * sizes.element, cut = sizes.cut_h * sizes.element;
  std::vector<Kernel>* head = &block->backward_head;
  if (execution.dropout) head->push_back(Moves("dropout_backward", 2 * cut + sizes.cut_h));
  if (model.embedding_norm) {
    AddNormBackward("embedding_norm_backward", model.norm, sizes.cut, model.hidden, execution, head);
  }
  const std::int64_t sum = execution.gradient_fp32 ? 4 : sizes.element;
  if (model.learned_positions > 0) {
    const std::int64_t rows = execution.local_length() * model.hidden;
    head->push_back(Moves("positions_backward", cut + 2 * sum * rows, MemoryClass::kGather));
  }
  // The look-up's gradient is a dense table: cleared, scattered into, then added
  // to what earlier micro-batches left.
  const std::int64_t table = sizes.vocabulary * model.hidden;
  std::vector<Kernel>* main = &block->backward_main;
  main->push_back(Moves("table_gradient_clear", table * sizes.element));
  main->push_back(Moves("look_up_backward", kTokenIdBytes * sizes.tokens + 3 * whole, MemoryClass::kGather));
  main->push_back(Moves("table_gradient_accumulation", table * (sizes.element + 2 * sum)));
}

}  // namespace

Block EmbeddingBlock(const Model& model, const Execution& execution) {
  const Sizes sizes(model, execution);
  Block block;
  block.name = "embedding";
  AddForward(model, execution, &block);
  AddBackward(model, execution, &block);
  block.activations.push_back({"token_ids", Bytes(kTokenIdBytes * sizes.tokens)});
  if (model.embedding_norm) {
    KeepNorm("embedding_norm_input", model.norm, sizes.cut_h, execution, false, &block.activations);
  }
  if (execution.dropout) block.activations.push_back({"dropout_mask", Bytes(sizes.cut_h)});
  if (execution.tensor > 1) {
    block.reduce_forward = WholeTensor(model, execution);
    if (execution.sequence_parallel) block.gather_backward = block.reduce_forward;
  }
  return block;
}

}  // namespace models
