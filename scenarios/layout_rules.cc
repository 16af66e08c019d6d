#include "scenarios/layout_rules.h"

#include "sim/base/units.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <string_view>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/units.h"

namespace scenarios {

namespace {

using std::to_string;

// "1, 2 and 4".
std::string JoinAnd(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += i + 1 == numbers.size() ? " and " : ", ";
    text += to_string(numbers[i]);
  }
  return text;
}

// "tensor 8 x context 1 x pipeline 4 = 32".
std::string Product(std::int64_t tensor, std::int64_t context, std::int64_t pipeline) {
  return "tensor " + to_string(tensor) + " x context " + to_string(context) + " x pipeline " +
         to_string(pipeline);
}

}  // namespace

std::string DivisorsText(std::int64_t n, std::int64_t near) {
  CHECK(n > 0);
  constexpr std::size_t kMost = 12;
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= n / d; ++d) {
    if (n % d != 0) continue;
    divisors.push_back(d);
    if (d != n / d) divisors.push_back(n / d);
  }
  std::sort(divisors.begin(), divisors.end());
  while (divisors.size() > kMost) {
    const bool drop_first = std::abs(divisors.front() - near) > std::abs(divisors.back() - near);
    divisors.erase(drop_first ? divisors.begin() : divisors.end() - 1);
  }
  return JoinAnd(divisors);
}

std::optional<sim::Error> RefuseDivision(std::int64_t part, std::int64_t whole, const std::string& what) {
  CHECK(part > 0 && whole > 0);
  if (whole % part == 0) return std::nullopt;
  const std::string divisors = DivisorsText(whole, part);
  return sim::Error{to_string(part) + " does not divide the " + to_string(whole) + ' ' + what + "; " +
                    divisors + (whole == 1 ? " does" : " do")};
}

sim::Result<std::int64_t> DataRanks(std::int64_t devices, std::int64_t tensor, std::int64_t context,
                                    std::int64_t pipeline) {
  const sim::Wide wide = static_cast<sim::Wide>(tensor) * context * pipeline;
  if (wide > devices) {
    return sim::Error{Product(tensor, context, pipeline) + " > " + to_string(devices) +
                      " devices; wanted at most as many"};
  }
  const auto model = static_cast<std::int64_t>(wide);
  if (devices % model == 0) return devices / model;
  const std::int64_t below = devices - devices % model;
  return sim::Error{to_string(devices) + " devices are not a multiple of " +
                    Product(tensor, context, pipeline) + " = " + to_string(model) + "; " + to_string(below) +
                    " and " + to_string(below + model) + " are"};
}

std::optional<sim::Error> RefuseDataRanks(std::int64_t data, std::int64_t devices, std::int64_t tensor,
                                          std::int64_t context, std::int64_t pipeline) {
  const sim::Wide wide = static_cast<sim::Wide>(tensor) * context * pipeline * data;
  if (wide == devices) return std::nullopt;
  const auto product = static_cast<std::int64_t>(std::min<sim::Wide>(wide, INT64_MAX));
  std::string wanted = "leave it out, or make the product equal";
  const auto derived = DataRanks(devices, tensor, context, pipeline);
  if (derived.ok()) wanted = to_string(derived.value()) + " is wanted";
  return sim::Error{"data " + to_string(data) + " x " + Product(tensor, context, pipeline) + " = " +
                    to_string(product) + " != " + to_string(devices) + " devices; " + wanted};
}

sim::Result<std::int64_t> Accumulation(std::int64_t global, std::int64_t micro, std::int64_t data) {
  const sim::Wide wide = static_cast<sim::Wide>(micro) * data;
  if (wide > INT64_MAX / 2) return sim::Error{"micro x data is out of range"};
  const auto at_once = static_cast<std::int64_t>(wide);
  if (global % at_once == 0) return global / at_once;
  const std::int64_t below = global - global % at_once;
  return sim::Error{to_string(global) + " % (" + to_string(micro) + '*' + to_string(data) +
                    ") = " + to_string(global % at_once) + ": not a multiple of micro " + to_string(micro) +
                    " x data " + to_string(data) + " = " + to_string(at_once) + "; " +
                    (below > 0 ? to_string(below) + " and " + to_string(below + at_once) + " are"
                               : to_string(at_once) + " is")};
}

