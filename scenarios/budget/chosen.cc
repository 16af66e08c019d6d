// What follows from what was chosen.

#include <cstdio>

#include "models/parameters.h"
#include "scenarios/budget/plan_request.h"

namespace scenarios {

std::string Grouped(std::int64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t i = text.size(); i > (text[0] == '-' ? 4u : 3u);) text.insert(i -= 3, 1, ',');
  return text;
}

std::string Short(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

double Chosen::flops_of_token() const {
  const auto length = static_cast<double>(sequence_length);
  if (!frozen()) {
    return static_cast<double>(models::ModelFlops(model, 1, sequence_length, attention)) / length;
  }
  // Gradients pass frozen matrices, which have none of their own; adapters have all three products.
  const models::FlopsOf forward = models::ForwardFlops(model, 1, sequence_length, attention);
  return static_cast<double>(2 * (forward.linear + forward.logits) + 3 * forward.attention) / length +
         6 * static_cast<double>(adapters);
}

models::TrainingState Chosen::state() const {
  if (!frozen()) return models::TrainingStateOf(model, optimizer, widths);
  const models::ModelParameters p = models::ParametersOf(model);
  const std::int64_t matrices = p.layers.attention + p.layers.mlp + p.layers.experts;
  return models::AdapterTrainingState(BaseBytes(matrices, p.total() - matrices), adapters, widths);
}

models::TrainingState Chosen::saved() const {
  return frozen() ? models::AdapterTrainingState(sim::Bytes(), adapters, widths) : state();
}

sim::Bytes Chosen::BaseBytes(std::int64_t matrices, std::int64_t rest) const {
  const models::Quantisation q = base_bits == 4 ? models::kNf4 : models::Quantisation{.bits = base_bits};
  const sim::Bytes narrow = base_bits == 16 ? sim::Bytes(2 * matrices) : models::QuantisedBytes(matrices, q);
  return narrow + sim::Bytes(2 * rest);
}

sim::Bytes Chosen::memory() const {
  return sim::Bytes(
      static_cast<std::int64_t>(static_cast<double>(device.usable_memory.count()) * (1 - margins.safety)));
}

models::Execution Chosen::execution() const {
  models::Execution e;
  e.tensor = tensor;
  e.sequence_parallel = sequence_parallel;
  e.context.ranks = context_ranks;
  e.experts.expert = expert;
  e.micro_batch = micro_batch;
  e.sequence_length = sequence_length;
  e.format = format;
  e.gradient_fp32 = widths.gradient == 4;
  e.attention = attention_kind;
  e.dropout = dropout;
  return e;
}

}  // namespace scenarios
