// Who holds what among the data ranks, and how it moves.

#include <algorithm>
#include <string>

#include "proto/scenario.pb.h"
#include "scenarios/layout_rules.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

namespace config = orrery::config;

OptimizerSharding KindOf(config::OptimizerSharding::Kind kind) {
  switch (kind) {
    case config::OptimizerSharding::NONE:
      return OptimizerSharding::kReplicated;
    case config::OptimizerSharding::ZERO_2:
      return OptimizerSharding::kZero2;
    case config::OptimizerSharding::ZERO_3:
      return OptimizerSharding::kZero3;
    default:
      return OptimizerSharding::kZero1;
  }
}

// What only makes sense where weights are cut.
void RefuseForWhole(const config::Sharding& in, const Block& block) {
  const auto refuse = [&](bool given, const char* name) {
    if (given) block.Error(name, "needs optimizer_sharding ZERO_3; otherwise weights are whole all the time");
  };
  refuse(in.has_reshard_after_forward(), "reshard_after_forward");
  refuse(in.has_reshard_last_unit(), "reshard_last_unit");
  refuse(in.has_prefetch(), "prefetch");
  refuse(in.has_rate_limit(), "rate_limit");
}

void ReadUnits(const config::Sharding& in, const Block& block, Sharding* sharding) {
  constexpr std::int64_t kMostUnits = 1000;
  sharding->reshard_after_forward = !in.has_reshard_after_forward() || in.reshard_after_forward();
  sharding->reshard_last_unit = in.reshard_last_unit();
  if (sharding->reshard_last_unit && !sharding->reshard_after_forward) {
    block.Error("reshard_last_unit", "true needs reshard_after_forward true");
  }
  const std::int64_t ahead = block.Optional("prefetch", in.has_prefetch(), in.prefetch(), 0, kMostUnits, 1);
  const std::int64_t limit =
      block.Optional("rate_limit", in.has_rate_limit(), in.rate_limit(), 1, kMostUnits, kMostUnits + 1);
  sharding->prefetch = std::min(ahead, std::max<std::int64_t>(limit, 1) - 1);
}

// Gradients that a step gets late cannot be given away unit by unit before.
void RefuseSplitBackward(const Block& training, const Block& block, const Scenario& scenario) {
  if (!scenario.pipeline.splits_backward()) return;
  const std::string whose = scenario.pipeline.name() + ", which makes weight gradients apart from the rest";
  if (scenario.training.optimizer_sharding >= OptimizerSharding::kZero2) {
    training.Error("optimizer_sharding", "ZERO_2 and ZERO_3 do not go with " + whose + "; ZERO_1 or NONE");
  } else if (!scenario.training.sharding.no_sync) {
    block.Error("no_sync", "false does not go with " + whose + "; leave it out");
  }
}

// Gradients of a pipeline are reduced behind its last micro-batch; weights that are cut are gathered for the
// step or for each pass, as PyTorch's pipelines do with FSDP. DeepSpeed refuses what is beyond ZERO_1.
void RefusePipeline(const Block& training, const Block& block, const Scenario& scenario) {
  const std::int64_t stages = scenario.layout.pipeline;
  const bool beyond = scenario.training.optimizer_sharding >= OptimizerSharding::kZero2;
  if (scenario.pipeline.shape.parts > 1 && beyond) {
    training.Error("optimizer_sharding", "ZERO_2 and ZERO_3 are not simulated with parts of sequences (" +
                                             scenario.pipeline.name() + "); ZERO_1 or NONE");
  }
  if (stages <= 1 && scenario.pipeline.shape.parts > 1 && !scenario.training.sharding.no_sync && !beyond) {
    block.Error("no_sync", "false is not simulated with parts of sequences (" + scenario.pipeline.name() +
                               "); leave it out");
  }
  if (stages <= 1) return RefuseSplitBackward(training, block, scenario);
  const std::string both_ends =
      " is not simulated where two stages hold the same pieces (" + scenario.pipeline.name() + ")";
  if (scenario.pipeline.copies() > 1 && scenario.training.sharding.ranks > 0) {
    block.Error("ranks", "a part of the data ranks" + both_ends + "; leave it out");
  }
  if (scenario.pipeline.copies() > 1 && beyond) {
    training.Error("optimizer_sharding", "more than ZERO_1" + both_ends + "; ZERO_1, or another schedule");
  } else if (scenario.model.tied_embedding && beyond) {
    training.Error("optimizer_sharding",
                   "ZERO_2 and ZERO_3 are not simulated with an embedding that is tied over the " +
                       std::to_string(stages) + " pipeline stages; ZERO_1, or model.tied_embedding false");
  }
  if (!scenario.training.sharding.no_sync) {
    block.Error("no_sync", "false needs layout.pipeline 1, not " + std::to_string(stages) +
                               ": a pipeline reduces gradients after its last micro-batch");
  }
}

