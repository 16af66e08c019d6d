// Routed experts: their layout, how tokens get to them, and which get more.

#include <cmath>
#include <string>

#include "hardware/math.h"
#include "proto/scenario.pb.h"
#include "scenarios/groups.h"
#include "scenarios/layout_rules.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

using std::to_string;

namespace config = orrery::config;

// A generator whose numbers are the same everywhere.
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014 (SplitMix64).
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

// Popularity i^-exponent, in parts of 1e9 of the first one's, dealt out to experts by `seed`.
std::vector<std::int64_t> ZipfLoads(std::int64_t experts, double exponent, std::int64_t seed) {
  constexpr double kMost = 1e9;
  std::vector<std::int64_t> loads;
  for (std::int64_t i = 1; i <= experts; ++i) {
    const double share = exponent > 0 ? hardware::Pow(1.0 / static_cast<double>(i), exponent) : 1;
    loads.push_back(std::llround(kMost * share));
  }
  SplitMix random(static_cast<std::uint64_t>(seed));
  for (std::size_t left = loads.size(); left > 1; --left) {
    std::swap(loads[left - 1], loads[random.Next() % left]);
  }
  return loads;
}

std::vector<std::int64_t> HistogramLoads(const config::RoutedExperts& in, std::int64_t experts,
                                         const Block& block) {
  constexpr std::int64_t kMostLoad = 1'000'000'000'000;
  if (in.loads_size() != experts) {
    block.Error("loads", to_string(in.loads_size()) + " loads for " + to_string(experts) +
                             " routed experts; one for each is wanted");
    return {};
  }
  std::vector<std::int64_t> loads(in.loads().begin(), in.loads().end());
  std::int64_t sum = 0;
  for (int i = 0; i < in.loads_size(); ++i) {
    if (in.loads(i) < 0 || in.loads(i) > kMostLoad) {
      block.Error("loads", to_string(in.loads(i)) + " is out of range; a number from 0 to 1e12 is wanted", i);
      return {};
    }
    sum += in.loads(i);
  }
  if (sum > 0) return loads;
  block.Error("loads", "all are 0; at least one above is wanted");
  return {};
}

// The loads of expert groups, of those of experts.
std::vector<std::int64_t> ByGroup(const std::vector<std::int64_t>& loads, std::int64_t groups) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(groups), 0);
  const std::size_t each = loads.size() / sums.size();
  for (std::size_t i = 0; i < loads.size(); ++i) sums[i / each] += loads[i];
  return sums;
}

void ReadRouting(const config::RoutedExperts& in, const Block& block, Scenario* scenario) {
  constexpr double kMostExponent = 4;
  constexpr std::int64_t kMostSeed = 1'000'000'000;
  const models::Experts& model = scenario->model.experts;
  const auto kind = in.routing();
  const bool zipf = kind == config::Routing::ZIPF, histogram = kind == config::Routing::HISTOGRAM;
  if (!zipf && in.has_zipf_exponent()) block.Error("zipf_exponent", "needs routing ZIPF");
  if (!zipf && in.has_seed()) block.Error("seed", "needs routing ZIPF");
  if (!histogram && in.loads_size() > 0) block.Error("loads", "need routing HISTOGRAM");
  std::vector<std::int64_t> loads;
  if (zipf) {
    const double exponent =
        block.Required("zipf_exponent", in.has_zipf_exponent(), in.zipf_exponent(), 0.0, kMostExponent);
    const std::int64_t seed = block.Optional("seed", in.has_seed(), in.seed(), 0, kMostSeed, 0);
    loads = ZipfLoads(model.routed, exponent, seed);
  } else if (histogram) {
    loads = HistogramLoads(in, model.routed, block);
  }
  if (loads.empty()) return;
  if (scenario->experts.dispatcher == models::Dispatcher::kDeepEp) {
    block.Error("routing", "only UNIFORM is simulated with dispatcher DEEPEP; ALLTOALL would do");
    return;
  }
  sim::Wide sum = 0;
  for (const std::int64_t load : loads) sum += load;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    if (sim::Wide{loads[i]} * model.per_token <= sum) continue;
    block.Error(zipf ? "zipf_exponent" : "loads",
                "expert " + to_string(static_cast<std::int64_t>(i)) + " would get more than 1 / " +
                    to_string(model.per_token) + " of all choices, but a token visits " +
                    to_string(model.per_token) + " different experts; flatter loads are wanted");
    return;
  }
  scenario->experts.loads = ByGroup(loads, scenario->layout.expert);
}