std::optional<sim::Error> RefuseAccumulation(std::int64_t accumulation, std::int64_t global,
                                             std::int64_t micro, std::int64_t data) {
  const sim::Wide product = static_cast<sim::Wide>(micro) * accumulation * data;
  if (product == global) return std::nullopt;
  const auto shown = static_cast<std::int64_t>(std::min<sim::Wide>(product, INT64_MAX));
  return sim::Error{to_string(global) + " != " + to_string(micro) + '*' + to_string(accumulation) + '*' +
                    to_string(data) + " = " + to_string(shown) +
                    "; wanted global = micro x accumulation x data"};
}

std::optional<sim::Error> RefuseExpertRanks(const Layout& layout) {
  const std::int64_t ranks = layout.tensor * layout.context * layout.data;
  const std::int64_t model = layout.expert * layout.expert_tensor;
  if (ranks % model == 0) return std::nullopt;
  std::string wanted;
  if (ranks % layout.expert_tensor == 0) {
    wanted = "; with expert_tensor " + to_string(layout.expert_tensor) + ", expert " +
             DivisorsText(ranks / layout.expert_tensor, layout.expert) + " would do";
  } else {
    wanted =
        "; expert_tensor " + DivisorsText(ranks, layout.expert_tensor) + " would, with an expert of the rest";
  }
  return sim::Error{"expert " + to_string(layout.expert) + " x expert_tensor " +
                    to_string(layout.expert_tensor) + " = " + to_string(model) + " does not divide the " +
                    to_string(ranks) + " ranks of a stage (tensor " + to_string(layout.tensor) +
                    " x context " + to_string(layout.context) + " x data " + to_string(layout.data) + ')' +
                    wanted};
}

std::int64_t SequenceFactor(std::int64_t context, std::int64_t tensor, bool sequence_parallel) {
  const std::int64_t by_context = context > 1 ? 2 * context : 1;
  return sequence_parallel ? std::lcm(by_context, context * tensor) : by_context;
}

std::optional<sim::Error> RefuseTokens(std::int64_t tokens, std::int64_t ranks) {
  CHECK(ranks > 0);
  if (tokens < ranks) {
    return sim::Error{to_string(tokens) + " tokens for " + to_string(ranks) +
                      " ranks leave some without; at least " + to_string(ranks) + " are wanted"};
  }
  if (tokens % ranks == 0) return std::nullopt;
  const std::int64_t below = tokens - tokens % ranks;
  return sim::Error{to_string(tokens) + " tokens are not a multiple of " + to_string(ranks) + " ranks; " +
                    to_string(below) + " and " + to_string(below + ranks) + " are"};
}

std::optional<sim::Error> RefuseUlysses(std::int64_t degree, std::int64_t heads, std::int64_t kv_heads,
                                        bool may_replicate) {
  if (auto error = RefuseDivision(degree, heads, "attention heads")) return error;
  if (kv_heads % degree == 0) return std::nullopt;
  if (degree % kv_heads == 0 && may_replicate) return std::nullopt;
  const bool replicable = degree % kv_heads == 0;
  return sim::Error{to_string(degree) + " does not divide the " + to_string(kv_heads) + " key/value heads" +
                    (replicable ? ", which may not be replicated; " : " nor is a multiple of them; ") +
                    DivisorsText(kv_heads, degree) + (kv_heads == 1 ? " does" : " do")};
}

sim::Result<Layout> WithOrder(Layout layout, const std::string& order) {
  struct Name {
    std::string_view lengthy, brief;
    Dimension dimension;
  };
  constexpr Name kNames[] = {{"tensor", "tp", Dimension::kTensor},
                             {"context", "cp", Dimension::kContext},
                             {"data", "dp", Dimension::kData},
                             {"pipeline", "pp", Dimension::kPipeline}};
  const sim::Error refusal{'"' + order.substr(0, 60) +
                           "\" is not an order; wanted tensor, context, data and pipeline once each, fastest "
                           "first, as in \"tensor-context-data-pipeline\" or \"tp-cp-dp-pp\""};
  int found = 0;
  for (std::size_t at = 0; at <= order.size();) {
    const std::size_t end = std::min(order.find('-', at), order.size());
    const std::string_view word = std::string_view(order).substr(at, end - at);
    at = end + 1;
    if (word == "ep" || word == "expert") continue;
    const auto* name = std::find_if(std::begin(kNames), std::end(kNames),
                                    [&](const Name& n) { return word == n.lengthy || word == n.brief; });
    if (name == std::end(kNames) || found == kDimensions) return refusal;
    const auto* filled = layout.order + found;
    if (std::find(static_cast<const Dimension*>(layout.order), filled, name->dimension) != filled)
      return refusal;
    layout.order[found++] = name->dimension;
  }
  if (found != kDimensions) return refusal;
  return layout;
}

}  // namespace scenarios
