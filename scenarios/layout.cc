#include "scenarios/layout.h"

#include "sim/base/check.h"

namespace scenarios {

namespace {

// How many ranks apart two neighbours along `d` are.
std::int64_t Stride(const Layout& layout, Dimension d) {
  std::int64_t stride = 1;
  for (const Dimension faster : layout.order) {
    if (faster == d) return stride;
    stride *= layout.extent(faster);
  }
  CHECK(false);  // the order names all four
  return 0;
}

}  // namespace

std::int64_t Layout::extent(Dimension d) const {
  switch (d) {
    case Dimension::kTensor:
      return tensor;
    case Dimension::kContext:
      return context;
    case Dimension::kData:
      return data;
    case Dimension::kPipeline:
      return pipeline;
  }
  return 0;
}

std::int64_t Layout::Coordinate(sim::Rank rank, Dimension d) const {
  CHECK(rank.value() < ranks());
  return rank.value() / Stride(*this, d) % extent(d);
}

std::vector<sim::Rank> Layout::AllRanks() const {
  std::vector<sim::Rank> all;
  for (std::int64_t r = 0; r < ranks(); ++r) all.emplace_back(static_cast<std::uint32_t>(r));
  return all;
}

std::vector<sim::Rank> Layout::Group(sim::Rank rank, Dimension d) const {
  const std::int64_t stride = Stride(*this, d);
  const std::int64_t first = rank.value() - Coordinate(rank, d) * stride;
  std::vector<sim::Rank> group;
  group.reserve(static_cast<std::size_t>(extent(d)));
  for (std::int64_t i = 0; i < extent(d); ++i)
    group.emplace_back(static_cast<std::uint32_t>(first + i * stride));
  return group;
}

std::vector<sim::Rank> Layout::Group(sim::Rank rank, ExpertDimension d) const {
  const std::int64_t model = expert_tensor * expert, column = ColumnOf(rank);
  std::int64_t first = column, step = 1, count = 1;
  switch (d) {
    case ExpertDimension::kExpertTensor:
      first = column - column % expert_tensor;
      count = expert_tensor;
      break;
    case ExpertDimension::kExpert:
      first = column - column % model + column % expert_tensor;
      step = expert_tensor;
      count = expert;
      break;
    case ExpertDimension::kExpertData:
      first = column % model;
      step = model;
      count = expert_data();
      break;
    case ExpertDimension::kExpertModel:
      first = column - column % model;
      count = model;
      break;
  }
  // A column and a stage name a rank, whichever dimensions are faster than the pipeline.
  const std::int64_t stride = Stride(*this, Dimension::kPipeline);
  const std::int64_t stage = Coordinate(rank, Dimension::kPipeline);
  std::vector<sim::Rank> group;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = first + i * step;
    group.emplace_back(static_cast<std::uint32_t>((at / stride * pipeline + stage) * stride + at % stride));
  }
  return group;
}

std::int64_t Layout::ColumnOf(sim::Rank rank) const {
  const std::int64_t stride = Stride(*this, Dimension::kPipeline);
  return rank.value() / (stride * pipeline) * stride + rank.value() % stride;
}

}  // namespace scenarios
