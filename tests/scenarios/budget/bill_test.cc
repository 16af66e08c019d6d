#include "scenarios/budget/bill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hardware/device_reader.h"
#include "models/model_reader.h"
#include "models/training_state.h"
#include "scenarios/budget/budget.h"
#include "scenarios/budget/cost.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kDay = 86400;

BillRequest Of(std::int64_t working, double days, const char* device = "h800_sxm") {
  proto::Diagnostics diagnostics;
  BillRequest r{.device = hardware::ReadDevice(device, {}, "", &diagnostics).value(), .working = working};
  r.useful_s = days * kDay;
  r.step_s = 5;
  r.save = models::AdamWStateOf(6'740'000'000).master;
  r.usd_per_device_hour = 2;
  return r;
}

// The same with devices that never fail, which the chapters' hand calculations have.
BillRequest WithoutFailures(std::int64_t working, double days) {
  BillRequest r = Of(working, days);
  r.choices.device_hours = 1e12;
  return r;
}

Bill Make(const BillRequest& request) {
  const BillResult result = BillOfMaterials(request);
  EXPECT_THAT(result.errors, ElementsAre());
  return result.bill.value();
}

double Value(const Bill& bill, const char* section, const char* name) {
  EXPECT_TRUE(bill.line(section, name).known) << name;
  return bill.line(section, name).value;
}

constexpr const char* kOwned = "owned, for as long";

// 17.5.9: 256 H800 for 10 days are 122,880 USD at 2 an hour; of one's own 4,301 for their power at 0.1 a kWh
// and 58,447 of depreciation, 25,000 each over three years.
TEST(Bill, Of256H800ForTenDaysIsTheTextbooks) {
  const Bill bill = Make(WithoutFailures(256, 10));
  EXPECT_EQ(Value(bill, "devices", "nodes"), 32);
  EXPECT_NEAR(Value(bill, "rented", "cost"), 122'880, 1);
  EXPECT_NEAR(Value(bill, kOwned, "power of devices"), 4'301, 1);
  EXPECT_NEAR(Value(bill, kOwned, "devices"), 58'447, 1);
  // One switch of 64 ports a rail has room for 32 nodes.
  EXPECT_EQ(Value(bill, "network", "leaf switches"), 8);
  EXPECT_EQ(Value(bill, "network", "cables between switches"), 0);
}

// 17.9.3 as A19 corrects it: 2,048 nodes on 8 rails; a rail is 64 leaves of 32 nodes and 32 spines, 102.4
// TB/s of ports, and all rails have 409.6 TB/s between two halves. 300,000 USD a server are 614 million.
TEST(Bill, Of16384H800Has768Switches) {
  BillRequest request = WithoutFailures(16'384, 43);
  request.choices.years = 43.0 / 365;  // all of it is written off
  const Bill bill = Make(request);
  EXPECT_EQ(Value(bill, "devices", "nodes"), 2'048);
  EXPECT_EQ(Value(bill, "devices", "racks"), 512);
  EXPECT_EQ(Value(bill, "network", "NICs"), 16'384);
  EXPECT_EQ(Value(bill, "network", "rails"), 8);
  EXPECT_EQ(Value(bill, "network", "leaf switches"), 512);
  EXPECT_EQ(Value(bill, "network", "spine switches"), 256);
  EXPECT_EQ(Value(bill, "network", "cables to nodes"), 16'384);
  EXPECT_EQ(Value(bill, "network", "cables between switches"), 16'384);
  EXPECT_DOUBLE_EQ(Value(bill, "network", "bisection"), 409.6e12);
  EXPECT_NEAR(Value(bill, kOwned, "devices") + Value(bill, kOwned, "rest of the nodes"), 614.4e6, 1e5);
  EXPECT_NEAR(Value(bill, kOwned, "switches"), 768 * 50e3, 1e4);
  // 2,048 nodes of 10.2 kW are 20.9 MW, and 40 % more to cool them.
  EXPECT_NEAR(Value(bill, "power", "together"), 20.9 * 1.4, 0.1);
  EXPECT_NEAR(Value(bill, "power", "energy"), 20.9 * 1.4 * 24 * 43, 100);
}

// Spares of 5 % of 256 are 12.8 devices, two nodes more; they are bought and cabled, and not rented.
TEST(Bill, CountsSparesInWholeNodes) {
  BillRequest request = WithoutFailures(256, 10);
  request.margins.spares = 0.05;
  const Bill bill = Make(request);
  EXPECT_EQ(Value(bill, "devices", "spares"), 16);
  EXPECT_EQ(Value(bill, "devices", "all"), 272);
  EXPECT_EQ(Value(bill, "network", "cables to nodes"), 34 * 8);
  EXPECT_NEAR(Value(bill, "rented", "cost"), 122'880, 1);
  EXPECT_NEAR(Value(bill, kOwned, "devices"), 58'447.5 * 272 / 256, 1);
}

// Textbook 17.7.5: 6 TB within 47.6 s are 126 GB/s, four servers of 32 GB/s, and as many for each of three
// copies.
TEST(Bill, HasServersForTheRateOfASaveAndForWhatIsKept) {
  BillRequest request = WithoutFailures(1024, 10);
  request.save = sim::Bytes(6'000'000'000'000);
  request.choices.write_s = 47.6;
  EXPECT_EQ(Value(Make(request), "storage", "servers"), 12);
  EXPECT_EQ(Value(Make(request), "storage", "NVMe drives of servers"), 120);
  // 128 working nodes hold two saves of 6 TB for each other, 93.75 GB each, of 2 TiB.
  EXPECT_DOUBLE_EQ(Value(Make(request), "storage", "host memory for staging, a node"), 93.75e9);
  EXPECT_NEAR(Value(Make(request), "storage", "of the node's memory"), 100 * 93.75e9 / (2048 * 1.073741824e9),
              1e-9);
  // 10 PB of data set, and 30 TB of saves: 66 servers of 153.6 TB.
  request.dataset_bytes = 1e16;
  EXPECT_EQ(Value(Make(request), "storage", "servers"), 3 * 66);
  EXPECT_DOUBLE_EQ(Value(Make(request), "storage", "with replicas"), 3 * (1e16 + 5 * 6e12));
}

// The clock's causes are the closed form's, and what is owned is the sum of its lines.
TEST(Bill, AddsUp) {
  BillRequest request = Of(16'384, 43);
  request.margins.maintenance = 0.01;
  request.choices.usd_of_cable = 1000;
  const Bill bill = Make(request);
  EXPECT_NEAR(Value(bill, "time", "on the clock"), bill.clock.wall_s() / kDay, 1e-9);
  double days = 0, usd = 0;
  for (const BudgetLine& line : bill.lines) {
    if (line.section == "time" && line.unit == "days" && line.name != "on the clock") days += line.value;
    const bool part = line.section == kOwned && line.unit == "USD" && line.name != "together";
    if (part && line.name != "a device-hour") usd += line.value;
  }
  EXPECT_NEAR(days, Value(bill, "time", "on the clock"), 1e-9);
  EXPECT_NEAR(usd / Value(bill, kOwned, "together"), 1, 1e-12);
  EXPECT_GT(days, 43);
  // One failure in 3.09 hours (E18), none in maintenance: 7.68 a day, each four hours of hands: 215 a week,
  // six people.
  EXPECT_NEAR(Value(bill, "time", "failures") / days, 24 / 3.093 * 0.99, 0.01);
  EXPECT_THAT(bill.line(kOwned, "people").inputs, HasSubstr("6 at 200,000"));
}

// Rented as much of the time as breaks even costs what owning costs.
TEST(Bill, BreaksEvenWhereTheHoursCostTheSame) {
  const Bill bill = Make(WithoutFailures(256, 10));
  const double use = Value(bill, kOwned, "use that breaks even") / 100;
  EXPECT_NEAR(Value(bill, kOwned, "together") / (Value(bill, "rented", "cost") * use), 1, 1e-9);
  const Ownership all{.price = 0, .other_usd_per_day = Value(bill, kOwned, "together") / 2560};
  EXPECT_NEAR(use, BreakEvenUse(all, 2), 1e-6);  // but for the failures in a million years
}

// Nobody published the price of an H20: its lines say so, until it is given.
TEST(Bill, SaysWhatItDoesNotKnow) {
  BillRequest request = Of(64, 10, "h20");
  Bill bill = Make(request);
  EXPECT_FALSE(bill.line(kOwned, "devices").known);
  EXPECT_FALSE(bill.line(kOwned, "use that breaks even").known);
  EXPECT_FALSE(bill.line(kOwned, "cables and optics").known);
  request.choices.usd_of_device = 12'000;
  request.choices.usd_of_node = 80'000;
  bill = Make(request);
  EXPECT_TRUE(bill.line(kOwned, "devices").known);
  EXPECT_TRUE(bill.line(kOwned, "use that breaks even").known);
  request.device.node.nics = 0;
  EXPECT_FALSE(Make(request).line("network", "switches").known);
}

TEST(Bill, OfOneNodeHasNoSwitches) {
  const Bill bill = Make(Of(8, 10));
  EXPECT_EQ(Value(bill, "network", "leaf switches"), 0);
  EXPECT_EQ(Value(bill, "network", "cables to nodes"), 0);
  EXPECT_EQ(Value(bill, kOwned, "switches"), 0);
}

// 16 ports connect 1,024 nodes at most.
TEST(Bill, IsRefusedWithEveryReason) {
  BillRequest request = Of(10'000, 10);
  request.choices.switch_ports = 16;
  request.choices.device_hours = 1000;
  EXPECT_THAT(
      BillOfMaterials(request).errors,
      ElementsAre(
          "nodes: 1,250 are more than three levels of switches with 16 ports connect; 1,024 at most, or "
          "larger switches",
          HasSubstr("devices: 10,000 fail every 360 s")));
  request = Of(64, 10);
  request.choices.rails = 9;
  EXPECT_THAT(BillOfMaterials(request).errors,
              ElementsAre("rails: 9; a node of \"h800_sxm\" has 8 NICs, and no more rails are wanted"));
}

// Of a budget: its days, its devices, its save, and what it assumed comes first.
TEST(Bill, OfABudgetHasItsRun) {
  const BillRequest of = Of(8, 1);
  proto::Diagnostics diagnostics;
  const BudgetRequest request{.model = models::ReadModel("llama_7b", {}, "", &diagnostics).value(),
                              .device = of.device,
                              .tokens = 2e12,
                              .devices = 256,
                              .utilisation = 0.38,
                              .maintenance = 0.02};
  const Budget budget = MakeBudget(request).budget.value();
  std::vector<std::string> errors;
  const auto bill_request = BillRequestOf(request, {}, &errors);
  ASSERT_TRUE(bill_request);
  const Bill bill = Make(*bill_request);
  EXPECT_NEAR(Value(bill, "time", "training"), budget.line("time and cost", "time").value, 1e-9);
  EXPECT_EQ(Value(bill, "storage", "one save"), budget.line("checkpoints", "one save").value);
  EXPECT_EQ(Value(bill, "devices", "all"), budget.line("time and cost", "devices with spares").value);
  EXPECT_NEAR(bill.clock.maintenance_s / bill.clock.wall_s(), 0.02, 1e-12);
  EXPECT_EQ(bill.assumptions[0].name, budget.assumptions[0].name);
  BudgetRequest wrong = request;
  wrong.tensor = 3;
  EXPECT_FALSE(BillRequestOf(wrong, {}, &errors));
  EXPECT_THAT(errors, ElementsAre(HasSubstr("tensor: 3 does not divide")));
}

}  // namespace
}  // namespace scenarios
