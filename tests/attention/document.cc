#include "tests/attention/document.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "scenarios/calibration/collective_fit.h"
#include "tests/pages/page.h"

namespace attention {
namespace {

using scenarios::ErrorsOfRows;

// A row with a time of the model's.
struct Compared {
  const Group* group = nullptr;
  const Row* row = nullptr;
  double modelled_s = 0;
  double error() const { return modelled_s / row->seconds - 1; }
};
using Rows = std::vector<Compared>;

bool IsLong(const Row& row) { return row.seconds > kLong; }

void Append(const Group& group, const std::vector<double>& seconds, Rows* rows) {
  for (std::size_t i = 0; i < seconds.size(); ++i) rows->push_back({&group, &group.rows[i], seconds[i]});
}

ErrorsOfRows ErrorsOf(const Rows& rows, bool only_long) {
  std::vector<double> errors;
  for (const Compared& one : rows) {
    if (!only_long || IsLong(*one.row)) errors.push_back(one.error());
  }
  return scenarios::ErrorsOfAll(std::move(errors));
}

std::string Signed(double part) { return (part < 0 ? "-" : "+") + pages::Percent(std::abs(part)); }

// Rows, mean error, bias and p95; empty where there are none.
void AddErrors(const ErrorsOfRows& errors, bool with_rows, std::vector<std::string>* cells) {
  if (with_rows) cells->push_back(pages::Count(static_cast<std::int64_t>(errors.rows)));
  if (errors.rows == 0) {
    cells->insert(cells->end(), {"", "", ""});
    return;
  }
  cells->insert(cells->end(), {pages::Percent(errors.mape), Signed(errors.bias), pages::Percent(errors.p95)});
}

std::vector<std::string> NameOf(const Group& group) {
  return {group.device, group.implementation, pages::Count(group.head_dim)};
}

std::string HeldOut(const std::vector<Group>& groups) {
  std::string table = pages::TableHead({"device", "implementation", "head dim", "above 100 us: rows", "file",
                                        "without its heads", "bias", "p95", "without its lengths", "bias",
                                        "p95", "all: rows", "without its heads", "bias", "p95"});
  Rows whole, heads, lengths;
  const auto line = [&](std::vector<std::string> cells, const Rows& file, const Rows& other_heads,
                        const Rows& other_lengths) {
    const ErrorsOfRows of_file = ErrorsOf(file, true);
    cells.push_back(pages::Count(static_cast<std::int64_t>(of_file.rows)));
    cells.push_back(pages::Percent(of_file.mape));
    AddErrors(ErrorsOf(other_heads, true), false, &cells);
    AddErrors(ErrorsOf(other_lengths, true), false, &cells);
    cells.push_back(pages::Count(static_cast<std::int64_t>(file.size())));
    AddErrors(ErrorsOf(other_heads, false), false, &cells);
    table += pages::TableLine(cells);
  };
  for (const Group& group : groups) {
    if (group.shipped == nullptr) continue;
    Rows own, own_heads, own_lengths;
    Append(group, group.shipped_s, &own);
    Append(group, group.other_heads_s, &own_heads);
    Append(group, group.other_lengths_s, &own_lengths);
    line(NameOf(group), own, own_heads, own_lengths);
    whole.insert(whole.end(), own.begin(), own.end());
    heads.insert(heads.end(), own_heads.begin(), own_heads.end());
    lengths.insert(lengths.end(), own_lengths.begin(), own_lengths.end());
  }
  line({"all", "", ""}, whole, heads, lengths);
  return table;
}

Rows AllHeldOut(const std::vector<Group>& groups) {
  Rows rows;
  for (const Group& group : groups) Append(group, group.other_heads_s, &rows);
  return rows;
}

// One table of rows by what `of` says, in the order of `names`.
std::string By(const std::string& head, const std::vector<std::string>& names, const Rows& rows,
               const std::function<std::size_t(const Compared&)>& of) {
  std::vector<Rows> parts(names.size());
  for (const Compared& one : rows) {
    if (IsLong(*one.row)) parts[of(one)].push_back(one);
  }
  std::string table = pages::TableHead({head, "rows above 100 us", "mean error", "bias", "p95"});
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::string> cells = {names[i]};
    AddErrors(ErrorsOf(parts[i], true), true, &cells);
    table += pages::TableLine(cells);
  }
  return table;
}

// The first bound that a value does not exceed.
std::size_t Part(double value, const std::vector<double>& bounds) {
  return static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin());
}

