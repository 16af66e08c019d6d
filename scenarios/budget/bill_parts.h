// A bill with everything chosen, and the writers of its sections. Internal to this folder.

#ifndef SCENARIOS_BUDGET_BILL_PARTS_H_
#define SCENARIOS_BUDGET_BILL_PARTS_H_

#include "scenarios/budget/bill.h"
#include "scenarios/budget/network_sizing.h"

namespace scenarios {

// A storage server: ten NVMe drives, with what its network and software leave of them.
// Source: textbook, tables 17-85 and 17-87 and 17.7.5; An et al., "Fire-Flyer AI-HPC", 2024, for the drive's
// size.
inline constexpr std::int64_t kDrivesOfServer = 10;
inline constexpr double kDriveBytes = 15.36e12, kServerWrite = 40e9, kServerRead = 50e9, kServerShare = 0.8;

// What the bill is computed from, in USD, seconds, watts.
struct BillChoice {
  const BillRequest& r;
  std::int64_t bought = 0, nodes = 0;  // devices and nodes, with spares
  std::int64_t rails = 0, ports = 0;
  std::int64_t saves_kept = 0, replicas = 1;
  double write_s = 0, restart_s = 0;
  std::optional<RailNetwork> network;  // none: one node, or NICs that are not known
  std::int64_t servers = 0;            // of storage
  double stored = 0;                   // bytes, every copy
  double host_watts = 0, cooling = 0;
  std::optional<double> usd_of_device, usd_of_node;
  double usd_of_switch = 0, usd_per_gb_month = 0, usd_per_kwh = 0, years = 0;
  double hours_of_failure = 0, usd_of_person_year = 0;
  double watts() const;  // of devices and nodes
};

// "25,000", "0.03".
std::string PriceText(double usd);

// "devices", "network", "storage", "power".
void AddMaterials(const BillChoice& c, Bill* bill);
// "time", "people", "rented", "owned".
void AddTimeAndMoney(const BillChoice& c, Bill* bill);

}  // namespace scenarios

#endif  // SCENARIOS_BUDGET_BILL_PARTS_H_
