// What the model needs to serve, and what it gives then.

#include <array>

#include "models/kv_cache.h"
#include "models/kv_pool.h"
#include "models/parameters.h"
#include "scenarios/budget/budget_parts.h"
#include "scenarios/budget/serving.h"

namespace scenarios {
namespace {

using sim::Number;

// "; 4 of 128 experts read": on average.
std::string ExpertsText(const models::Model& model, std::int64_t batch) {
  if (model.experts.routed == 0) return "";
  return "; " + Short(ExpertsVisited(model.experts, batch)) + " of " + Grouped(model.experts.routed) +
         " experts read";
}

// Requests that fit in whole pages, and what paging wastes and spares. A pool's pages hold a token in all
// layers, those with a window too.
std::int64_t AddPages(const Chosen& c, const Server& server, Section* s) {
  const double left = Number(c.device.usable_memory.count()) - WeightBytes(server);
  const models::KvPool pool{.free = sim::Bytes(left > 0 ? static_cast<std::int64_t>(left) : 0),
                            .bytes_per_token = models::KvCacheBytes(c.model, 1, c.kv_width, server.tensor),
                            .block = c.page};
  const std::array<std::int64_t, 1> one = {c.context};
  const std::int64_t reserved = models::PagedTokens(one, c.page);
  const std::string pages = Grouped(reserved / c.page) + " pages of " + Grouped(c.page);
  s->AddCount("pages of a device", pool.blocks(), "27.4, 17.8.7: memory beside the weights over a page", "");
  s->AddCount("tokens reserved a request", reserved, "exercise 27.4: whole pages", pages);
  s->Add("of them empty", 100 * (1 - Number(c.context) / Number(reserved)), "%", "17.8.7: the last page",
         Short((Number(c.page) - 1) / 2) + " tokens of any length, on average");
  if (reserved < c.model.max_positions) {
    s->Add("spared by paging", 100 * (1 - Number(reserved) / Number(c.model.max_positions)), "%",
           "17.8.7: against room for the longest", "longest " + Grouped(c.model.max_positions));
  }
  return pool.requests(c.context);
}

}  // namespace

void AddServing(const Chosen& c, Budget* budget) {
  Section s("serving", &budget->lines);
  s.AddBytes("keys and values of a token", models::KvCacheBytes(c.model, 1, c.kv_width), "(27.10)",
             Grouped(c.kv_width) + " B a number");
  s.AddBytes("of a request", models::KvCacheBytes(c.model, c.context, c.kv_width), "(27.10), windows kept",
             "T " + Grouped(c.context));
  Server server{.model = c.model,
                .roof = hardware::RoofOf(c.device, c.serving_format),
                .weight_bits = c.weight_bits,
                .kv_width = Number(c.kv_width)};
  s.Add("weights", WeightBytes(server), "B", "(27.9), scales left out", Short(c.weight_bits) + " bits");
  // The fewest devices, by twos, that hold the weights and one request.
  const double memory = Number(c.device.usable_memory.count());
  for (std::int64_t t = 1; models::CanShare(c.model, t); t *= 2) {
    server.tensor = t;
    if (RequestsThatFit(server, memory, 0, c.context) > 0) break;
  }
  const std::int64_t requests =
      c.page > 0 ? AddPages(c, server, &s) : RequestsThatFit(server, memory, 0, c.context);
  s.AddCount("devices of a copy", server.tensor, "(27.11): weights and a request fit", "");
  s.AddCount("requests at once", requests, "(27.11)",
             "T " + Grouped(c.context) + " each; no working space" + (c.page > 0 ? "; whole pages" : ""));
  if (requests == 0) {
    budget->warnings.push_back(
        "serving: weights and one request fit into no tensor group that the heads allow");
    return;
  }
  s.Add("prefill", PrefillSeconds(server, c.context), "s", "(27.17): 17.8.2 with attention, A13",
        "at the peak");
  const bool experts = c.model.experts.routed > 0;
  s.Add("decode step, one request", DecodeSeconds(server, 1, c.context), "s",
        experts ? "(27.17): 17.8.3, of E experts E(1-(1-k/E)^B)" : "(27.17): 17.8.3",
        "at the peak" + ExpertsText(c.model, 1));
  const double step = DecodeSeconds(server, requests, c.context);
  s.Add("decode step, all of them", step, "s",
        experts ? "(27.17): 17.8.4 as E16, of E experts E(1-(1-k/E)^B)" : "(27.17): 17.8.4 as E16",
        Grouped(requests) + " requests" + ExpertsText(c.model, requests));
  s.Add("tokens a second of a copy", Throughput(Number(requests), step), "1/s", "17.8.4", "decode only");
}

}  // namespace scenarios
