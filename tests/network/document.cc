// docs/network.md.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include "tests/network/curves.h"
#include "tests/pages/page.h"

namespace network {
namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

using Rows = std::vector<const Compared*>;

Rows Select(const std::vector<Compared>& compared, const std::function<bool(const Compared&)>& wanted) {
  Rows rows;
  for (const Compared& one : compared) {
    if (wanted(one)) rows.push_back(&one);
  }
  return rows;
}

std::string Signed(double part) { return (part < 0 ? "-" : "+") + pages::Percent(std::abs(part)); }

void AddErrors(const Rows& rows, std::vector<std::string>* cells) {
  if (rows.empty()) {
    cells->insert(cells->end(), {"", "", ""});
    return;
  }
  const Errors errors = ErrorsOf(rows);
  cells->insert(cells->end(), {pages::Count(static_cast<std::int64_t>(errors.rows)),
                               pages::Percent(errors.mape), Signed(errors.bias)});
}

bool Large(const Compared& one) { return one.row.bytes.count() >= kMiB; }

std::string ByDevice(const std::vector<Compared>& compared, bool one_node) {
  std::set<std::pair<std::string, std::string>> keys;
  for (const Compared& one : compared) {
    if ((one.row.nodes == 1) == one_node) keys.insert({one.row.device, one.row.collective});
  }
  std::string table = pages::TableHead(
      {"device", "collective", "rows from 1 MiB", "mean error", "bias", "rows below", "mean error", "bias"});
  for (const auto& [gpu, collective] : keys) {
    const auto of = [&, gpu = gpu, collective = collective](bool large) {
      return Select(compared, [&](const Compared& one) {
        return one.row.device == gpu && one.row.collective == collective &&
               (one.row.nodes == 1) == one_node && Large(one) == large;
      });
    };
    std::vector<std::string> cells = {gpu, collective};
    AddErrors(of(true), &cells);
    AddErrors(of(false), &cells);
    table += pages::TableLine(cells);
  }
  return table;
}

// Errors of fits without the row's curve; `large` rows are those from 1 MiB on.
void AddHeldOut(const std::vector<const scenarios::CalibratedRow*>& rows, bool large,
                std::vector<std::string>* cells) {
  std::vector<double> errors;
  std::int64_t without = 0;  // of all sizes
  for (const scenarios::CalibratedRow* row : rows) {
    without += row->held_out_s > 0 ? 0 : 1;
    if ((row->row.bytes.count() >= kMiB) != large || !(row->held_out_s > 0)) continue;
    errors.push_back(row->held_out_s / row->row.seconds - 1);
  }
  const scenarios::ErrorsOfRows sum = scenarios::ErrorsOfAll(std::move(errors));
  cells->push_back(pages::Count(static_cast<std::int64_t>(sum.rows)));
  cells->insert(cells->end(), {pages::Percent(sum.mape), Signed(sum.bias), pages::Percent(sum.p95)});
  if (large) return;
  cells->push_back(without > 0 ? pages::Count(without) : "");
}

std::string HeldOut(const std::vector<scenarios::Calibration>& calibrations) {
  std::map<std::pair<std::string, std::string>, std::vector<const scenarios::CalibratedRow*>> groups;
  for (const scenarios::Calibration& calibration : calibrations) {
    for (const scenarios::CalibratedRow& row : calibration.rows) {
      groups[{row.row.device, row.row.collective}].push_back(&row);
    }
  }
  std::string table = pages::TableHead({"device", "collective", "rows from 1 MiB", "mean error", "bias",
                                        "p95", "rows below", "mean error", "bias", "p95", "no figures"});
  for (const auto& [key, rows] : groups) {
    std::vector<std::string> cells = {key.first, key.second};
    AddHeldOut(rows, true, &cells);
    AddHeldOut(rows, false, &cells);
    table += pages::TableLine(cells);
  }
  return table;
}

std::string SizeText(std::int64_t bytes) {
  if (bytes >= kMiB) return pages::Count(bytes / kMiB) + " MiB";
  return bytes >= 1024 ? pages::Count(bytes / 1024) + " KiB" : pages::Count(bytes) + " B";
}

std::string BySize(const std::vector<Compared>& compared) {
  std::string table = pages::TableHead({"bytes", "rows", "mean error", "bias"});
  for (std::int64_t low = 1; low <= (std::int64_t{1} << 34); low *= 8) {
    const Rows rows = Select(compared, [&](const Compared& one) {
      return one.row.nodes == 1 && one.row.bytes.count() >= low && one.row.bytes.count() < 8 * low;
    });
    if (rows.empty()) continue;
    std::vector<std::string> cells = {SizeText(low) + " and more"};
    AddErrors(rows, &cells);
    table += pages::TableLine(cells);
  }
  return table;
}

std::string Microseconds(double seconds) { return pages::Number(seconds * 1e6, 1); }

std::string Worst(const std::vector<Compared>& compared, bool one_node, std::size_t most) {
  Rows rows = Select(compared, [&](const Compared& one) { return (one.row.nodes == 1) == one_node; });
  const auto off = [](const Compared* one) { return std::abs(std::log(one->simulated / one->row.seconds)); };
  std::stable_sort(rows.begin(), rows.end(), [&](const auto* a, const auto* b) { return off(a) > off(b); });
  std::string table = pages::TableHead({"device", "ranks", "nodes", "NCCL", "collective", "bytes",
                                        "measured, us", "simulated, us", "off", "by", "source, line"});
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Measured& row = rows[i]->row;
    table += pages::TableLine({row.device, pages::Count(row.ranks), pages::Count(row.nodes), row.nccl,
                               row.collective, SizeText(row.bytes.count()), Microseconds(row.seconds),
                               Microseconds(rows[i]->simulated), Signed(rows[i]->error()), rows[i]->way,
                               row.source + ", " + pages::Count(row.line)});
  }
  return table;
}

