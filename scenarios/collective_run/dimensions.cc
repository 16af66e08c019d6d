#include "scenarios/collective_run/dimensions.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace scenarios {
namespace {

using sim::DimensionAlgorithm;

std::optional<DimensionAlgorithm> AlgorithmOf(std::string_view name) {
  for (const auto algorithm :
       {DimensionAlgorithm::kRing, DimensionAlgorithm::kOneWayRing, DimensionAlgorithm::kDirect}) {
    if (name == sim::ToText(algorithm)) return algorithm;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> SizeOf(std::string_view text) {
  std::uint32_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  const bool whole = error == std::errc() && end == text.data() + text.size() && size >= 1;
  return whole ? std::optional(size) : std::nullopt;
}

std::string CountText(std::size_t count, const std::string& word) {
  return std::to_string(count) + ' ' + word + (count == 1 ? "" : "s");
}

// "4 x 4 x 2"
std::string ProductText(const std::vector<sim::Dimension>& dimensions) {
  std::string text;
  for (const sim::Dimension& dimension : dimensions)
    text += (text.empty() ? "" : " x ") + std::to_string(dimension.size);
  return text;
}

}  // namespace

sim::Result<std::vector<sim::Dimension>> ParseDimensions(std::string_view text,
                                                         std::span<const std::uint32_t> sizes,
                                                         std::uint32_t members) {
  std::vector<sim::Dimension> dimensions;
  std::size_t with_size = 0;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, comma - at);
    const std::size_t colon = std::min(item.find(':'), item.size());
    const auto algorithm = AlgorithmOf(item.substr(0, colon));
    if (!algorithm) {
      return sim::Error{'"' + std::string(item.substr(0, colon)) +
                        "\" is no algorithm of a dimension; ring, one_way_ring or direct would do"};
    }
    sim::Dimension dimension{1, *algorithm};
    if (colon < item.size()) {
      const auto size = SizeOf(item.substr(colon + 1));
      if (!size) {
        return sim::Error{'"' + std::string(item) + "\": \"" + std::string(item.substr(colon + 1)) +
                          "\" is no size of a dimension; a whole number from 1 is wanted"};
      }
      dimension.size = *size;
      ++with_size;
    }
    dimensions.push_back(dimension);
    at = comma + 1;
  }
  if (with_size > 0 && with_size < dimensions.size()) {
    return sim::Error{'"' + std::string(text) +
                      "\": some dimensions have a size and others none; all or none is wanted"};
  }
  if (with_size == 0 && sizes.empty()) {
    return sim::Error{"the fabric is no torus and has no dimensions of its own; sizes are wanted, as " +
                      std::string("ring:8,ring:") + std::to_string(std::max(members / 8, 1u))};
  }
  if (with_size == 0) {
    std::vector<sim::Dimension> own;
    std::string wanted;
    for (const std::uint32_t size : sizes) {
      own.push_back({size, DimensionAlgorithm::kRing});
      wanted += wanted.empty() ? "ring" : ",ring";
    }
    if (sizes.size() != dimensions.size()) {
      return sim::Error{CountText(dimensions.size(), "algorithm") + " for " +
                        CountText(sizes.size(), "dimension") + ", " + ProductText(own) +
                        "; one for each is wanted, as " + wanted};
    }
    for (std::size_t d = 0; d < sizes.size(); ++d) dimensions[d].size = sizes[d];
  }
  std::uint64_t product = 1;  // at most members * 2^32
  for (const sim::Dimension& dimension : dimensions) {
    if (product <= members) product *= dimension.size;
  }
  if (product != members) {
    return sim::Error{ProductText(dimensions) + " places are not the " + std::to_string(members) +
                      " ranks; sizes that multiply to it are wanted"};
  }
  return dimensions;
}

std::string DimensionsText(std::span<const sim::Dimension> dimensions) {
  std::string text;
  for (const sim::Dimension& dimension : dimensions) {
    text += (text.empty() ? "" : ", ") + std::string(sim::ToText(dimension.algorithm)) + " of " +
            std::to_string(dimension.size);
  }
  return text;
}

}  // namespace scenarios
