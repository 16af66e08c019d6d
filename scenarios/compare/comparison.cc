#include "scenarios/compare/comparison.h"

#include <algorithm>
#include <atomic>
#include <sstream>
#include <thread>
#include <utility>

namespace scenarios {
namespace {

// `work` for each number below n.
void SideBySide(std::size_t n, std::size_t threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  const auto run = [&] {
    for (std::size_t i = next++; i < n; i = next++) work(i);
  };
  std::vector<std::jthread> others;
  for (std::size_t t = 1; t < std::min(threads, n); ++t) others.emplace_back(run);
  run();
}

}  // namespace

sim::Result<VariantSpec> ParseVariant(const std::string& text) {
  VariantSpec spec{.text = {}, .job = {}, .changes = {}};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    spec.text += (spec.text.empty() ? "" : " ") + word;
    const std::size_t equals = word.find('=');
    if (equals == 0) return sim::Error{"\"" + word + "\" has no field; one like layout.tensor=8 is wanted"};
    if (equals != std::string::npos) {
      spec.changes.push_back(word);
    } else if (spec.job.empty() && spec.changes.empty()) {
      spec.job = word;
    } else {
      return sim::Error{"\"" + word +
                        "\" is no PATH=VALUE; a scenario comes first, and values have no spaces"};
    }
  }
  if (spec.text.empty()) {
    return sim::Error{
        "there is nothing in it; \"layout.tensor=4 layout.pipeline=8\" or a scenario is wanted"};
  }
  return spec;
}

bool Comparison::any_variant() const {
  return std::any_of(variants.begin(), variants.end(),
                     [](const ComparedJob& v) { return v.played.has_value(); });
}

Comparison Compare(const std::vector<std::string>& texts, std::size_t threads, const PlayJob& play) {
  CHECK(!texts.empty() && threads > 0);
  std::vector<ComparedJob> jobs(texts.size());
  SideBySide(jobs.size(), threads, [&](std::size_t i) {
    jobs[i].text = texts[i];
    sim::Result<PlayedJob> played = play(i);
    if (played.ok()) {
      jobs[i].played = std::move(played).value();
    } else {
      jobs[i].refused = played.error().message;
    }
  });
  Comparison comparison{.base = std::move(jobs.front()), .variants = {}};
  jobs.erase(jobs.begin());
  comparison.variants = std::move(jobs);
  for (ComparedJob& variant : comparison.variants) {
    if (comparison.base.played && variant.played) {
      variant.waterfall = WaterfallOf(*comparison.base.played, *variant.played);
    }
  }
  return comparison;
}

}  // namespace scenarios
