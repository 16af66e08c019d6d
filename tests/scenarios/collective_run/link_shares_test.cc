#include "scenarios/collective_run/link_shares.h"

#include <map>

#include "tests/scenarios/collective_run/clusters.h"

namespace scenarios {
namespace {

std::map<std::string, LoadedLink> LinksOf(const Cluster& cluster, const std::vector<std::string>& jobs,
                                          const std::vector<std::string>& background) {
  PlayRequest request{.jobs = {}, .background = {}, .log_rates = true};
  for (const std::string& job : jobs) request.jobs.push_back(Job(cluster, job));
  for (const std::string& job : background) request.background.push_back(Job(cluster, job));
  std::map<std::string, LoadedLink> links;
  double before = 1e9;
  for (const LoadedLink& link : LoadedLinks(PlayJobs(cluster, request).value())) {
    EXPECT_LE(link.utilisation, before);  // the fullest first
    before = link.utilisation;
    links.emplace(cluster.fabric.LinkName(link.link), link);
  }
  return links;
}

// 2 * 3/4 * 100 MB on each port in 3 ms; the others carry nothing and are not there.
TEST(LoadedLinks, OfOneRingAreItsPortsAndFull) {
  const Cluster cluster = SwitchOf(8);
  const auto links = LinksOf(cluster, {"all_reduce 0-3 100000000"}, {});
  double nics = 0;
  for (const auto& [name, link] : links) {
    EXPECT_NEAR(link.bytes, 150e6, 1) << name;
    if (name.find("switch") == std::string::npos) continue;
    EXPECT_NEAR(link.utilisation, 1, 1e-9) << name;
    ++nics;
  }
  EXPECT_EQ(nics, 8);  // four ports, each way
}

// A background has half of each port until the measured ring ends: what it has
// then begun and not ended counts as far as it came, so that no link is over full.
TEST(LoadedLinks, CountABackgroundUntilTheJobsEnd) {
  const Cluster cluster = SwitchOf(4);
  for (const char* background : {"all_reduce 0-3 10G", "all_reduce 0-3 30000000"}) {
    for (const auto& [name, link] : LinksOf(cluster, {"all_reduce 0-3 100000000"}, {background})) {
      if (name.find("switch") == std::string::npos) continue;
      ASSERT_EQ(link.shares.size(), 2u);
      EXPECT_NEAR(link.shares[0].bytes, 150e6, 1);
      EXPECT_NEAR(link.shares[1].bytes, 150e6, 1e3);
      EXPECT_EQ(link.shares[1].job, 1u);
      EXPECT_NEAR(link.utilisation, 1, 1e-5);
    }
  }
}

}  // namespace
}  // namespace scenarios