void ReadCapacity(const config::RoutedExperts& in, const Block& block, Scenario* scenario) {
  constexpr double kLeast = 0.01;
  const models::Experts& model = scenario->model.experts;
  const double most = static_cast<double>(model.routed) / static_cast<double>(model.per_token);
  if (in.has_capacity_factor() && in.capacity_factor() > most) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", in.capacity_factor());
    block.Error("capacity_factor",
                std::string(text) + " times the even share is more than all tokens: " +
                    to_string(model.routed) + " experts / " + to_string(model.per_token) +
                    " a token is the most that can be needed; it is a factor, not a number of tokens");
    return;
  }
  scenario->experts.capacity_factor =
      block.Optional("capacity_factor", in.has_capacity_factor(), in.capacity_factor(), kLeast, most, 0.0);
}

models::Dispatcher DispatcherOf(config::Dispatcher::Kind kind) {
  switch (kind) {
    case config::Dispatcher::ALLGATHER:
      return models::Dispatcher::kAllGather;
    case config::Dispatcher::DEEPEP:
      return models::Dispatcher::kDeepEp;
    default:
      return models::Dispatcher::kAllToAll;
  }
}

}  // namespace

// REQUIRES: layout and model are read and fit
void ReadExperts(const config::Scenario& scenario_in, const Block& top, Scenario* scenario) {
  if (!scenario_in.has_experts()) return;
  constexpr std::int64_t kMostNodes = 4096;
  const config::RoutedExperts& in = scenario_in.experts();
  const Layout& layout = scenario->layout;
  RoutedExperts& experts = scenario->experts;
  if (scenario->model.experts.routed == 0) {
    return top.Error("experts", "model \"" + scenario->model.name + "\" has none; leave it out");
  }
  if (!layout.spreads_experts()) {
    return top.Error("experts",
                     "no token leaves its tensor group: expert is 1 and expert_tensor is tensor; "
                     "leave it out, or give layout.expert above 1");
  }
  const Block block = top.Of("experts");
  experts.dispatcher = DispatcherOf(in.dispatcher());
  const bool deep_ep = experts.dispatcher == models::Dispatcher::kDeepEp;
  if (deep_ep && layout.expert_tensor > 1) {
    block.Error("dispatcher", "DEEPEP with layout.expert_tensor " + to_string(layout.expert_tensor) +
                                  " is not simulated; expert_tensor 1, or ALLTOALL, would do");
  }
  experts.fp8_dispatch = in.dispatch_format() == config::Format::FP8;
  const bool usual = in.dispatch_format() == config::Format::UNSPECIFIED ||
                     scenario_in.training().format() == in.dispatch_format() ||
                     (in.dispatch_format() == config::Format::BF16 &&
                      scenario_in.training().format() == config::Format::UNSPECIFIED);
  if (!experts.fp8_dispatch && !usual) {
    block.Error("dispatch_format", "neither FP8 nor training.format; one of them is wanted");
  }
  experts.overlap_shared = in.overlap_shared();
  if (experts.overlap_shared && scenario->model.experts.shared == 0) {
    block.Error("overlap_shared",
                "model \"" + scenario->model.name + "\" has no shared experts; false is wanted");
  }
  if (experts.overlap_shared && scenario->training.selective.shared_experts) {
    block.Error("overlap_shared",
                "shared experts that recompute_modules run again by themselves are not "
                "simulated beside the dispatch; false is wanted (as in Megatron-LM)");
  }
  experts.node_limit = block.Optional("node_limit", in.has_node_limit(), in.node_limit(), 1, kMostNodes, 0);
  if (in.has_node_limit() && !deep_ep) {
    block.Error("node_limit", "needs dispatcher DEEPEP; others send a row for each expert, wherever it is");
  }
  ReadCapacity(in, block, scenario);
  ReadRouting(in, block, scenario);
}

