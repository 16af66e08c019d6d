// The repository keeps its own rules; rules_test.cc shows that each can fail.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tidy/rules.h"

namespace tidy {
namespace {

class Repository : public testing::TestWithParam<Rule> {};

TEST_P(Repository, KeepsTheRule) {
  const Sources sources = ReadRepository(ORRERY_SOURCE_DIR);
  ASSERT_GT(sources.size(), 200u);  // it was found
  for (const std::string& complaint : GetParam().check(sources)) ADD_FAILURE() << complaint;
}

INSTANTIATE_TEST_SUITE_P(Of, Repository, testing::ValuesIn(Rules().begin(), Rules().end()),
                         [](const auto& rule) { return std::string(rule.param.name); });

}  // namespace
}  // namespace tidy
