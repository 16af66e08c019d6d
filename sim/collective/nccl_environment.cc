#include "sim/collective/nccl_environment.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <vector>

#include "sim/collective/nccl_heed.h"

namespace sim {
namespace {

constexpr Algorithm kChoosable[] = {Algorithm::kTree,         Algorithm::kRing, Algorithm::kCollNetDirect,
                                    Algorithm::kCollNetChain, Algorithm::kNvls, Algorithm::kNvlsTree,
                                    Algorithm::kPat};
constexpr Protocol kAllProtocols[] = {Protocol::kLl, Protocol::kLl128, Protocol::kSimple};
constexpr NcclFunction kFunctions[] = {NcclFunction::kBroadcast, NcclFunction::kReduce,
                                       NcclFunction::kAllGather, NcclFunction::kReduceScatter,
                                       NcclFunction::kAllReduce};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool Same(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return Lower(x) == Lower(y); });
}

std::vector<std::string_view> Split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(at);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "Tree, Ring, ..." of all elements.
template <typename Element>
std::string NamesOf(std::span<const Element> elements) {
  std::string names;
  for (const Element element : elements) names += (names.empty() ? "" : ", ") + std::string(ToText(element));
  return names;
}

std::string Quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

// One list, into `allowed` and, of what is named to be used, `named`.
template <typename Element>
std::optional<Error> ReadList(std::string_view list, std::span<const Element> elements,
                              Allowed<Element>* allowed, Allowed<Element>* named) {
  const bool all_but = !list.empty() && list.front() == '^';
  if (all_but) list.remove_prefix(1);
  allowed->SetAll(all_but);
  named->SetAll(false);
  for (const std::string_view name : Split(list, ',')) {
    const auto found = std::find_if(elements.begin(), elements.end(),
                                    [&](Element element) { return Same(name, ToText(element)); });
    if (found == elements.end()) {
      return Error{Quoted(name) + " is none of " + NamesOf(elements)};
    }
    allowed->Set(*found, !all_but);
    if (!all_but) named->Set(*found, true);
  }
  return std::nullopt;
}

template <typename Element>
struct Lists {
  std::array<Allowed<Element>, kNcclFunctions> allowed, named;
};

template <typename Element>
std::optional<Error> ReadLists(std::string_view value, std::span<const Element> elements,
                               Lists<Element>* lists) {
  bool first = true;
  for (const std::string_view entry : Split(value, ';')) {
    const std::size_t colon = entry.find(':');
    const bool for_all = colon == std::string_view::npos;
    if (for_all && !first) {
      return Error{Quoted(entry) + " names no function; only the first list may leave it out"};
    }
    first = false;
    Allowed<Element> allowed, named;
    if (auto wrong = ReadList(for_all ? entry : entry.substr(colon + 1), elements, &allowed, &named)) {
      return wrong;
    }
    bool known = false;
    for (std::size_t f = 0; f < kNcclFunctions; ++f) {
      if (!for_all && !Same(entry.substr(0, colon), ToText(kFunctions[f]))) continue;
      known = true;
      lists->allowed[f] = allowed;
      lists->named[f] = named;
    }
    if (!known) {
      return Error{Quoted(entry.substr(0, colon)) + " is none of " +
                   NamesOf(std::span<const NcclFunction>(kFunctions))};
    }
  }
  return std::nullopt;
}

std::optional<Error> ReadNumber(std::string_view value, std::int64_t least, std::int64_t most,
                                std::int64_t* number) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *number);
  if (error == std::errc() && end == value.data() + value.size() && *number >= least && *number <= most) {
    return std::nullopt;
  }
  return Error{Quoted(value) + " is no whole number of " + std::to_string(least) + " ... " +
               std::to_string(most)};
}

std::optional<Error> SetChannels(std::string_view value, std::optional<int>* channels) {
  std::int64_t number = 0;
  if (auto wrong = ReadNumber(value, 1, 64, &number)) return wrong;
  *channels = static_cast<int>(number);
  return std::nullopt;
}