// The ranks of a copy must be those of whole expert groups.
void RefuseSpreadExperts(const Block& block, const Scenario& scenario) {
  const Layout& layout = scenario.layout;
  const std::int64_t ranks = scenario.training.sharding.ranks, group = layout.expert * layout.expert_tensor;
  if (scenario.model.experts.routed == 0 || !layout.spreads_experts() || ranks == 0 || group == 0) return;
  if (layout.tensor > 1 && layout.order[0] != Dimension::kTensor) {
    block.Error("ranks",
                "a part of the data ranks is simulated with routed experts on other ranks only where tensor "
                "comes first in layout.rank_order; leave it out");
  } else if (ranks * layout.tensor % group != 0) {
    block.Error("ranks", std::to_string(ranks) + " x tensor " + std::to_string(layout.tensor) +
                             " is not a multiple of the " + std::to_string(group) +
                             " ranks of expert x expert_tensor, over which one copy of the experts lies");
  }
}

}  // namespace

void ReadSharding(const config::Training& in, const Block& training, Scenario* scenario) {
  const Block block = training.Of("sharding");
  const config::Sharding& cut = in.sharding();
  const OptimizerSharding kind = KindOf(in.optimizer_sharding());
  const std::int64_t data = scenario->layout.copies();
  scenario->training.optimizer_sharding = kind;
  Sharding& sharding = scenario->training.sharding;
  const bool late = kind < OptimizerSharding::kZero2 || scenario->layout.pipeline > 1;
  sharding.no_sync = cut.has_no_sync() ? cut.no_sync() : late;
  sharding.ranks = block.Optional("ranks", cut.has_ranks(), cut.ranks(), 1, 1'048'576, 0);
  if (sharding.ranks > 0 && data > 0) {
    if (const auto error = RefuseDivision(
            sharding.ranks, data, scenario->layout.context > 1 ? "data x context ranks" : "data ranks")) {
      block.Error("ranks", error->message);
    }
  }
  if (sharding.ranks > 0 && kind == OptimizerSharding::kReplicated) {
    block.Error("ranks", "needs optimizer_sharding ZERO_1, ZERO_2 or ZERO_3; NONE cuts nothing");
  }
  if (kind == OptimizerSharding::kZero3) {
    ReadUnits(cut, block, &sharding);
    if (in.has_bucket_mb()) {
      training.Error("bucket_mb", "has no meaning with ZERO_3, which moves unit by unit; leave it out");
    }
  } else {
    RefuseForWhole(cut, block);
  }
  RefusePipeline(training, block, *scenario);
  RefuseSpreadExperts(block, *scenario);

  const bool once_a_step = kind == OptimizerSharding::kZero1 || kind == OptimizerSharding::kZero2;
  scenario->training.overlap_parameter_gather =
      in.has_overlap_parameter_gather() ? in.overlap_parameter_gather() : once_a_step;
  if (kind == OptimizerSharding::kReplicated && scenario->training.overlap_parameter_gather) {
    training.Error("overlap_parameter_gather",
                   "true needs optimizer_sharding ZERO_1; without it nothing is gathered");
  }
  if (kind == OptimizerSharding::kZero3 && in.has_overlap_parameter_gather()) {
    training.Error("overlap_parameter_gather",
                   "is for ZERO_1 and ZERO_2; ZERO_3 gathers sharding.prefetch units ahead");
  }
}

}  // namespace scenarios
