#include "scenarios/budget/bill.h"

#include <algorithm>
#include <cmath>

#include "scenarios/budget/bill_parts.h"
#include "scenarios/budget/budget.h"
#include "scenarios/budget/data_storage.h"
#include "scenarios/budget/plan_request.h"
#include "scenarios/budget/section.h"
#include "scenarios/budget/training_time.h"
#include "scenarios/checkpoint_forms.h"
#include "sim/base/check.h"

namespace scenarios {
namespace {

// A price that the textbook has for one device alone.
std::optional<double> PriceOf(const char* name, const std::optional<double>& given, double of_h800,
                              const char* source, BillChoice* c, Bill* bill) {
  if (given) bill->assumptions.push_back({name, PriceText(*given), "given"});
  if (given || c->r.device.name != "h800_sxm") return given;
  bill->assumptions.push_back({name, PriceText(of_h800), source});
  return of_h800;
}

void ChooseMaterials(Chooser* choose, BillChoice* c) {
  const BillRequest& r = c->r;
  const BillChoices& given = r.choices;
  const std::int64_t nics = r.device.node.nics;
  c->rails = (*choose)("rails", given.rails, nics, "one a NIC of the node", Grouped);
  c->ports = (*choose)("switch_ports", given.switch_ports, std::int64_t{64},
                       "of an NDR switch: NVIDIA DGX SuperPOD reference architecture", Grouped);
  c->saves_kept =
      (*choose)("saves_kept", given.saves_kept, std::int64_t{5}, "the last ones; assumed", Grouped);
  c->replicas = (*choose)("replicas", given.replicas, std::int64_t{3}, "textbook 17.7.5", Grouped);
  c->write_s = (*choose)("write_seconds", given.write_s, 60.0, "of a save, beside training; assumed", Short);
  c->restart_s = (*choose)("restart_seconds", given.restart_s, 600.0,
                           "detection, another node, start of processes: assumed; ten minutes are what a "
                           "collective's time-out takes by default in PyTorch",
                           Short);
  c->host_watts = 575.0 * r.device.node.devices;
  const char* host = "a device: NVIDIA DGX H100 data sheet, 10.2 kW at most less eight of 700 W";
  (*choose)("host_watts", std::optional<double>(), 575.0, host, Short);
  c->cooling =
      (*choose)("cooling", given.cooling, 0.4, "of the power: textbook table 17-67, 30 to 50 %", Short);
}

void ChoosePrices(Chooser* choose, BillChoice* c, Bill* bill) {
  const BillChoices& given = c->r.choices;
  c->usd_of_device = PriceOf("device_usd", given.usd_of_device, 25'000, "textbook 17.5.9, an H800", c, bill);
  c->usd_of_node = PriceOf("node_usd", given.usd_of_node, 100'000,
                           "textbook 17.9.3: 300,000 for a server of H800, less eight of 25,000", c, bill);
  c->usd_of_switch = (*choose)("switch_usd", given.usd_of_switch, 50'000.0,
                               "textbook table 17-67: 50,000 or more", PriceText);
  c->usd_per_gb_month = (*choose)("gb_month_usd", given.usd_per_gb_month, 0.03,
                                  "textbook table 17-67: 0.01 to 0.05 of one's own", PriceText);
  c->usd_per_kwh = (*choose)("kwh_usd", given.usd_per_kwh, 0.1, "textbook table 17-67", PriceText);
  c->years =
      (*choose)("years", given.years, 3.0, "of depreciation in a straight line: textbook 17.5.9", Short);
  c->hours_of_failure = (*choose)("failure_hours", given.hours_of_failure, 4.0,
                                  "of hands a failure: assumed, nobody published it", Short);
  c->usd_of_person_year = (*choose)("person_usd", given.usd_of_person_year, 200'000.0,
                                    "a year: assumed, nobody published it", PriceText);
}

// Servers for the rate at which a save is written, and for all that is kept; the more of both.
void SizeStorage(BillChoice* c) {
  const double save = static_cast<double>(c->r.save.count());
  const double once = save * static_cast<double>(c->saves_kept) + c->r.dataset_bytes;
  c->stored = once * static_cast<double>(c->replicas);
  c->servers = std::max(StorageServers(WriteRate(save, c->write_s), kServerWrite * kServerShare, c->replicas),
                        StorageServers(once, kDriveBytes * kDrivesOfServer, c->replicas));
}

void SizeNetwork(BillChoice* c, std::vector<std::string>* errors) {
  if (c->ports <= 2 || c->ports % 2 != 0) {
    errors->push_back("switch_ports: " + Grouped(c->ports) + "; an even number above 2 is wanted");
  } else if (c->rails < 0 || c->rails > std::max(c->r.device.node.nics, std::int32_t{0})) {
    errors->push_back("rails: " + Grouped(c->rails) + "; a node of \"" + c->r.device.name + "\" has " +
                      Grouped(c->r.device.node.nics) + " NICs, and no more rails are wanted");
  } else if (c->nodes > 1 && c->rails > 0) {
    const sim::Wide most = sim::Wide{c->ports} * c->ports * c->ports / 4;
    if (c->nodes > most) {
      errors->push_back("nodes: " + Grouped(c->nodes) + " are more than three levels of switches with " +
                        Grouped(c->ports) + " ports connect; " + Grouped(static_cast<std::int64_t>(most)) +
                        " at most, or larger switches");
      return;
    }
    c->network = SizeRails(c->nodes, c->rails, c->ports, c->r.device.nic.wire.bytes_per_second());
  }
}

// Saves stall for the copy to the hosts. A restart reads one from the servers.
InterruptedRun RunOf(const BillChoice& c, Chooser* choose) {
  const BillRequest& r = c.r;
  const double save = static_cast<double>(r.save.count());
  const double share = save / static_cast<double>(r.working);
  InterruptedRun run{.useful_s = r.useful_s, .step_s = r.step_s, .devices = r.working};
  run.device_hours = (*choose)("device_hours", r.choices.device_hours, kDeviceHoursBetweenFailures,
                               "between failures of one: Llama 3, 419 in 54 days of 16,384",
                               [](double hours) { return Grouped(std::llround(hours)); });
  run.stall_s = share / r.device.pcie.achieved.bytes_per_second();
  run.write_s = c.write_s;
  run.every_steps = r.choices.every_steps;
  run.restart_s = c.restart_s + save / (static_cast<double>(c.servers) * kServerRead * kServerShare);
  run.maintenance = r.margins.maintenance;
  return run;
}

}  // namespace

std::string PriceText(double usd) {
  const bool whole = usd < 1e15 && usd == std::floor(usd);
  return whole ? Grouped(static_cast<std::int64_t>(usd)) : Short(usd);
}

double BillChoice::watts() const {
  return static_cast<double>(bought) * r.device.tdp_watts + static_cast<double>(nodes) * host_watts;
}

BillResult BillOfMaterials(const BillRequest& request) {
  CHECK(request.working > 0 && request.save > sim::Bytes() && request.device.node.devices > 0);
  BillResult result;
  Bill bill{.device = request.device.name, .working = request.working, .assumptions = request.assumptions};
  Chooser choose(&bill.assumptions);
  BillChoice c{.r = request};
  c.bought = WithSpares(request.working, request.margins.spares, request.device.node.devices);
  c.nodes = c.bought / request.device.node.devices;
  ChooseMaterials(&choose, &c);
  ChoosePrices(&choose, &c, &bill);
  SizeStorage(&c);
  SizeNetwork(&c, &result.errors);
  const sim::Result<WallClock> clock = WallClockOf(RunOf(c, &choose));
  if (!clock.ok()) result.errors.push_back(clock.error().message);
  if (!result.errors.empty()) return result;
  bill.clock = clock.value();
  AddMaterials(c, &bill);
  AddTimeAndMoney(c, &bill);
  result.bill = std::move(bill);
  return result;
}

std::optional<BillRequest> BillRequestOf(const BudgetRequest& request, const BillChoices& choices,
                                         std::vector<std::string>* errors) {
  const Chosen c = Choose(request, errors);
  if (!errors->empty()) return std::nullopt;
  BillRequest bill{.device = c.device, .working = c.devices};
  const auto devices = static_cast<double>(c.devices);
  const double step_tokens = static_cast<double>(sim::Wide{c.global_batch} * c.sequence_length);
  bill.useful_s = TrainingSeconds(c.flops(), devices, c.peak, c.utilisation);
  bill.step_s = TrainingSeconds(c.flops_of_token() * step_tokens, devices, c.peak, c.utilisation);
  bill.save = SaveBytes(c.saved());
  bill.dataset_bytes = DatasetBytes(c.tokens, static_cast<double>(TokenIdWidth(c.model.vocabulary)), 1);
  bill.assumptions = c.assumptions;
  bill.choices = choices;
  bill.margins = c.margins;
  bill.usd_per_device_hour = c.usd_per_device_hour;
  return bill;
}

}  // namespace scenarios
