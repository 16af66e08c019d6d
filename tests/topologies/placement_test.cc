#include "topologies/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace topologies {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Placement, PutsRankROnDeviceRUnlessToldOtherwise) {
  EXPECT_THAT(PlaceInOrder(4).device_of_rank, ElementsAre(0, 1, 2, 3));
  const std::int64_t list[] = {6, 0, 3};
  EXPECT_THAT(PlaceByList(list, 3, 8).value().device_of_rank, ElementsAre(6, 0, 3));
}

std::string ErrorOf(std::vector<std::int64_t> list, std::int64_t ranks, std::int64_t devices) {
  return PlaceByList(list, ranks, devices).error().message;
}

TEST(Placement, RefusesAListThatIsNoPlacement) {
  EXPECT_THAT(ErrorOf({0, 1}, 3, 8), AllOf(HasSubstr("2 devices"), HasSubstr("3 ranks")));
  EXPECT_THAT(ErrorOf({0, 8}, 2, 8),
              AllOf(HasSubstr("rank 1"), HasSubstr("device 8"), HasSubstr("numbered from 0")));
  EXPECT_THAT(ErrorOf({0, -1}, 2, 8), HasSubstr("device -1"));
  EXPECT_THAT(ErrorOf({5, 2, 5}, 3, 8), AllOf(HasSubstr("ranks 0 and 2"), HasSubstr("device 5")));
}

}  // namespace
}  // namespace topologies
