#include "scenarios/collective_run/operations.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "scenarios/collective_run/job_text.h"
#include "scenarios/collective_run/rank_list.h"
#include "scenarios/collective_run/sizes.h"

namespace scenarios {
namespace {

// Reads one line after the other into a list.
class Parser {
 public:
  Parser(const std::string& file, std::uint32_t ranks) : ranks_(ranks) {
    list_.file = file;
    list_.streams = {""};
  }

  void Read(std::string_view line) {
    ++line_;
    line = line.substr(0, line.find('#'));
    if (WordsOf(line).empty()) return;
    const std::size_t colon = line.find(": ");
    const std::vector<std::string_view> who = WordsOf(line.substr(0, std::min(colon, line.size())));
    if (colon == line.npos || who.size() != 2 || (who[0] != "rank" && who[0] != "ranks")) {
      return Complain("begins with no rank; rank 0-7: all_reduce 64M group 0-7 is how a line looks");
    }
    const auto issuers = ParseRankList(who[1], ranks_);
    if (!issuers.ok()) return Complain(issuers.error().message);
    ReadOperation(issuers.value(), WordsOf(line.substr(colon + 1)));
  }

  OperationList Take() && { return std::move(list_); }

 private:
  void Complain(const std::string& what) {
    list_.errors.push_back(list_.file + ':' + std::to_string(line_) + ": " + what);
  }

  void ReadOperation(const std::vector<std::uint32_t>& issuers, const std::vector<std::string_view>& words) {
    if (words.size() < 2) return Complain("no operation; a kind and a size are wanted, as all_reduce 64M");
    const bool sends = words[0] == "send", receives = words[0] == "recv";
    const auto test =
        sends || receives ? sim::Result<const NcclTest*>(sends ? &kSend : &kReceive) : ParseTest(words[0]);
    if (!test.ok()) return Complain(test.error().message);
    const auto size = ParseSize(words[1]);
    if (!size.ok()) return Complain(size.error().message);
    const std::string_view peer = sends ? "to" : "from";
    std::map<std::string_view, std::string_view> given;
    for (std::size_t i = 2; i < words.size(); i += 2) {
      const bool known = words[i] == "stream" ||
                         (sends || receives ? words[i] == peer : words[i] == "group" || words[i] == "root");
      if (!known || i + 1 == words.size() || !given.emplace(words[i], words[i + 1]).second) {
        const std::string wanted = sends || receives ? std::string(peer) + " RANK" : "group RANKS, root RANK";
        return Complain('"' + std::string(words[i]) + "\": " + wanted +
                        " or stream NAME are wanted here, each once");
      }
    }
    Operation operation{.test = test.value(), .size = size.value(), .line = line_};
    const bool is_message = sends || receives;
    if (!is_message && (!ReadGroup(given, &operation) || !ReadRoot(given, &operation))) return;
    const std::string stream(given.count("stream") > 0 ? given["stream"] : std::string_view());
    const auto at = std::find(list_.streams.begin(), list_.streams.end(), stream);
    operation.stream = static_cast<std::uint32_t>(at - list_.streams.begin());
    if (at == list_.streams.end()) list_.streams.push_back(stream);
    if (is_message) return IssueMessages(issuers, operation, sends, given[peer]);
    Issue(issuers, operation);
  }

  std::uint32_t GroupOf(const std::vector<std::uint32_t>& ranks) {
    const auto [at, is_new] = groups_.try_emplace(ranks, static_cast<std::uint32_t>(list_.groups.size()));
    if (is_new) list_.groups.push_back(ranks);
    return at->second;
  }

  void IssueMessages(const std::vector<std::uint32_t>& issuers, Operation operation, bool sends,
                     std::string_view peer) {
    const auto other = ParseRankList(peer, ranks_);
    if (!other.ok() || other.value().size() != 1) {
      return Complain(std::string(sends ? "to" : "from") + " \"" + std::string(peer) +
                      "\" is no rank; one from 0 to " + std::to_string(ranks_ - 1) + " would do");
    }
    for (const std::uint32_t rank : issuers) {
      const std::uint32_t from = sends ? rank : other.value()[0], to = sends ? other.value()[0] : rank;
      if (from == to)
        return Complain("rank " + std::to_string(rank) + " is on both ends; two ranks are wanted");
      operation.group = GroupOf({from, to});
      Issue({rank}, operation);
    }
  }

  bool ReadGroup(const std::map<std::string_view, std::string_view>& given, Operation* operation) {
    std::vector<std::uint32_t> group(ranks_);
    std::iota(group.begin(), group.end(), 0u);
    if (const auto text = given.find("group"); text != given.end()) {
      auto list = ParseRankList(text->second, ranks_);
      if (!list.ok()) {
        Complain("group: " + list.error().message);
        return false;
      }
      group = std::move(list).value();
    }
    operation->group = GroupOf(group);
    return true;
  }

  bool ReadRoot(const std::map<std::string_view, std::string_view>& given, Operation* operation) {
    const auto text = given.find("root");
    if (text == given.end()) return true;
    const std::vector<std::uint32_t>& group = list_.groups[operation->group];
    const auto root = ParseRankList(text->second, ranks_);
    const bool one = root.ok() && root.value().size() == 1;
    const auto at = one ? std::find(group.begin(), group.end(), root.value()[0]) : group.end();
    if (!operation->test->has_root || at == group.end()) {
      Complain("root " + std::string(text->second) +
               (operation->test->has_root
                    ? " is no rank of the group; one of " + RankListText(group) + " would do"
                    : ": " + std::string(operation->test->name) + " has none; leave it out"));
      return false;
    }
    operation->root = static_cast<std::uint32_t>(at - group.begin());
    return true;
  }

  void Issue(const std::vector<std::uint32_t>& issuers, Operation operation) {
    std::vector<std::uint32_t> group = list_.groups[operation.group];
    std::sort(group.begin(), group.end());
    if (list_.operations.size() + issuers.size() > kMostOperations) {
      return Complain("more than " + std::to_string(kMostOperations) + " operations; fewer would do");
    }
    for (const std::uint32_t rank : issuers) {
      if (!std::binary_search(group.begin(), group.end(), rank)) {
        return Complain("rank " + std::to_string(rank) + " is not of the group " +
                        RankListText(list_.groups[operation.group]) + " in which it issues " +
                        operation.test->name);
      }
      operation.rank = rank;
      list_.operations.push_back(operation);
    }
  }

  std::uint32_t ranks_;
  std::uint32_t line_ = 0;
  OperationList list_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> groups_;
};

}  // namespace

OperationList ParseOperations(std::string_view text, const std::string& file, std::uint32_t ranks) {
  Parser parser(file, ranks);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    parser.Read(text.substr(at, end - at));
    at = end + 1;
  }
  OperationList list = std::move(parser).Take();
  if (list.operations.empty() && list.errors.empty()) {
    list.errors.push_back(file + ": no operation; rank 0-7: all_reduce 64M is how a line looks");
  }
  return list;
}

}  // namespace scenarios
