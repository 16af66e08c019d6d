// What a device costs to rent, where somebody published it: the middle of the range.
//
// Source: textbook, table 17-65, reserved (2025); H100 and H200: Mercatus, specialised clouds, May 2026.

#ifndef SCENARIOS_BUDGET_PRICES_H_
#define SCENARIOS_BUDGET_PRICES_H_

#include <string_view>

namespace scenarios {

struct RentedPrice {
  std::string_view device;  // of the catalogue
  double usd_per_hour = 0;
  const char* source = "";
};

inline constexpr RentedPrice kRentedPrices[] = {
    {"h800_sxm", 2.0, "USD an hour of a device: textbook table 17-65, H800 reserved"},
    {"h20", 0.8, "USD an hour of a device: textbook table 17-65, H20 reserved, 0.6 to 1.0"},
    {"a100_80_sxm", 1.4, "USD an hour of a device: textbook table 17-65, A100 reserved, 1.0 to 1.8"},
    {"a100_40_sxm", 1.15, "USD an hour of a device: textbook table 17-65, A100 40 GB reserved, 0.8 to 1.5"},
    {"h100_sxm", 3.0, "USD an hour of a device: specialised clouds, May 2026, 2.50 to 3.50"},
    {"h200_sxm", 4.0, "USD an hour of a device: specialised clouds, May 2026, 3.50 to 4.50"},
};

// Nothing where none is known.
constexpr const RentedPrice* RentedPriceOf(std::string_view device) {
  for (const RentedPrice& price : kRentedPrices) {
    if (price.device == device) return &price;
  }
  return nullptr;
}

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_PRICES_H_