std::string WhereErrorsLie(const std::vector<Group>& groups) {
  const Rows rows = AllHeldOut(groups);
  return By("time", {"0.1 to 0.5 ms", "to 2 ms", "to 10 ms", "longer"}, rows,
            [](const Compared& one) {
              return Part(one.row->seconds, {5e-4, 2e-3, 1e-2});
            }) +
         "\n" +
         By("tokens", {"to 128", "256 and 512", "1,024 to 2,048", "3,072 to 6,144", "8,192 to 16,384"}, rows,
            [](const Compared& one) {
              return Part(static_cast<double>(one.row->tokens), {128, 512, 2048, 6144});
            }) +
         "\n" +
         By("query heads of a key head", {"1", "2 to 8", "more"}, rows,
            [](const Compared& one) {
              const double heads = static_cast<double>(one.row->heads);
              return Part(heads / static_cast<double>(one.row->kv_heads), {1, 8});
            }) +
         "\n" +
         By("heads of all sequences", {"to 16", "to 128", "to 1,024", "more"}, rows, [](const Compared& one) {
           return Part(static_cast<double>(one.row->heads * one.row->batch), {16, 128, 1024});
         });
}

std::string Worst(const std::vector<Group>& groups, std::size_t most) {
  Rows rows;
  for (const Compared& one : AllHeldOut(groups)) {
    if (IsLong(*one.row)) rows.push_back(one);
  }
  const auto off = [](const Compared& one) { return std::abs(std::log(one.modelled_s / one.row->seconds)); };
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Compared& a, const Compared& b) { return off(a) > off(b); });
  std::string table = pages::TableHead({"device", "implementation", "head dim", "heads", "key heads", "batch",
                                        "tokens", "measured, us", "held out, us", "off"});
  for (std::size_t i = 0; i < std::min(most, rows.size()); ++i) {
    const Row& row = *rows[i].row;
    std::vector<std::string> cells = NameOf(*rows[i].group);
    for (const std::int64_t value : {row.heads, row.kv_heads, row.batch, row.tokens}) {
      cells.push_back(pages::Count(value));
    }
    cells.insert(cells.end(), {pages::Number(row.seconds * 1e6), pages::Number(rows[i].modelled_s * 1e6),
                               Signed(rows[i].error())});
    table += pages::TableLine(cells);
  }
  return table;
}

// Fits of forms with less in them, to the same rows.
std::string Parts(const std::vector<Group>& groups) {
  std::string table = pages::TableHead({"form", "mean error above 100 us", "bias", "p95"});
  for (const Variant& variant : Variants()) {
    Rows rows;
    for (const Group& group : groups) {
      if (group.shipped != nullptr) Append(group, TimesOf(group, variant), &rows);
    }
    std::vector<std::string> cells = {variant.name};
    AddErrors(ErrorsOf(rows, true), false, &cells);
    table += pages::TableLine(cells);
  }
  return table;
}

std::string Published(const std::vector<Curve>& curves) {
  std::vector<std::string> heads = {"implementation", "head dim", "pass", "mask"};
  for (const std::int64_t tokens : curves.front().tokens) heads.push_back(pages::Count(tokens));
  std::string table = pages::TableHead(heads);
  for (const Curve& curve : curves) {
    std::vector<std::string> cells = {curve.implementation, pages::Count(curve.head_dim),
                                      curve.backward ? "backward" : "forward",
                                      curve.causal ? "causal" : "none"};
    for (std::size_t i = 0; i < curve.tokens.size(); ++i) {
      const double modelled = ModelledTflops(curve, i);
      cells.push_back(pages::Number(curve.tflops[i]) + " / " + pages::Number(modelled) + ", " +
                      Signed(modelled / curve.tflops[i] - 1));
    }
    table += pages::TableLine(cells);
  }
  return table;
}

}  // namespace

