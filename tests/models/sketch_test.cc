#include "models/sketch.h"

#include <gtest/gtest.h>

#include "models/model_reader.h"
#include "models/parameters.h"

namespace models {
namespace {

// A4: 40 layers of 5,120 with two of eight experts of 20,480: 40 (4 d^2 + 24 d d_ff) = 104.9e9 and the table,
// not 8 times 17e9.
TEST(Sketch, OfExpertsMultipliesOnlyTheFeedForward) {
  const SketchParameters p = ParametersOf(Sketch{.layers = 40,
                                                 .hidden = 5120,
                                                 .ffn = 20480,
                                                 .kv_heads = 40,
                                                 .vocabulary = 50000,
                                                 .tied = true,
                                                 .experts = 8,
                                                 .per_token = 2});
  EXPECT_EQ(p.total.least, p.total.most);
  EXPECT_NEAR(static_cast<double>(p.total.most), 105.1e9, 0.05e9);
  EXPECT_NEAR(static_cast<double>(p.active.most), 29.6e9, 0.05e9);
}

// 17.2.5 estimates 13e9 to 17e9 for 40 layers of 5,120; all of LLaMA-13B's shapes lie between the usual ones.
TEST(Sketch, HoldsModelsThatAreMadeTheUsualWay) {
  for (const char* name : {"llama_7b", "llama_13b", "llama2_70b", "llama3_8b", "llama3_70b", "mistral_7b",
                           "qwen2_5_7b", "qwen2_5_72b"}) {
    proto::Diagnostics diagnostics;
    const Model m = ReadModel(name, {}, "", &diagnostics).value();
    const Bounds total =
        ParametersOf(Sketch{.layers = m.layers, .hidden = m.hidden, .kv_heads = m.kv_heads}).total;
    EXPECT_LE(total.least, ParametersOf(m).total()) << name;
    if (3 * m.ffn <= 12 * m.hidden) {
      EXPECT_GE(total.most, ParametersOf(m).total()) << name;
    }
  }
}

TEST(Sketch, IsNarrowerForEveryShapeThatIsKnown) {
  Sketch s{.layers = 32, .hidden = 4096};
  std::int64_t width = INT64_MAX;
  const auto narrower = [&] {
    const Bounds total = ParametersOf(s).total;
    EXPECT_LT(total.most - total.least, width);
    width = total.most - total.least;
  };
  narrower();
  s.ffn = 11008;
  narrower();
  s.kv_heads = 32;
  narrower();
  s.vocabulary = 32000;
  narrower();
  s.tied = false;
  narrower();
  EXPECT_EQ(width, 0);
  EXPECT_EQ(ParametersOf(s).total.most, 6'738'415'616);
}

}  // namespace
}  // namespace models
