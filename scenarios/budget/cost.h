// Money: rented, and owned. See scenarios/scaling.h for device-hours and their price.
//
// Source: textbook, 17.5.9, tables 17-65 to 17-67; 17.8.11.

#ifndef SCENARIOS_BUDGET_COST_H_
#define SCENARIOS_BUDGET_COST_H_

namespace scenarios {

// One device that is owned. Prices in US dollars.
struct Ownership {
  double price = 0;  // of the device and its part of the node
  double years = 3;  // of depreciation, in a straight line
  double watts = 0;  // drawn
  double usd_per_kwh = 0.1;
  double cooling = 0;            // power for cooling, as a part of the device's
  double other_usd_per_day = 0;  // network, storage, people
};

constexpr double PowerUsdPerDay(const Ownership& o) {
  return o.watts * 1e-3 * 24 * o.usd_per_kwh * (1 + o.cooling);
}
constexpr double DepreciationUsdPerDay(const Ownership& o) { return o.price / (o.years * 365); }
constexpr double OwnedUsdPerDay(const Ownership& o) {
  return PowerUsdPerDay(o) + DepreciationUsdPerDay(o) + o.other_usd_per_day;
}

// The part of the time that a device must be busy for owning to cost no more than renting what is needed.
constexpr double BreakEvenUse(const Ownership& o, double usd_per_device_hour) {
  return OwnedUsdPerDay(o) / (24 * usd_per_device_hour);
}

// How often the cheaper thing can be bought for the dearer: fine-tunes for a training run.
constexpr double TimesAffordable(double dearer_usd, double cheaper_usd) { return dearer_usd / cheaper_usd; }

// Dollars for a million tokens at a rate of all devices together.
constexpr double UsdPerMillionTokens(double devices, double usd_per_device_hour, double tokens_per_s) {
  return devices * usd_per_device_hour / (tokens_per_s * 3600) * 1e6;
}

// Tokens a day, in millions, from which on devices that cost the same whether used or not are cheaper than a
// price a million tokens; `own_usd_per_million` grows with use on the owner's side.
// REQUIRES: usd_per_million > own_usd_per_million
constexpr double BreakEvenMillionsADay(double devices, double usd_per_device_hour, double usd_per_million,
                                       double own_usd_per_million = 0) {
  return devices * usd_per_device_hour * 24 / (usd_per_million - own_usd_per_million);
}

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_COST_H_
