#include "scenarios/collective_run/job_text.h"

#include <algorithm>

#include "scenarios/collective_run/rank_list.h"
#include "scenarios/collective_run/sizes.h"

namespace scenarios {

std::vector<std::string_view> WordsOf(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlanks, end);
  }
  return words;
}

sim::Result<const NcclTest*> ParseTest(std::string_view name) {
  if (const NcclTest* test = FindNcclTest(name)) return test;
  std::string names;
  for (const NcclTest& test : NcclTests()) names += (names.empty() ? "" : ", ") + std::string(test.name);
  return sim::Error{'"' + std::string(name) + "\" is no collective; one of " + names + " would do"};
}

sim::Result<CollectiveJob> ParseJob(std::string_view text, std::uint32_t ranks) {
  const std::vector<std::string_view> words = WordsOf(text);
  if (words.size() != 3 && !(words.size() == 5 && words[3] == "root")) {
    return sim::Error{
        '"' + std::string(text) +
        "\" is no job; KIND RANKS SIZE is wanted, as alltoall 0-31 64M, and root RANK behind it "
        "where there is one"};
  }
  const auto test = ParseTest(words[0]);
  if (!test.ok()) return test.error();
  auto list = ParseRankList(words[1], ranks);
  if (!list.ok()) return list.error();
  const auto size = ParseSize(words[2]);
  if (!size.ok()) return size.error();
  CollectiveJob job{test.value(), size.value(), std::move(list).value()};
  if (words.size() == 3) return job;
  const auto root = ParseRankList(words[4], ranks);
  if (!root.ok()) return root.error();
  const auto at = std::find(job.ranks.begin(), job.ranks.end(), root.value()[0]);
  if (!job.test->has_root || root.value().size() != 1 || at == job.ranks.end()) {
    return sim::Error{"root " + std::string(words[4]) + " of " + std::string(words[0]) +
                      (job.test->has_root
                           ? " is no rank of it; one of " + RankListText(job.ranks) + " would do"
                           : ": it has none; leave it out")};
  }
  job.root = static_cast<std::uint32_t>(at - job.ranks.begin());
  return job;
}

}  // namespace scenarios
