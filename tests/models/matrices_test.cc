#include "models/matrices.h"

#include <gtest/gtest.h>

#include "models/catalogue.h"
#include "models/model_reader.h"
#include "models/parameters.h"
#include "tests/models/shapes.h"

namespace models {
namespace {

// Vectors are what is left, so what they must be is counted by hand.
TEST(Matrices, AreAllOfLlama7bButItsNorms) {
  const Weights w = WeightsOf(Llama7b());
  EXPECT_EQ(w.vectors, 65 * 4096);
  std::int64_t elements = 0;
  for (const Matrices& m : w.matrices) elements += m.elements();
  EXPECT_EQ(elements, 6'738'415'616 - 65 * 4096);
}

// Norms of 2 x 7,168 a layer, of the narrow vectors 1,536 + 512, the last one, and 58 x 256 router biases.
TEST(Matrices, AreAllOfDeepSeekV3ButItsNormsAndRouterBiases) {
  EXPECT_EQ(WeightsOf(DeepSeekV3()).vectors, 61 * (2 * 7168 + 1536 + 512) + 7168 + 58 * 256);
}

TEST(Matrices, LeaveLessThanAThousandthOfEveryModelToVectors) {
  for (const proto::CatalogueFile& entry : Catalogue()) {
    proto::Diagnostics diagnostics;
    const Model m = ReadModel(std::string(entry.name), {}, "", &diagnostics).value();
    const Weights w = WeightsOf(m);
    EXPECT_GT(w.vectors, 0) << entry.name;
    EXPECT_LT(w.vectors, ParametersOf(m).total() / 1000) << entry.name;
  }
}

}  // namespace
}  // namespace models