// NCCL counts 2, "if it can be", as on.
std::optional<Error> SetSwitch(std::string_view value, bool* on) {
  std::int64_t number = 0;
  if (auto wrong = ReadNumber(value, 0, 2, &number)) return wrong;
  *on = number != 0;
  return std::nullopt;
}

std::optional<Error> SetAlgorithms(std::string_view value, NcclEnvironment* environment) {
  Lists<Algorithm> lists;
  lists.allowed = environment->algorithms;
  if (auto wrong = ReadLists(value, std::span<const Algorithm>(kChoosable), &lists)) return wrong;
  environment->algorithms = lists.allowed;
  return std::nullopt;
}

std::optional<Error> SetProtocols(std::string_view value, NcclEnvironment* environment) {
  Lists<Protocol> lists;
  lists.allowed = environment->protocols;
  for (Allowed<Protocol>& named : lists.named) named.SetAll(false);
  if (auto wrong = ReadLists(value, std::span<const Protocol>(kAllProtocols), &lists)) return wrong;
  environment->protocols = lists.allowed;
  for (std::size_t f = 0; f < kNcclFunctions; ++f) {
    environment->ll128_forced[f] = lists.named[f].Has(Protocol::kLl128);
  }
  return std::nullopt;
}

std::optional<Error> Set(std::string_view name, std::string_view value, NcclEnvironment* environment) {
  if (name == "NCCL_ALGO") return SetAlgorithms(value, environment);
  if (name == "NCCL_PROTO") return SetProtocols(value, environment);
  if (name == "NCCL_MIN_NCHANNELS" || name == "NCCL_MIN_CTAS") {
    return SetChannels(value, &environment->min_channels);
  }
  if (name == "NCCL_MAX_NCHANNELS" || name == "NCCL_MAX_CTAS") {
    return SetChannels(value, &environment->max_channels);
  }
  if (name == "NCCL_NVLS_ENABLE") return SetSwitch(value, &environment->nvls);
  if (name == "NCCL_COLLNET_ENABLE") return SetSwitch(value, &environment->collnet);
  if (name == "NCCL_PAT_ENABLE") return SetSwitch(value, &environment->pat);
  if (name == "NCCL_P2P_LL_THRESHOLD") {
    return ReadNumber(value, 0, INT32_MAX, &environment->p2p_ll_threshold);
  }
  if (IsHarmlessVariable(name)) return std::nullopt;
  return Error{
      "is not simulated, and may change what NCCL does; leave it out, or give NCCL_ALGO, NCCL_PROTO, "
      "NCCL_MIN_NCHANNELS, "
      "NCCL_MAX_NCHANNELS, "
      "NCCL_MIN_CTAS, NCCL_MAX_CTAS, NCCL_NVLS_ENABLE, NCCL_COLLNET_ENABLE, NCCL_PAT_ENABLE or "
      "NCCL_P2P_LL_THRESHOLD"};
}

}  // namespace

const char* ToText(NcclFunction function) {
  switch (function) {
    case NcclFunction::kBroadcast:
      return "Broadcast";
    case NcclFunction::kReduce:
      return "Reduce";
    case NcclFunction::kAllGather:
      return "AllGather";
    case NcclFunction::kReduceScatter:
      return "ReduceScatter";
    case NcclFunction::kAllReduce:
      return "AllReduce";
  }
  return "?";
}

std::optional<Error> SetVariable(std::string_view name, std::string_view value,
                                 NcclEnvironment* environment) {
  NcclEnvironment changed = *environment;
  if (auto wrong = Set(name, value, &changed)) return Error{std::string(name) + ": " + wrong->message};
  if (changed.min_channels && changed.max_channels && *changed.min_channels > *changed.max_channels) {
    return Error{std::string(name) + ": at least " + std::to_string(*changed.min_channels) +
                 " channels, but at most " + std::to_string(*changed.max_channels)};
  }
  *environment = changed;
  return std::nullopt;
}

std::optional<Error> SetVariable(std::string_view assignment, NcclEnvironment* environment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos) return Error{Quoted(assignment) + " is no NAME=value"};
  return SetVariable(assignment.substr(0, equals), assignment.substr(equals + 1), environment);
}

}  // namespace sim
