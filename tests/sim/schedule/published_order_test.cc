// Orders as their authors publish them, in the files of published/.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "sim/schedule/order_text.h"

namespace sim {
namespace {

struct Published {
  const char* file;
  const char* schedule;
  PipelineShape shape;
};

void PrintTo(const Published& published, std::ostream* out) { *out << published.file; }

class PublishedOrder : public testing::TestWithParam<Published> {};

TEST_P(PublishedOrder, IsWhatTheScheduleMakes) {
  const Published& published = GetParam();
  const std::string path =
      std::string(ORRERY_SOURCE_DIR "/tests/sim/schedule/published/") + published.file + ".order";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const ParsedOrder parsed = ParseOrder(text.str(), path);
  for (const std::string& error : parsed.errors) ADD_FAILURE() << error;
  const PipelineOrder order = OrderOf(*FindPipelineSchedule(published.schedule), published.shape);
  EXPECT_EQ(ToText(parsed.order), ToText(order));
}

INSTANTIATE_TEST_SUITE_P(
    All, PublishedOrder,
    testing::Values(Published{"zb1p_4x8", "zb1p", {.stages = 4, .microbatches = 8}},
                    Published{"zb2p_4x8", "zb2p", {.stages = 4, .microbatches = 8}},
                    Published{"zbv_4x8", "zbv", {.stages = 4, .microbatches = 8, .chunks = 2}},
                    Published{"dualpipe_8x20", "dualpipe", {.stages = 8, .microbatches = 20, .chunks = 2}},
                    Published{"dualpipev_4x10", "dualpipev", {.stages = 4, .microbatches = 10, .chunks = 2}}),
    [](const auto& published) { return std::string(published.param.file); });

// By hand, p=2 k=2: warm-up p-1-s + k-1 = 2 and 1 parts; parts come back in reverse.
TEST(Sequence, TakesPartsForwardInOrderAndBackwardInReverse) {
  const PipelineShape shape{.stages = 2, .microbatches = 2, .parts = 2};
  EXPECT_EQ(ToText(OrderOf(*FindPipelineSchedule("seq1f1b"), shape)),
            "F0-0 F0-1 F1-0 B0-1 F1-1 B0-0 B1-1 B1-0\n"
            "F0-0 F0-1 B0-1 F1-0 B0-0 F1-1 B1-1 B1-0\n");
}

// The V of 4 chunks on 2 stages is 0 3 / 1 2; no chunk has to wait with one micro-batch.
TEST(VMin, PassesOneMicroBatchDownAndUpTheV) {
  const PipelineShape shape{.stages = 2, .microbatches = 1, .chunks = 2};
  EXPECT_EQ(ToText(OrderOf(*FindPipelineSchedule("vmin"), shape)),
            "placement: vee\n"
            "F0.0 F0.1 I0.1 W0.1 I0.0 W0.0\n"
            "F0.0 F0.1 I0.1 I0.0 W0.1 W0.0\n");
}

}  // namespace
}  // namespace sim
