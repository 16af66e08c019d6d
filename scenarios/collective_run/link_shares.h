// Which links a play loaded most, and with what.

#ifndef SCENARIOS_COLLECTIVE_RUN_LINK_SHARES_H_
#define SCENARIOS_COLLECTIVE_RUN_LINK_SHARES_H_

#include <cstdint>
#include <vector>

#include "scenarios/collective_run/play_jobs.h"

namespace scenarios {

struct LoadedLink {
  sim::LinkId link;
  double bytes = 0;        // until the jobs ended
  double utilisation = 0;  // of what the link could carry in that time
  // Who loads it, jobs before background, as PlayedJobs::job counts them; none with zero bytes.
  struct Share {
    std::uint32_t job = 0;
    double bytes = 0;
  };
  std::vector<Share> shares;
};

// All links that carried anything until played.finish, the fullest first, then
// in order of links. REQUIRES: not stopped; rates logged where there is a background, which goes on
// after that
std::vector<LoadedLink> LoadedLinks(const PlayedJobs& played);

}  // namespace scenarios

#endif  // SCENARIOS_COLLECTIVE_RUN_LINK_SHARES_H_
