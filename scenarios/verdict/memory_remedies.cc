#include <utility>

#include "scenarios/verdict/remedies.h"

namespace scenarios {

std::string Set(const char* path, std::int64_t value) {
  return std::string(path) + '=' + std::to_string(value);
}

std::vector<Changes> Variants(const Scenario& s, const Layout& layout, const Batch& batch,
                              const Changes& more) {
  const std::pair<const char*, std::pair<std::int64_t, std::int64_t>> fields[] = {
      {"layout.tensor", {s.layout.tensor, layout.tensor}},
      {"layout.context", {s.layout.context, layout.context}},
      {"layout.pipeline", {s.layout.pipeline, layout.pipeline}},
      {"layout.virtual", {s.layout.virtual_stages, layout.virtual_stages}},
      {"layout.expert", {s.layout.expert, layout.expert}},
      {"batch.global", {s.batch.global, batch.global}},
      {"batch.micro", {s.batch.micro, batch.micro}}};
  Changes changes;
  for (const auto& [path, values] : fields) {
    if (values.first != values.second) changes.push_back(Set(path, values.second));
  }
  if (s.layout.sequence && layout.tensor == 1) changes.emplace_back("layout.sequence=false");
  changes.insert(changes.end(), more.begin(), more.end());

  std::vector<Changes> cuts = {changes};
  if (s.model.experts.routed > 0 && layout.tensor != s.layout.tensor) {
    cuts.push_back(changes);
    cuts.back().push_back(Set("layout.expert_tensor", layout.tensor));
  }
  const std::int64_t data = s.devices / (layout.tensor * layout.context * layout.pipeline);
  const std::string ranks = Set("layout.data", data);
  const std::string accumulation =
      Set("batch.accumulation", batch.global / (batch.micro * std::max(data, std::int64_t{1})));
  std::vector<Changes> variants;
  for (const Changes& cut : cuts) {
    variants.push_back(cut);
    for (const Changes& stated : {Changes{ranks}, Changes{accumulation}, Changes{ranks, accumulation}}) {
      variants.push_back(cut);
      variants.back().insert(variants.back().end(), stated.begin(), stated.end());
    }
  }
  return variants;
}

namespace {

// State that data ranks hold alike, cut further.
void CutState(const Scenario& s, std::vector<Remedy>* remedies) {
  if (s.layout.copies() == 1) return;
  const OptimizerSharding now = s.training.optimizer_sharding;
  if (now < OptimizerSharding::kZero1) {
    remedies->push_back(
        {"each data rank holds its share of the optimizer only", {{"training.optimizer_sharding=ZERO_1"}}});
  }
  if (now < OptimizerSharding::kZero2) {
    remedies->push_back({"and of the gradients", {{"training.optimizer_sharding=ZERO_2"}}});
  }
  if (now < OptimizerSharding::kZero3) {
    remedies->push_back(
        {"and of the weights, gathered when they are wanted", {{"training.optimizer_sharding=ZERO_3"}}});
  }
}

void CutActivations(const Scenario& s, std::vector<Remedy>* remedies) {
  if (s.layout.tensor > 1 && !s.layout.sequence) {
    remedies->push_back({"norms and residuals are cut along the sequence", {{"layout.sequence=true"}}});
  }
  if (s.batch.micro > 1) {
    Batch half = s.batch;
    half.micro = s.batch.micro / 2;
    remedies->push_back({"half the activations of a micro-batch", Variants(s, s.layout, half)});
  }
  if (s.training.recompute == Recompute::kNone) {
    remedies->push_back(
        {"attention keeps its inputs only and computes again", {{"training.recompute=SELECTIVE"}}});
  }
  if (s.training.recompute != Recompute::kFull) {
    remedies->push_back(
        {"layers keep their inputs only, for a third more compute", {{"training.recompute=FULL"}}});
  }
  if (s.layout.virtual_stages > 1) {
    Layout whole = s.layout;
    whole.virtual_stages = 1;
    remedies->push_back({"fewer micro-batches in flight, for a larger bubble", Variants(s, whole, s.batch)});
  }
}

void CutModel(const Scenario& s, std::vector<Remedy>* remedies) {
  if (s.layout.tensor * 2 <= s.device.node.devices && s.layout.tensor * 2 <= s.devices) {
    Layout wider = s.layout;
    wider.tensor *= 2;
    remedies->push_back({"layers are cut over twice the ranks of a node", Variants(s, wider, s.batch)});
  }
  Layout longer = s.layout;
  longer.pipeline *= 2;
  remedies->push_back({"half the layers a stage", Variants(s, longer, s.batch)});
  if (s.model.experts.routed > 0 && s.layout.expert < s.model.experts.routed) {
    Layout spread = s.layout;
    spread.expert *= 2;
    remedies->push_back({"half the experts a rank", Variants(s, spread, s.batch)});
  }
}

}  // namespace

std::vector<Remedy> MemoryRemedies(const Scenario& s) {
  std::vector<Remedy> remedies;
  CutState(s, &remedies);
  CutActivations(s, &remedies);
  CutModel(s, &remedies);
  if (s.training.offload.optimizer_parts == 0) {
    remedies.push_back(
        {"the optimizer's state is with the host, which updates it", {{"training.offload.optimizer=1"}}});
  }
  if (s.layout.copies() > 1) {
    remedies.push_back({"both: state cut over all data ranks, layers that keep their inputs only",
                        {{"training.optimizer_sharding=ZERO_3", "training.recompute=FULL"}}});
  }
  return remedies;
}

}  // namespace scenarios
