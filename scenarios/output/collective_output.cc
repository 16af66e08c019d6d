#include "scenarios/output/collective_output.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "scenarios/collective_run/dimensions.h"
#include "scenarios/collective_run/link_shares.h"
#include "scenarios/collective_run/rank_list.h"
#include "scenarios/collective_run/sizes.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostLinks = 2;  // of a tier, in text
constexpr std::size_t kMostLinksInJson = 64;

template <class... T>
std::string Formatted(const char* format, T... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// As nccl-tests shortens it.
std::string Microseconds(sim::Duration time) {
  const double us = time.seconds() * 1e6;
  return Formatted(us >= 10'000 ? "%.0f" : us >= 100 ? "%.1f" : "%.2f", us);
}

// A tiny message has a tiny bound, and is far above it.
std::string Bound(sim::Duration time) {
  const double us = time.seconds() * 1e6;
  return us < 1 ? Formatted("%.2g", us) : Microseconds(time);
}

std::string Percent(const std::optional<double>& part) {
  if (!part) return "-";
  const double percent = std::abs(*part) < 5e-4 ? 0 : 100 * *part;  // not "-0.0"
  return Formatted(percent < 10'000 ? "%.1f" : "%.1e", percent);
}

std::string HeadText(const Cluster& cluster, const CollectiveHead& head) {
  return "# " + std::to_string(cluster.ranks()) + " x " + head.hardware + " on " + head.topology + '\n';
}

// The rank that nccl-tests prints: counted in the group.
int RootOf(const CollectiveJob& job) { return job.test->has_root ? static_cast<int>(job.root) : -1; }

// "Ring/LL128", "NVLS/S": S is Simple.
std::string ShortNameOf(const CollectiveWay& way) {
  return std::string(ToText(way.algorithm)) + '/' +
         (way.protocol == sim::Protocol::kSimple ? "S" : ToText(way.protocol));
}

bool HasFaster(const CollectiveRow& row) { return row.way && row.best && row.best->idle < row.way->idle; }

// "NVLS/S", and a star where another way would be faster here.
std::string WayText(const CollectiveRow& row) {
  return Formatted("%11s", row.way ? (ShortNameOf(*row.way) + (HasFaster(row) ? "*" : "")).c_str() : "-");
}

// What would be faster, size by size; sizes that say the same are told together.
std::string FasterText(const CollectiveTable& table) {
  std::string text;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (!HasFaster(table.rows[i])) continue;
    const std::string name = ShortNameOf(*table.rows[i].best);
    std::size_t last = i;
    while (last + 1 < table.rows.size() && HasFaster(table.rows[last + 1]) &&
           ShortNameOf(*table.rows[last + 1].best) == name) {
      ++last;
    }
    const CollectiveRow& row = table.rows[last];
    text += "# * " + name + " would be faster here on idle links: " + SizeText(table.rows[i].job.size) +
            (last > i ? " ... " + SizeText(row.job.size) + ", the last" : "") + " in " +
            Microseconds(row.best->idle) + " us instead of " + Microseconds(row.way->idle) + '\n';
    i = last;
  }
  return text;
}

std::string RowText(const CollectiveRow& row, const DataType& type, bool chunks, bool together) {
  std::string text =
      Formatted("%12lld  %12lld  %8s  %6s  %6d  %7s  %6.2f  %6.2f  %9s  %7s",
                static_cast<long long>(row.job.size.count()), static_cast<long long>(row.count), type.name,
                row.job.test->redop, RootOf(row.job), Microseconds(row.time).c_str(), row.algbw(),
                row.busbw(), Bound(row.bound.time).c_str(), Percent(row.gap()).c_str());
  if (chunks) {
    text += Formatted("  %9s  %7s", Microseconds(*row.chunk_time).c_str(),
                      Percent(row.chunk_difference()).c_str());
  }
  text += "  " + WayText(row);
  return text + (together ? "  " + ToText(row.job) : "") + '\n';
}

// Which job a share of a link is of.
std::string NameOfJob(const CollectiveTable& table, std::uint32_t job) {
  return (job < table.jobs ? "" : "background ") + ToText(table.together[job]);
}

std::string LinkText(const LoadedLink& loaded, const CollectiveTable& table,
                     const topologies::Fabric& fabric) {
  std::string text =
      Formatted("#  %14.0f  %5.1f %%  ", loaded.bytes, 100 * loaded.utilisation) +
      fabric.LinkName(loaded.link) +
      Formatted(", %.4g GB/s\n", fabric.links[loaded.link.pos()].capacity.bytes_per_second() * 1e-9);
  if (table.together.size() < 2) return text;
  for (const LoadedLink::Share& share : loaded.shares) {
    text += Formatted("#    %14.0f  %5.1f %%  ", share.bytes,
                      100 * loaded.utilisation * share.bytes / loaded.bytes) +
            NameOfJob(table, share.job) + '\n';
  }
  return text;
}

// The fullest of each tier, and how many more of it are as full.
std::string LinksText(const CollectiveTable& table, const Cluster& cluster) {
  const std::vector<LoadedLink> links = LoadedLinks(table.last);
  std::string text = "# most loaded links of each tier in " + Microseconds(table.last.finish) +
                     " us: bytes, and part of what the link could carry\n";
  if (links.empty()) return text + "#  none carried anything\n";
  const auto tier_of = [&](const LoadedLink& link) { return cluster.fabric.links[link.link.pos()].tier; };
  std::vector<topologies::Tier> tiers;
  for (const LoadedLink& link : links) {
    if (std::find(tiers.begin(), tiers.end(), tier_of(link)) == tiers.end()) tiers.push_back(tier_of(link));
  }
  for (const topologies::Tier tier : tiers) {
    std::vector<const LoadedLink*> full;  // as full as the fullest
    for (const LoadedLink& link : links) {
      if (tier_of(link) != tier) continue;
      if (full.empty() || link.utilisation > full[0]->utilisation * 0.9999) full.push_back(&link);
    }
    text += std::string("#  ") + ToText(tier) + '\n';
    for (std::size_t i = 0; i < std::min(kMostLinks, full.size()); ++i) {
      text += LinkText(*full[i], table, cluster.fabric);
    }
    if (full.size() <= kMostLinks) continue;
    text += "#    and " + std::to_string(full.size() - kMostLinks) + " more as full\n";
  }
  return text;
}

std::string SharedText(const CollectiveTable& table) {
  std::string text;
  for (const SharedRanks& shared : table.shared) {
    text += "# \"" + NameOfJob(table, shared.first) + "\" and \"" + NameOfJob(table, shared.second) +
            "\" share ranks " + RankListText(shared.ranks) + ": a stream each there, side by side\n";
  }
  return text;
}

Json JobJson(const CollectiveJob& job) {
  Json json = {{"collective", job.test->name},
               {"ranks", RankListText(job.ranks)},
               {"members", job.ranks.size()},
               {"size_bytes", job.size.count()}};
  if (job.test->has_root) json["root_rank"] = job.ranks[job.root];
  for (const sim::Dimension& dimension : job.dimensions) {
    json["dimensions"].push_back({{"size", dimension.size}, {"algorithm", ToText(dimension.algorithm)}});
  }
  return json;
}

Json WayJson(const CollectiveWay& way) {
  Json json = {{"algorithm", ToText(way.algorithm)}, {"protocol", ToText(way.protocol)}};
  json["channels"] = way.channels > 0 ? Json(way.channels) : Json(nullptr);
  json["idle_s"] = way.idle.seconds();
  json["nccl_model_s"] = way.nccl_us ? Json(*way.nccl_us * 1e-6) : Json(nullptr);
  return json;
}

void AddBound(const LowerBound& bound, const std::optional<double>& gap, Json* json) {
  (*json)["bound_s"] = bound.time.seconds();
  (*json)["bound_by"] = bound.what;
  (*json)["gap"] = gap ? Json(*gap) : Json(nullptr);
}

Json LinksJson(const CollectiveTable& table, const Cluster& cluster) {
  Json json = Json::array();
  for (const LoadedLink& loaded : LoadedLinks(table.last)) {
    if (json.size() == kMostLinksInJson) break;
    const topologies::Link& link = cluster.fabric.links[loaded.link.pos()];
    Json by = Json::array();
    for (const LoadedLink::Share& share : loaded.shares) {
      by.push_back({{"job", NameOfJob(table, share.job)}, {"bytes", share.bytes}});
    }
    json.push_back({{"link", cluster.fabric.LinkName(loaded.link)},
                    {"tier", ToText(link.tier)},
                    {"bytes_per_s", link.capacity.bytes_per_second()},
                    {"bytes", loaded.bytes},
                    {"utilisation", loaded.utilisation},
                    {"by", std::move(by)}});
  }
  return json;
}

Json HeadJson(const Cluster& cluster, const CollectiveHead& head) {
  return {{"schema_version", 1},
          {"hardware", head.hardware},
          {"topology", head.topology},
          {"devices", cluster.ranks()}};
}

CollectiveRow RowOf(const PlayedOperation& operation) {
  CollectiveRow row;
  row.job = operation.job;
  row.time = operation.time();
  row.bound = operation.bound;
  row.way = operation.way;
  return row;
}

std::string Dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace

std::string CollectiveText(const CollectiveTable& table, const Cluster& cluster, const CollectiveHead& head) {
  const bool together = table.jobs > 1;
  const bool chunks = !table.rows.empty() && table.rows[0].chunk_time.has_value();
  std::string text = HeadText(cluster, head);
  if (!together) {
    const CollectiveJob& job = table.rows[0].job;
    text += "# " + std::string(job.test->name) + " of " + std::to_string(job.ranks.size()) +
            (job.ranks.size() == 1 ? " rank: " : " ranks: ") + RankListText(job.ranks) + '\n';
    if (!job.dimensions.empty()) text += "# by dimension: " + DimensionsText(job.dimensions) + '\n';
    if (table.as_vllm) text += "# as vLLM chooses: one or two shots below 8 MiB, NCCL from there on\n";
  }
  for (std::size_t i = table.jobs; i < table.together.size(); ++i) {
    text += "# background, again and again: " + ToText(table.together[i]) + '\n';
  }
  text += SharedText(table);
  text += "#\n" + Formatted("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %9s  %7s", "size", "count", "type",
                            "redop", "root", "time", "algbw", "busbw", "bound", "gap");
  if (chunks) text += Formatted("  %9s  %7s", "by chunk", "diff");
  text += Formatted("  %11s\n", "by");
  text += Formatted("# %10s  %12s  %8s  %6s  %6s  %7s  %6s  %6s  %9s  %7s", "(B)", "(elements)", "", "", "",
                    "(us)", "(GB/s)", "(GB/s)", "(us)", "(%)");
  if (chunks) text += Formatted("  %9s  %7s", "(us)", "(%)");
  text += "\n";
  for (const CollectiveRow& row : table.rows) text += RowText(row, *head.type, chunks, together);
  text += FasterText(table);
  text += Formatted("# Avg bus bandwidth    : %g\n", table.mean_busbw());
  if (const std::string& what = table.rows.back().bound.what; !what.empty()) {
    text += "# bound" + std::string(table.rows.size() > 1 ? " of the last row: " : ": ") + what + '\n';
  }
  if (head.links) text += LinksText(table, cluster);
  return text;
}

std::string CollectiveJson(const CollectiveTable& table, const Cluster& cluster, const CollectiveHead& head) {
  Json json = HeadJson(cluster, head);
  json["rows"] = Json::array();
  for (const CollectiveRow& row : table.rows) {
    Json one = JobJson(row.job);
    one["count"] = row.count;
    one["type"] = head.type->name;
    one["redop"] = row.job.test->redop;
    one["root"] = RootOf(row.job);
    one["time_s"] = row.time.seconds();
    one["algbw_gb_per_s"] = row.algbw();
    one["busbw_gb_per_s"] = row.busbw();
    AddBound(row.bound, row.gap(), &one);
    if (row.way) one["by"] = WayJson(*row.way);
    if (row.best) one["fastest"] = WayJson(*row.best);
    if (row.chunk_time) one["chunk_time_s"] = row.chunk_time->seconds();
    if (const auto difference = row.chunk_difference()) one["chunk_difference"] = *difference;
    json["rows"].push_back(std::move(one));
  }
  json["mean_busbw_gb_per_s"] = table.mean_busbw();
  json["background"] = Json::array();
  for (std::size_t i = table.jobs; i < table.together.size(); ++i) {
    json["background"].push_back(JobJson(table.together[i]));
  }
  json["shared_ranks"] = Json::array();
  for (const SharedRanks& shared : table.shared) {
    json["shared_ranks"].push_back(
        {{"jobs", {NameOfJob(table, shared.first), NameOfJob(table, shared.second)}},
         {"ranks", RankListText(shared.ranks)}});
  }
  if (head.links) json["links"] = LinksJson(table, cluster);
  json["digest"] = table.last.timeline.digest;
  return Dump(json);
}

std::string OperationsText(const PlayedOperations& played, const Cluster& cluster,
                           const CollectiveHead& head) {
  std::string text =
      HeadText(cluster, head) + "# begin: when the last member came; wait: of the first one, until then\n#\n";
  text += Formatted("# %10s  %9s  %9s  %12s  %7s  %7s  %6s  %9s  %7s  %11s  %s\n", "begin", "wait", "time",
                    "size", "members", "algbw", "busbw", "bound", "gap", "by", "operation");
  text += Formatted("# %10s  %9s  %9s  %12s  %7s  %7s  %6s  %9s  %7s  %11s  %s\n", "(us)", "(us)", "(us)",
                    "(B)", "", "(GB/s)", "(GB/s)", "(us)", "(%)", "", "turn of group, line");
  for (const PlayedOperation& o : played.operations) {
    const CollectiveRow row = RowOf(o);
    text += Formatted("%12s  %9s  %9s  %12lld  %7zu  %7.2f  %6.2f  %9s  %7s  ",
                      Microseconds(o.begin.since_start()).c_str(), Microseconds(o.begin - o.arrived).c_str(),
                      Microseconds(o.time()).c_str(), static_cast<long long>(o.job.size.count()),
                      o.job.ranks.size(), row.algbw(), row.busbw(), Bound(o.bound.time).c_str(),
                      Percent(row.gap()).c_str());
    text += WayText(row) + "  " + o.job.test->name + ' ' + std::to_string(o.turn) + " of " +
            RankListText(o.job.ranks) + ", line " + std::to_string(o.line) + '\n';
  }
  return text + "# all ended after " + Microseconds(played.timeline.finish.since_start()) + " us\n";
}

std::string OperationsJson(const PlayedOperations& played, const Cluster& cluster,
                           const CollectiveHead& head) {
  Json json = HeadJson(cluster, head);
  json["operations"] = Json::array();
  for (const PlayedOperation& o : played.operations) {
    const CollectiveRow row = RowOf(o);
    Json one = JobJson(o.job);
    one["turn"] = o.turn;
    one["line"] = o.line;
    one["arrived_s"] = o.arrived.since_start().seconds();
    one["begin_s"] = o.begin.since_start().seconds();
    one["time_s"] = o.time().seconds();
    one["algbw_gb_per_s"] = row.algbw();
    one["busbw_gb_per_s"] = row.busbw();
    AddBound(o.bound, row.gap(), &one);
    if (o.way) one["by"] = WayJson(*o.way);
    json["operations"].push_back(std::move(one));
  }
  json["finish_s"] = played.timeline.finish.since_start().seconds();
  json["digest"] = played.timeline.digest;
  return Dump(json);
}

}  // namespace scenarios