std::string Document(const std::vector<Group>& groups, const std::vector<Curve>& curves) {
  const auto text = [](const char* paragraph) { return pages::Wrapped(paragraph) + "\n"; };
  std::string page = "# Attention beside measurements\n\n";
  page += text(
      "`ctest --preset release -R Attention` makes this page and fails when it is not up to date. "
      "`tests/attention/measured.csv` has 7,000 causal prefills that aiconfigurator measured on five "
      "devices, by "
      "batch, tokens, query heads, key heads and their width: FlashAttention-2 and 3 as vLLM runs them, and "
      "the "
      "kernels of TensorRT-LLM. They are fitted a device, implementation and width at a time, six or seven "
      "figures to 15 to 549 rows, by softened least squares of the logarithm "
      "(`scenarios/calibration/attention_fit.h`); the figures are `paged_attention` in the devices' files. "
      "The form "
      "is in `hardware/attention_model.h`: blocks of queries dealt to SMs, keys that each sees, what "
      "starting a "
      "block and each query cost beside, a tail, and the way of keys and values into the cache.");
  page += "\n## Held out\n\n";
  page += text(
      "`file`: the figures of the devices' files, fitted to all rows of the line. `without its heads`: each "
      "row by "
      "a fit to which no row of the same number of query heads and key heads belonged (five parts), "
      "`without its lengths`: none of the same batch and tokens (eight parts). 95 of 100 rows are no further "
      "off "
      "than p95. Where a line has rows of one set of heads alone, none can be left out.");
  page += "\n" + HeldOut(groups);
  page += "\n## Where the errors lie\n\n";
  page += text("Rows above 100 us, by fits without their heads.");
  page += "\n" + WhereErrorsLie(groups) + "\n";
  page += text(
      "Kernels of 10 ms and more come out too fast: a loop of them keeps a device at its power limit, and "
      "clocks "
      "fall, which the form leaves out, since training does so in all kernels. Neighbours in batch or tokens "
      "differ "
      "by up to 20 % there, in either direction, so half of that is the measuring. Short sequences in large "
      "batches "
      "are next: blocks of 16 to 64 queries cost what their library's special cases make of them. Heads of "
      "512 have "
      "few rows, on kernels of another library (FlashInfer), and 192 of vLLM has four sets of heads in 54 "
      "rows.");
  page += "\n" + Worst(groups, 12);
  page += "\n## What each part of the form is worth\n\n";
  page += text("Fitted again to all rows, without a part.");
  page += "\n" + Parts(groups) + "\n";
  page += text(
      "Also tried: whole waves in place of a tail (worse by half a per cent: blocks under a mask differ); "
      "the sum of "
      "work and the longest block joined by a power (as good, and no bound of anything); packing query heads "
      "of a "
      "group in TensorRT-LLM's kernels (twice the error: they do not) and not packing them in "
      "FlashAttention-3 (twice "
      "that of short sequences: it does); blocks of 64 and 192 queries (256 are better on Blackwell up to "
      "128 "
      "dimensions, 128 elsewhere); a cost a token in TensorRT-LLM's cache (fits to none).");
  page += "\n## Published curves\n\n";
  page += text(
      "Training has figures of its own (`attention` in the devices' files): kernels alone, without a cache, "
      "and the "
      "backward. Those of H100 are fitted to the curves of the FlashAttention-3 paper: a rate with and one "
      "without "
      "mask and an overhead a block, with the tail of the paged fit. TFLOP/s by tokens of a sequence, "
      "published / "
      "modelled, 16,384 tokens in all.");
  page += "\n" + Published(curves) + "\n";
  page += text(
      "A100's forward has the paged figures without the way into the cache, its rate without mask and its "
      "backward "
      "the FlashAttention-2 paper's. cuDNN on B200 and GB200 has the rate and tail of TensorRT-LLM's kernels "
      "there, "
      "and the start of a block of cuDNN on H100; no table of its backward was at hand.");
  page += "\n## Left out\n\n";
  page += text(
      "30 rows of FlashAttention 4 on H100, which vLLM runs for heads of 512: no scenario can ask for it. "
      "Decode: a "
      "query of one token is timed as a prefill of one, not split over its keys. FP8 attention. Windows, "
      "masks other "
      "than causal and parts of sequences are in the form and in its tests, but nobody measured them here.");
  return page;
}

}  // namespace attention
