#include "hardware/kernel_basis.h"

#include <algorithm>
#include <tuple>

#include "hardware/attention_model.h"
#include "hardware/tile_model.h"

namespace hardware {

namespace {

Basis BasisOf(const Figure* figure) { return figure == nullptr ? Basis::kAssumed : figure->basis; }

// Of a kernel that is (not) within what the figures were fitted to.
KernelBasis By(Basis figures, bool inside) {
  switch (figures) {
    case Basis::kMeasured:
      return inside ? KernelBasis::kFit : KernelBasis::kExtrapolation;
    case Basis::kPublished:
      return inside ? KernelBasis::kPublished : KernelBasis::kExtrapolation;
    case Basis::kDerived:
      return inside ? KernelBasis::kDerived : KernelBasis::kExtrapolation;
    case Basis::kAssumed:
      break;
  }
  return KernelBasis::kAssumed;
}

bool IsInside(const GemmModel& model, const sim::GemmShape& shape) {
  if (shape.batch > 1) return false;
  const GemmModel::Range &from = model.fitted_from, &to = model.fitted_to;
  if (to.m == 0) return true;
  return shape.m >= from.m && shape.m <= to.m && shape.n >= from.n && shape.n <= to.n && shape.k >= from.k &&
         shape.k <= to.k;
}

KernelBasis OfProduct(const Device& device, const sim::Kernel& kernel) {
  if (const MeasuredProduct* measured = FindMeasured(device, kernel)) {
    const Basis basis = BasisOf(FindFigure(device, "measured_gemm", measured->place));
    return basis == Basis::kMeasured ? KernelBasis::kMeasurement : By(basis, true);
  }
  const GemmModel& model = device.gemm[static_cast<std::size_t>(kernel.format)];
  return By(BasisOf(FindFigure(device, "gemm", model.place)), IsInside(model, kernel.gemm));
}

KernelBasis OfAttention(const Device& device, const sim::Kernel& kernel) {
  const sim::AttentionShape& shape = kernel.attention;
  const auto around = ModelsAround(shape.paged ? device.paged_attention : device.attention, shape,
                                   kernel.kind == sim::KernelKind::kAttentionBackward);
  const char* list = shape.paged ? "paged_attention" : "attention";
  const auto of = [&](const AttentionModel& model, bool inside) {
    return By(BasisOf(FindFigure(device, list, model.place)), inside);
  };
  if (around.below == nullptr) return of(*around.above, false);
  if (around.above == nullptr) return of(*around.below, false);
  return std::max(of(*around.below, true), of(*around.above, true));
}

}  // namespace

const char* ToText(KernelBasis basis) {
  switch (basis) {
    case KernelBasis::kMeasurement:
      return "measurement";
    case KernelBasis::kFit:
      return "fit";
    case KernelBasis::kPublished:
      return "published";
    case KernelBasis::kDerived:
      return "derived";
    case KernelBasis::kExtrapolation:
      return "extrapolation";
    case KernelBasis::kAssumed:
      return "assumed";
  }
  return "";
}

KernelBasis BasisOf(const Device& device, const sim::Kernel& kernel) {
  switch (kernel.kind) {
    case sim::KernelKind::kGemm:
      return OfProduct(device, kernel);
    case sim::KernelKind::kAttentionForward:
    case sim::KernelKind::kAttentionBackward:
      return OfAttention(device, kernel);
    case sim::KernelKind::kMemory:
      break;
  }
  return By(BasisOf(FindFigure(device, "memory_bound")), true);
}

const MeasuredProduct* FindMeasured(const Device& device, const sim::Kernel& kernel) {
  const std::vector<MeasuredProduct>& all = device.measured_products;
  if (all.empty() || kernel.kind != sim::KernelKind::kGemm || kernel.gemm.batch != 1) return nullptr;
  if (WorkOf(kernel).more_bytes > 0) return nullptr;
  const auto key = std::tuple(kernel.format, kernel.gemm.m, kernel.gemm.n, kernel.gemm.k);
  const auto at = std::lower_bound(all.begin(), all.end(), key, [](const MeasuredProduct& p, const auto& k) {
    return std::tuple(p.format, p.m, p.n, p.k) < k;
  });
  if (at == all.end() || std::tuple(at->format, at->m, at->n, at->k) != key) return nullptr;
  return &*at;
}

}  // namespace hardware
