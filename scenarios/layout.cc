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

std::vector<sim::Rank> Layout::Copies(sim::Rank rank) const {
  const std::int64_t by_data = Stride(*this, Dimension::kData),
                     by_context = Stride(*this, Dimension::kContext);
  const std::int64_t first = rank.value() - Coordinate(rank, Dimension::kData) * by_data -
                             Coordinate(rank, Dimension::kContext) * by_context;
  const bool context_first = by_context < by_data;
  const std::int64_t inner = context_first ? context : data;
  const std::int64_t inner_stride = context_first ? by_context : by_data;
  const std::int64_t outer_stride = context_first ? by_data : by_context;
  std::vector<sim::Rank> group;
  group.reserve(static_cast<std::size_t>(copies()));
  for (std::int64_t i = 0; i < copies(); ++i) {
    group.emplace_back(
        static_cast<std::uint32_t>(first + i / inner * outer_stride + i % inner * inner_stride));
  }
  return group;
}

std::int64_t Layout::CopyOf(sim::Rank rank) const {
  const std::int64_t of_data = Coordinate(rank, Dimension::kData);
  const std::int64_t of_context = Coordinate(rank, Dimension::kContext);
  const bool context_first = Stride(*this, Dimension::kContext) < Stride(*this, Dimension::kData);
  return context_first ? of_data * context + of_context : of_context * data + of_data;
}

std::vector<sim::Rank> Layout::UlyssesGroup(sim::Rank rank) const {
  const std::vector<sim::Rank> group = Group(rank, Dimension::kContext);
  const auto first = group.begin() + Coordinate(rank, Dimension::kContext) / ulysses * ulysses;
  return {first, first + ulysses};
}

std::vector<sim::Rank> Layout::RingGroup(sim::Rank rank) const {
  const std::vector<sim::Rank> group = Group(rank, Dimension::kContext);
  std::vector<sim::Rank> ring;
  for (std::int64_t i = Coordinate(rank, Dimension::kContext) % ulysses; i < context; i += ulysses) {
    ring.push_back(group[static_cast<std::size_t>(i)]);
  }
  return ring;
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
