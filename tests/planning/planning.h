// The plans of two sections of the textbook, 17.5 and 17.9, beside what `orrery plan` finds with the same
// wishes: docs/planning.md, a case a section.

#ifndef TESTS_PLANNING_PLANNING_H_
#define TESTS_PLANNING_PLANNING_H_

#include <string>
#include <vector>

#include "scenarios/plan/plan.h"
#include "tests/planning/wishes.h"

namespace planning {

using scenarios::DevicePlan;
using scenarios::PlanRequest;

// A section, and its lines of the table in front.
struct Case {
  std::string title;
  std::vector<std::vector<std::string>> lines;
  std::string text;
};

// What is found for each. Computed anew in each call; a test holds one.
struct Steps {  // figures F17-57 and F17-27: LLaMA-7B, where one thing after the other decides
  DevicePlan by_memory, by_time, by_money;
};
struct SmallDense {  // 17.9.1: LLaMA-7B, 2e12 tokens
  DevicePlan node, theirs, fixed, deadline;
};
struct LargeDense {  // 17.5.10: Llama-2-70B, 2e12 tokens in 30 days
  DevicePlan theirs, free;
};
struct LargeInBudget {  // 17.5.10, 17.9.4: 3e12 tokens in 60 days for 2e6 USD
  DevicePlan theirs672, whole640, theirs640, free;
};
struct ManyExperts {  // 17.9.2: DeepSeek-V2, 8e12 tokens
  DevicePlan theirs64, free64, on256, on1024;
};
struct LargeExperts {  // 17.9.3: 1.8e12 parameters, 15e12 tokens
  DevicePlan on1024, on16384;
};
struct TwoDevices {  // 17.9.6: H800 and H20
  scenarios::Plan plan;
};
struct Decoding {           // 32 requests of LLaMA-3-70B with 4,096 tokens each, on four devices
  double kv_bytes = 0;      // of a request
  double tokens_per_s = 0;  // of all
  double usd = 0;           // a million tokens
};
struct Failures {  // E18: the same run with devices that fail as often as each says
  struct Run {
    double device_hours = 0;  // between failures of one
    DevicePlan plan;
  };
  std::vector<Run> runs;
};
struct HandOrder {  // few tokens a device
  DevicePlan plan;
};

Steps PlanSteps();
SmallDense PlanSmallDense();
LargeDense PlanLargeDense();
LargeInBudget PlanLargeInBudget();
ManyExperts PlanManyExperts();
LargeExperts PlanLargeExperts();
TwoDevices PlanTwoDevices();
Failures PlanFailures();
HandOrder PlanHandOrder();

Case ToCase(const Steps& found);
Case ToCase(const SmallDense& found);
Case ToCase(const LargeDense& found);
Case ToCase(const LargeInBudget& found);
Case ToCase(const ManyExperts& found);
Case ToCase(const LargeExperts& found);
Case ToCase(const TwoDevices& found);
Case ToCase(const Failures& found);
Case ToCase(const HandOrder& found);

// What the reader says of expert 8 x tensor 8; empty where it does not.
std::string WarningOfExpertsAndTensors();
Decoding DecodingOn(const DevicePlan& plan);

// What was played of a layout, or null.
const scenarios::Played* PlayOf(const HandOrder& found, const scenarios::Candidate& candidate);

// The bubble's part of the step by hand.
double HandBubble(const scenarios::Candidate& candidate);

// docs/planning.md, and its parts.
std::string Document();
std::string Head();
std::string LinesOf(const Case& one);
std::string SectionOf(const Case& one);

}  // namespace planning

#endif  // TESTS_PLANNING_PLANNING_H_