std::string LeftOut(const std::vector<Measured>& all) {
  std::map<std::tuple<std::string, std::string>, std::int64_t> rows;
  for (const Measured& row : all) {
    if (const auto why = WhyNot(row)) ++rows[{*why, row.device + ", " + row.source}];
  }
  std::string text = pages::TableHead({"why", "rows", "of"});
  for (const auto& [key, count] : rows)
    text += pages::TableLine({std::get<0>(key), pages::Count(count), std::get<1>(key)});
  return text;
}

}  // namespace

std::string Document(const std::vector<Compared>& compared,
                     const std::vector<scenarios::Calibration>& calibrations,
                     const std::vector<Measured>& all) {
  std::string page = "# Collectives beside measurements\n\n";
  page += pages::Wrapped(
      "`ctest --preset release -R Network` makes this page and fails when it is not up to date. Every row of "
      "`tests/network/nccl_measured.csv` is simulated on an idle fabric of its device's nodes, with the "
      "version of NCCL "
      "that it states (2.27 where it states none, 2.30 where that is newer).");
  page +=
      "\n" +
      pages::Wrapped(
          "How a collective is done is NCCL's own choice, by its tuner's formula "
          "(`sim/collective/nccl_tuner.h`). What it costs is the bytes on the links of the fabric, a "
          "latency by algorithm and protocol, the copy of a member's own part, and the fill of what moves "
          "in loops. Latencies, rates and copies are in the devices' files, fitted by least squares of the "
          "logarithm, in which every device and collective counts alike and a row beyond 11 % by its "
          "distance "
          "instead of its square (Huber): one set for A100, one for H100 "
          "and H200, one for B200, B300, GB200 and GB300, one for L40S. The rows are those of "
          "aiconfigurator (one process, a thread a device) and, for NVLS, of Azure (NVLS asked for): "
          "nccl-tests on one node. `orrery calibrate collectives tests/network/nccl_measured.csv --where "
          "source=aiconfigurator --hardware h100_sxm --hardware h200_sxm` fits them again: mean errors move "
          "by 1.7 points at the most, up in some groups and down in others, so the files keep what they "
          "have. "
          "Nothing was fitted to the other sources or to rows between nodes.");
  page += "\n## One node, by device and collective\n\n" + ByDevice(compared, true);
  page +=
      "\n## Held out\n\n" +
      pages::Wrapped(
          "The rows of aiconfigurator and Azure, each curve (all rows of a device, a collective, a number of "
          "ranks and a source) by figures fitted to the other curves of its set of devices. 95 of 100 rows "
          "are no "
          "further off than p95; no figures: too few other rows were done by that algorithm and protocol.") +
      "\n" + HeldOut(calibrations);
  page += "\n## One node, by size\n\n" + BySize(compared);
  page += "\n## Between nodes\n\n" + ByDevice(compared, false);
  page += "\n## The worst rows\n\n" + Worst(compared, true, 25) + "\nBetween nodes:\n\n" +
          Worst(compared, false, 20) + "\n";
  page += pages::Wrapped(
      "Why. Rows of `vidur` are read from a profiler's trace, the least of the ranks' medians, in whole "
      "microseconds; their curves jump by a factor of three from size to size, which no way to start them "
      "explains. `ml-engineering` started eight A100 from one thread (`-g 8`), which launches on one device "
      "after the other while the first waits for the last: seven times the device's `kernel_us`, 35 us, are "
      "in what is simulated. From 512 KiB to 4 MiB they take 80 to 101 us nonetheless, almost all alike; the "
      "version of NCCL is not stated. On Azure's hosts one thread costs nothing visible, and nothing is "
      "added. The H200 of `ml-engineering` time single calls of PyTorch on an idle "
      "device, so the device's `eager_operation_us` is in what is simulated. NCCL 2.18 took 42 us from 64 "
      "KiB "
      "to 1 MiB on H100 where 2.20 took 31 on H200. All-to-alls of four H100 and H200 of up to 2 KiB took 18 "
      "us in some runs and 8 in others, and all-reduces of eight L40S of 1 and 64 MiB moved half as fast "
      "again as "
      "their neighbours. Below 1 MiB the rows of `vidur` alone are beyond the 25 % that were aimed at.");
  page += "\n" +
          pages::Wrapped(
              "Between nodes: NICs of the catalogue are InfiniBand's; rows over RoCE have the headers of "
              "Ethernet, IP and UDP around 4,096 bytes, 1.3 % more. Of one device on each of two nodes 27 us "
              "are missing at 2 and 4 MiB and 8 to 22 us above: what RoCE takes longer, by no figure that a "
              "source gives. NVLSTree of two nodes is held to what NVLS reaches inside one. On 248 nodes the "
              "wires alone need 2,796 us of the 3,066 measured; latency is 230, and the rest is the fill of "
              "16 hops, with every edge at the rate that it has once all are busy. That is 24.5 % too long, "
              "beyond the 20 % that were aimed at, and the row stands alone: its source calls it typical, "
              "with dips below 300 GB/s, which are 3,578 us and more. NCCL's latency of a hop may count part "
              "of a chunk's way again; no row says how much. From 4 to 8 MiB on two nodes "
              "NVLSTree jumps, "
              "since NCCL cuts 8 MiB into chunks twice as large, of which a channel then has one: nothing "
              "overlaps.");
  page += "\n## Left out\n\n" + LeftOut(all);
  return page;
}

}  // namespace network
