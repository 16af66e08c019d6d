// The repository keeps its own rules; rules_test.cc shows that each can fail.

#include <gtest/gtest.h>

#include "tests/tidy/rules.h"

namespace tidy {
namespace {

void ExpectKept(Complaints (*rule)(const Sources&)) {
  const Sources sources = ReadRepository(ORRERY_SOURCE_DIR);
  ASSERT_GT(sources.size(), 200u) << "the repository was not found";
  for (const std::string& complaint : rule(sources)) ADD_FAILURE() << complaint;
}

TEST(Repository, IncludesGoDownOnly) { ExpectKept(Dependencies); }
TEST(Repository, HeadersAreLight) { ExpectKept(HeavyHeaders); }
TEST(Repository, FilesHaveTheForm) { ExpectKept(Form); }
TEST(Repository, FilesAreShort) { ExpectKept(Size); }
TEST(Repository, HasNoMarksOfUnfinishedWorkOrOfMachines) { ExpectKept(Marks); }
TEST(Repository, EveryFileIsBuilt) { ExpectKept(DeadFiles); }
TEST(Repository, EveryTestExpectsSomething) { ExpectKept(EmptyTests); }
TEST(Repository, NothingWaversFromRunToRun) { ExpectKept(Determinism); }

}  // namespace
}  // namespace tidy