// Whether the experts' layout goes with the model and with the rest of the layout.
void CheckExpertLayout(const Block& top, Scenario* scenario) {
  const Layout& layout = scenario->layout;
  const models::Model& model = scenario->model;
  const Block block = top.Of("layout");
  if (layout.expert == 0 || layout.expert_tensor == 0) return;  // said already
  if (model.experts.routed == 0) {
    if (layout.expert > 1) {
      block.Error("expert", to_string(layout.expert) + ", but model \"" + model.name +
                                "\" has no experts; 1 is wanted");
    }
    return;
  }
  const std::string of_model = " of model \"" + model.name + '"';
  bool whole = true;
  if (const auto error = RefuseDivision(layout.expert, model.experts.routed, "routed experts" + of_model)) {
    block.Error("expert", error->message);
    whole = false;
  }
  if (const auto error =
          RefuseDivision(layout.expert_tensor, model.experts.ffn, "channels of an expert" + of_model)) {
    block.Error("expert_tensor", error->message);
    whole = false;
  }
  if (layout.data > 0 && layout.tensor > 0 && layout.context > 0) {
    if (const auto error = RefuseExpertRanks(layout)) {
      block.Error("expert", error->message);
      whole = false;
    }
  }
  if (!whole || !layout.spreads_experts() || layout.tensor <= 1) return;
  if (model.parallel_residual) {
    block.Error("expert",
                "experts beside attention (parallel residual) are simulated where the tensor group "
                "cuts them: expert 1 and expert_tensor " +
                    to_string(layout.tensor) + ", or tensor 1, are wanted");
  }
}

// DeepEP sends on rails, so each node has as many ranks of a group as the others.
void CheckDispatch(const Block& top, const Scenario& scenario) {
  if (scenario.experts.dispatcher != models::Dispatcher::kDeepEp) return;
  const Layout& layout = scenario.layout;
  for (std::int64_t r = 0; r < layout.ranks(); ++r) {
    const auto group = layout.Group(sim::Rank(static_cast<std::uint32_t>(r)), ExpertDimension::kExpert);
    if (group.front().value() != r) continue;
    std::vector<std::uint32_t> of;
    for (const sim::Rank rank : group) of.push_back(scenario.fabric.domain[rank.pos()]);
    std::size_t first = 1, run = 1;
    while (first < of.size() && of[first] == of[0]) ++first;
    bool even = of.size() % first == 0;
    for (std::size_t i = 1; i < of.size() && even; ++i) {
      run = of[i] == of[i - 1] ? run + 1 : 1;
      even = run <= first && (i % first == 0) == (of[i] != of[i - 1]);
    }
    if (even) continue;
    top.Of("experts").Error("dispatcher",
                            "DEEPEP needs as many ranks of an expert group on every node; that of rank " +
                                to_string(r) + " (expert " + to_string(layout.expert) +
                                ") has not; ALLTOALL would do");
    return;
  }
}

void WarnSpread(const Block& top, Scenario* scenario) {
  if (scenario->layout.tensor > 1 && !scenario->layout.sequence) {
    top.Of("layout").Warn(
        "sequence", "layout.sequence",
        "false, though experts are spread: the ranks of a tensor group share out their tokens "
        "and gather the results again, in every layer (Megatron-LM wants true)",
        scenario);
  }
  if (scenario->experts.capacity_factor > 0 && scenario->experts.capacity_factor < 1) {
    top.Of("experts").Warn(
        "capacity_factor", "experts.capacity_factor",
        "below 1 drops rows however evenly they are routed; MFU and tokens/s count all tokens", scenario);
  }
  const Layout& layout = scenario->layout;
  for (const GroupKind& kind : GroupsOf(*scenario)) {
    if (kind.most_domains == 1) continue;
    if (kind.name == "expert tensor") {
      top.Of("layout").Warn(
          "expert_tensor", "layout.expert_tensor",
          to_string(layout.expert_tensor) +
              " ranks that cut an expert lie on several NVLink domains; every row crosses the "
              "network to all of them",
          scenario);
    } else if (kind.name == "expert") {
      top.Of("layout").Warn("expert", "layout.expert",
                            "the " + to_string(layout.expert * layout.expert_tensor) + " ranks of expert " +
                                to_string(layout.expert) + " x expert_tensor " +
                                to_string(layout.expert_tensor) +
                                " do not share one NVLink domain; the dispatch and combine of every layer "
                                "cross the network",
                            scenario);
    }
  }
}

}  // namespace scenarios
