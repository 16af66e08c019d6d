#include "models/elementwise.h"

namespace models {

ElementwiseFlops ElementwiseFlopsOf(const Model& m, std::int64_t sequences, std::int64_t sequence_length) {
  const sim::Wide tokens = sim::Wide{sequences} * sequence_length;
  const std::int64_t at_ends = (m.embedding_norm ? 1 : 0) + (m.final_norm ? 1 : 0);
  const sim::Wide of_norm = m.norm == Norm::kRms ? 5 : 10;
  sim::Wide channels = 0, pairs = 0;  // of feed-forwards; of scores
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    channels += HasExperts(m, layer)
                    ? sim::Wide{m.experts.per_token} * m.experts.ffn + m.experts.all_shared_ffn()
                    : sim::Wide{m.ffn};
    pairs += ReachOf(m, layer, sequence_length);
  }
  return {.norms = of_norm * tokens * (m.layers * m.norms_per_layer + at_ends) * m.hidden,
          .nonlinearity = (m.nonlinearity == Nonlinearity::kRelu ? 1 : 5) * tokens * channels,
          .softmax = 5 * tokens * pairs * m.heads};
}

}  // namespace models
