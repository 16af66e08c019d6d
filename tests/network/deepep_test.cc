// Measured dispatches and combines beside simulated ones, and docs/deepep.md to what comes of them.

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "tests/network/deepep_curves.h"
#include "tests/pages/page.h"

namespace network {
namespace {

const std::vector<ComparedExchange>& All() {
  static const std::vector<ComparedExchange> all = CompareExchanges();
  return all;
}

TEST(DeepEp, PageIsWhatTheTableAndTheModelsGive) {
  const std::string page = ExchangePage(All());
  if (page == pages::Kept("deepep.md")) return;
  ADD_FAILURE() << "docs/deepep.md is not up to date; the new one is " << pages::WriteNew("deepep.md", page);
}

// 15 % by device, kernels, operation, and one node or several; the rows of one node have thousands of
// tokens to a few, so that neither start nor rate can be wrong.
TEST(DeepEp, RowsAreWithinAFewPerCentByKernelsAndPlaces) {
  std::map<std::tuple<std::string, std::string, bool, bool>, std::vector<double>> errors;
  for (const ComparedExchange& one : All()) {
    errors[{one.row.gpu, scenarios::ToText(one.row.exchange.kernels), one.row.exchange.combine,
            one.row.nodes > 1}]
        .push_back(one.error());
  }
  EXPECT_EQ(errors.size(), 22u);
  for (const auto& [key, of] : errors) {
    double mape = 0, bias = 0;
    for (const double error : of) {
      mape += std::abs(error) / static_cast<double>(of.size());
      bias += error / static_cast<double>(of.size());
    }
    const auto& [gpu, kernels, combine, nodes] = key;
    EXPECT_LE(mape, 0.1) << gpu << ' ' << kernels << ' ' << combine << ' ' << nodes;
    EXPECT_LE(std::abs(bias), 0.1) << gpu << ' ' << kernels << ' ' << combine << ' ' << nodes;
  }
}

// By DeepEP's own count, of which a half and three quarters cross the network of 2 and 4 nodes.
TEST(DeepEp, CountsATokensOwnNode) {
  for (const ComparedExchange& one : All()) {
    if (one.row.exchange.kernels == hardware::Exchange::Kernels::kLowLatency) continue;
    const auto nodes = static_cast<double>(one.row.nodes);
    EXPECT_NEAR(one.volume.out_of_node, one.volume.to_nodes * (nodes - 1) / nodes, 1);
  }
}

}  // namespace
}  // namespace network
