#include "tools/exchange_request.h"

#include <charconv>
#include <utility>

#include "tools/collective_request.h"
#include "tools/flag_reader.h"
#include "tools/idle_settings.h"

namespace tools {
namespace {

using Kernels = hardware::Exchange::Kernels;

constexpr std::int64_t kMostTokens = 1 << 24;

// "128,4096".
std::vector<std::int64_t> ReadTokens(const std::string& text, std::vector<std::string>* errors) {
  std::vector<std::int64_t> tokens;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(text.data() + at, text.data() + end, number);
    if (error != std::errc() || stop != text.data() + end || number < 1 || number > kMostTokens) {
      errors->push_back("--tokens: \"" + text.substr(at, end - at) + "\" is no number from 1 to " +
                        std::to_string(kMostTokens) + "; a list as 128,4096 is wanted");
      return {};
    }
    tokens.push_back(number);
    at = end + 1;
  }
  return tokens;
}

}  // namespace

bool AsksForExchange(const Arguments& arguments) {
  return !arguments.positional.empty() &&
         (arguments.positional[0] == "dispatch" || arguments.positional[0] == "combine");
}

ExchangeRequest ReadExchangeRequest(const Arguments& arguments, const NamedCluster& named,
                                    std::vector<std::string>* errors) {
  const scenarios::Cluster& cluster = named.cluster;
  ExchangeRequest request;
  scenarios::ExpertExchange& exchange = request.exchange;
  RefuseIdle(arguments,
             {"minbytes", "maxbytes", "stepbytes", "stepfactor", "datatype", "root", "job", "operations",
              "algorithm", "by-dimension", "links"},
             arguments.positional[0], errors);
  exchange.combine = arguments.positional[0] == "combine";
  const std::size_t before = errors->size();
  FlagReader reader(arguments, {}, errors);
  std::optional<Kernels> kernels;
  reader.OneOf("kernels",
               std::vector<std::pair<std::string, Kernels>>{
                   {"normal", Kernels::kNormal}, {"low_latency", Kernels::kLowLatency}, {"v2", Kernels::kV2}},
               &kernels);
  exchange.kernels = kernels.value_or(Kernels::kNormal);
  const auto number = [&](const char* flag, std::int64_t most, std::int64_t* value) {
    std::optional<std::int64_t> given;
    reader.Number(flag, std::int64_t{1}, most, &given);
    *value = given.value_or(*value);
  };
  number("hidden", 10'000'000, &exchange.hidden);
  number("top-k", 128, &exchange.per_token);
  number("experts", 65'536, &exchange.experts);
  number("node-limit", 4096, &exchange.node_limit);
  number("sms", 4096, &exchange.sms);
  if (exchange.kernels == Kernels::kLowLatency) {
    RefuseIdle(arguments, {"sms"}, "low_latency, which holds none", errors);
    RefuseIdle(arguments, {"node-limit"}, "low_latency, which sends a row to every expert by itself", errors);
  }
  if (exchange.combine) RefuseIdle(arguments, {"bf16"}, "combine, whose sums are BF16 always", errors);
  exchange.fp8 = !arguments.has("bf16");
  request.tokens = ReadTokens(
      arguments.value("tokens", exchange.kernels == Kernels::kLowLatency ? "128" : "4096"), errors);
  if (auto ranks = ReadRanks(arguments, cluster.ranks(), errors)) request.ranks = *std::move(ranks);
  ReadJobs(arguments, "background", cluster.ranks(), &request.options.background, errors);
  request.options.chunks = arguments.has("chunk");
  if (errors->size() > before) return request;
  for (const std::string& why : scenarios::WhyNotExchange(cluster, exchange, request.ranks)) {
    errors->push_back(why);
  }
  for (const scenarios::CollectiveJob& job : request.options.background) {
    if (const auto why = scenarios::WhyNotLower(cluster, job)) {
      errors->push_back("--background: " + why->message);
    }
    if (const auto why = scenarios::WhyNotNccl(cluster, job)) errors->push_back(why->message);
  }
  if (errors->size() > before) return request;
  scenarios::CollectiveJob job;
  job.test = exchange.combine ? &scenarios::kCombine : &scenarios::kDispatch;
  job.ranks = request.ranks;
  job.exchange = exchange;
  std::vector<scenarios::CollectiveJob> jobs = {job};
  jobs.insert(jobs.end(), request.options.background.begin(), request.options.background.end());
  RefuseIdleSettings(named, jobs, errors);
  return request;
}

}  // namespace tools
