#include "hardware/device_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "hardware/catalogue.h"
#include "tests/hardware/catalogue_device.h"

namespace hardware {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> ErrorsOf(const std::string& name, const std::vector<proto::Override>& overrides = {},
                                  const std::string& folder = "") {
  proto::Diagnostics diagnostics;
  const bool read = ReadDevice(name, overrides, folder, &diagnostics).has_value();
  EXPECT_EQ(read, diagnostics.ok());
  return diagnostics.errors();
}

std::string TextOf(const std::string& name) {
  for (const proto::CatalogueFile& file : Catalogue()) {
    if (file.name == name) return std::string(file.text);
  }
  ADD_FAILURE() << name;
  return "";
}

std::vector<std::string> ErrorsOfText(const std::string& text) {
  const std::string path = testing::TempDir() + "/device_of_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".textproto";
  std::ofstream(path) << text;
  return ErrorsOf(path);
}

// `text` with one piece replaced.
std::string With(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

// One mistake each of a name, a range, and two fields together.
TEST(ReadDevice, AnUnknownFieldHidesNoOtherMistake) {
  std::string text = With(TextOf("h100_sxm"), "\nsms: 132", "\nsms: -132");
  text = With(text, "\nsms:", "\nsmss: 1\nsms:");
  text = With(text, "usable_gib: 79.18", "usable_gib: 99");
  EXPECT_THAT(ErrorsOfText(text), ElementsAre(HasSubstr("smss: unknown field; did you mean sms?"),
                                              HasSubstr("sms: -132 is out of range"),
                                              HasSubstr("memory.usable_gib: 99 is more than capacity_gib")));
}

// One line each: not also that it is missing, or that other fields do not agree with it.
TEST(ReadDevice, ARefusedFieldIsOneMistake) {
  const std::string text = TextOf("h100_sxm");
  for (const auto& [from, to] :
       {std::pair("\nsms: 132", "\nsms: many"), std::pair("format: BF16", "format: BF17"),
        std::pair("protocol: LL128", "protocol: LL127")}) {
    const std::vector<std::string> errors = ErrorsOfText(With(text, from, to));
    EXPECT_EQ(errors.size(), 1u) << to << testing::PrintToString(errors);
  }
}

TEST(Catalogue, EveryDeviceIsLegalAndNamedAfterItsFile) {
  proto::Diagnostics diagnostics;
  const std::vector<Device> devices = ReadCatalogue(&diagnostics);
  EXPECT_THAT(diagnostics.errors(), IsEmpty());
  ASSERT_EQ(devices.size(), Catalogue().size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    EXPECT_EQ(devices[i].name, Catalogue()[i].name);
    EXPECT_TRUE(names.insert(devices[i].name).second);
    for (const std::string& alias : devices[i].aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
  for (const char* name :
       {"a100_40_sxm", "a100_80_sxm", "a800_80_sxm", "b200_sxm", "b300_sxm", "gb200_nvl72", "gb300_nvl72",
        "h100_96_sxm", "h100_sxm", "h20", "h200_sxm", "h800_sxm", "l40s", "rtx4090", "v100_32_sxm"}) {
    EXPECT_EQ(names.count(name), 1u) << name;
  }
}

TEST(Catalogue, EveryFigureHasASourceAndABasis) {
  proto::Diagnostics diagnostics;
  for (const Device& device : ReadCatalogue(&diagnostics)) {
    EXPECT_GE(device.figures.size(), 19u);
    std::set<std::string> keys;
    for (const Figure& figure : device.figures) {
      EXPECT_FALSE(figure.source.empty()) << device.name << " " << figure.key;
      EXPECT_FALSE(figure.value.empty()) << device.name << " " << figure.key;
      EXPECT_TRUE(keys.insert(figure.key).second) << device.name << " " << figure.key;
    }
  }
  // What nobody measured says so.
  for (const Figure& figure : ReadOrFail("h20").figures) {
    if (figure.key.rfind("gemm", 0) == 0) {
      EXPECT_GE(figure.basis, Basis::kDerived) << figure.key;
    }
    if (figure.key == "memory") {
      EXPECT_EQ(figure.value, "capacity_gib: 96 usable_gib: 95 bandwidth_gb_per_s: 4000");
      EXPECT_EQ(figure.basis, Basis::kPublished);
    }
  }
}

// NVIDIA's data sheets, dense; the sheets print sparse figures, and NVLink both ways.
TEST(Catalogue, HasThePeaksOfTheDataSheets) {
  const Device h100 = ReadOrFail("h100_sxm");
  EXPECT_EQ(PeakFlopsPerSecond(h100, sim::NumberFormat::kBf16), 989.4e12);
  EXPECT_EQ(PeakFlopsPerSecond(h100, sim::NumberFormat::kFp8), 1978.9e12);
  EXPECT_EQ(h100.nvlink.wire, sim::ByteRate::GigabytesPerSecond(900.0 / 2));
  EXPECT_EQ(h100.memory_rate, sim::ByteRate::GigabytesPerSecond(3350));
  EXPECT_EQ(h100.memory, sim::Bytes(std::int64_t{80} << 30));
  EXPECT_LT(h100.usable_memory, h100.memory);
  EXPECT_EQ(h100.node.devices, 8);
  EXPECT_EQ(h100.node.nics, 8);
  EXPECT_EQ(h100.nic.wire, sim::ByteRate::GigabytesPerSecond(400.0 / 8));
  EXPECT_EQ(h100.node.nic, sim::ByteRate::GigabytesPerSecond(48));  // what rings achieve
  EXPECT_EQ(PeakFlopsPerSecond(ReadOrFail("a100_80_sxm"), sim::NumberFormat::kBf16), 312e12);
  EXPECT_EQ(PeakFlopsPerSecond(ReadOrFail("h20"), sim::NumberFormat::kBf16), 148e12);
  EXPECT_EQ(PeakFlopsPerSecond(ReadOrFail("b200_sxm"), sim::NumberFormat::kBf16), 2250e12);
  EXPECT_EQ(ReadOrFail("h800_sxm").nvlink.wire, sim::ByteRate::GigabytesPerSecond(400.0 / 2));
  EXPECT_EQ(ReadOrFail("a800_80_sxm").nvlink.wire, sim::ByteRate::GigabytesPerSecond(400.0 / 2));
}

// What the sheets of V100, GB200, L40S and RTX 4090 have that the others have not.
TEST(Catalogue, HasDevicesUnlikeTheUsualNodeOfEight) {
  const Device v100 = ReadOrFail("V100");
  EXPECT_EQ(PeakFlopsPerSecond(v100, sim::NumberFormat::kFp16), 125e12);
  for (const auto format : {sim::NumberFormat::kBf16, sim::NumberFormat::kTf32, sim::NumberFormat::kFp8}) {
    EXPECT_FALSE(SupportsFormat(v100, format));
  }
  EXPECT_EQ(AttentionKinds(v100), std::vector{sim::AttentionKind::kUnfused});
  EXPECT_EQ(v100.nvlink.wire, sim::ByteRate::GigabytesPerSecond(300.0 / 2));
  // The rack: 130 TB/s of NVLink both ways, 720 PFLOP/s of FP8 with sparsity, 13.4 TB.
  const Device gb200 = ReadOrFail("GB200");
  EXPECT_EQ(gb200.node.devices, 72);
  EXPECT_EQ(gb200.node.nics, 72);
  EXPECT_NEAR(72 * 2 * gb200.nvlink.wire.bytes_per_second(), 130e12, 1e12);
  EXPECT_EQ(72 * 2 * PeakFlopsPerSecond(gb200, sim::NumberFormat::kFp8), 720e15);
  EXPECT_GT(gb200.pcie.wire, ReadOrFail("b200_sxm").pcie.wire);  // NVLink-C2C
  for (const char* name : {"l40s", "rtx4090"}) {
    const Device device = ReadOrFail(name);
    EXPECT_EQ(device.node.nvlink, sim::ByteRate()) << name;
    EXPECT_EQ(device.capability, 89) << name;
    // Without NVLink NCCL leaves LL128 off: it is never faster than Simple.
    const auto& timing = device.collective_timing;
    EXPECT_EQ(timing[static_cast<std::size_t>(Protocol::kLl128)].base,
              timing[static_cast<std::size_t>(Protocol::kSimple)].base);
  }
  // GeForce cards add FP16 products in FP32 at half rate: 165, not 330.
  EXPECT_EQ(PeakFlopsPerSecond(ReadOrFail("RTX 4090"), sim::NumberFormat::kFp16), 165.2e12);
}

const CollectiveTiming& TimingOf(const Device& device, sim::Algorithm algorithm, Protocol protocol) {
  for (const CollectiveTiming& timing : device.collective_timing) {
    if (timing.algorithm == algorithm && timing.protocol == protocol) return timing;
  }
  ADD_FAILURE() << device.name << " has no " << ToText(algorithm) << ' ' << ToText(protocol);
  return device.collective_timing.front();
}

// NCCL 2.30, src/graph/tuning.cc, where a file has no figures of its own.
TEST(Catalogue, HasTheLatenciesOfNcclForWhatWasNotMeasured) {
  using sim::Algorithm;
  const Device h100 = ReadOrFail("h100_sxm"), a100 = ReadOrFail("a100_80_sxm");
  const CollectiveTiming& tree = TimingOf(h100, Algorithm::kTree, Protocol::kSimple);
  EXPECT_EQ(tree.base, sim::Duration::Nanoseconds(8400));
  EXPECT_EQ(tree.step_inside, sim::Duration::Nanoseconds(4000));
  // Of a step between nodes routes have the way through PCIe and NICs: 4 hops and 2.
  const sim::Duration way = 4 * h100.node.pcie_latency + 2 * h100.node.nic_latency;
  EXPECT_EQ(tree.step_between + way, sim::Duration::Nanoseconds(14000));
  EXPECT_EQ(TimingOf(h100, Algorithm::kNvlsTree, Protocol::kSimple).step_between + way,
            sim::Duration::Nanoseconds(14000));
  const CollectiveTiming& ll128 = TimingOf(h100, Algorithm::kRing, Protocol::kLl128);
  EXPECT_EQ(ll128.wire_numerator * 120, ll128.wire_denominator * 128);
  EXPECT_EQ(ll128.step_between + way, sim::Duration::Nanoseconds(4000));
  EXPECT_EQ(TimingOf(a100, Algorithm::kRing, Protocol::kLl).wire_numerator, 2);
  // AMD hosts: two microseconds of network overhead, three times for Simple.
  EXPECT_EQ(TimingOf(a100, Algorithm::kRing, Protocol::kSimple).step_inside_multi_node,
            sim::Duration::Microseconds(6));
}

TEST(Catalogue, CountsLinksAsNcclDoes) {
  EXPECT_EQ(ReadOrFail("h100_sxm").nccl.nvlinks, 18);
  EXPECT_EQ(ReadOrFail("h800_sxm").nccl.nvlinks, 8);
  EXPECT_EQ(ReadOrFail("a100_80_sxm").nccl.nvlinks, 12);
  EXPECT_EQ(ReadOrFail("b200_sxm").nccl.nvlinks, 18);
  EXPECT_EQ(ReadOrFail("l40s").nccl.nvlinks, 0);
  EXPECT_FALSE(ReadOrFail("v100_32_sxm").nccl.nvswitch);  // a mesh
  EXPECT_TRUE(ReadOrFail("h100_sxm").nccl.cpu == sim::CpuVendor::kIntel);
  EXPECT_TRUE(ReadOrFail("a100_80_sxm").nccl.cpu == sim::CpuVendor::kAmd);
}

// HB-211
TEST(DeviceNames, AreExactOrListedAliases) {
  EXPECT_EQ(ReadOrFail("A100").name, "a100_80_sxm");
  EXPECT_EQ(ReadOrFail("h100").name, "h100_sxm");
  EXPECT_EQ(ReadOrFail("NVIDIA H100 80GB HBM3").name, "h100_sxm");
  for (const char* name : {"NVIDIA B300 SXM6 AC", "GB400", "A10", "RTX A6000", "H200 NVL", "H1OO", "H100 ",
                           "H10", "nvidia h100 80gb hbm3", ""}) {
    EXPECT_THAT(ErrorsOf(name), ElementsAre(HasSubstr("unknown device \"" + std::string(name) + "\"")))
        << name;
  }
}

// HB-211
TEST(DeviceNames, ThatAreUnknownAreAnsweredWithTheNearest) {
  EXPECT_THAT(ErrorsOf("H1OO"), ElementsAre(AllOf(HasSubstr("did you mean"), HasSubstr("\"H100\""))));
  EXPECT_THAT(ErrorsOf("A10"), ElementsAre(HasSubstr("\"A100\"")));
  EXPECT_THAT(ErrorsOf("A10"), ElementsAre(HasSubstr("a100_40_sxm, a100_80_sxm, a800_80_sxm, b200_sxm")));
}

TEST(DeviceFiles, BesideTheScenarioWinOverTheCatalogue) {
  const std::string folder = testing::TempDir() + "/beside";
  std::filesystem::create_directories(folder);
  std::string text = TextOf("h100_sxm");
  text.replace(text.find("sms: 132"), 8, "sms: 131");
  std::ofstream(folder + "/h100_sxm.textproto") << text;
  proto::Diagnostics diagnostics;
  EXPECT_EQ(ReadDevice("h100_sxm", {}, folder, &diagnostics)->sms, 131);
  EXPECT_EQ(ReadDevice("h100_sxm.textproto", {}, folder, &diagnostics)->sms, 131);
  EXPECT_EQ(ReadDevice(folder + "/h100_sxm.textproto", {}, "", &diagnostics)->sms, 131);
  EXPECT_EQ(ReadDevice("h100_sxm", {}, "", &diagnostics)->sms, 132);
  EXPECT_THAT(diagnostics.errors(), IsEmpty());
  EXPECT_THAT(ErrorsOf("./no_such_device.textproto"), testing::SizeIs(1));
}

TEST(DeviceOverrides, ReachEveryField) {
  const Device device = ReadOrFail(
      "h100_sxm", {{1, "node.nics", "4"}, {2, "memory.usable_gib", "70"}, {3, "peaks[0].tflops", "900"}});
  EXPECT_EQ(device.node.nics, 4);
  EXPECT_EQ(device.usable_memory, sim::Bytes(std::int64_t{70} << 30));
  EXPECT_EQ(PeakFlopsPerSecond(device, sim::NumberFormat::kBf16), 900e12);
}

TEST(DeviceErrors, AreAllReportedInOneRunEachAtItsPlace) {
  const std::vector<std::string> errors =
      ErrorsOf("h100_sxm", {{1, "memory.bandwidth_gb_per_s", "0"},
                            {2, "node.nvlink.bandwidth_gb_per_s_each_way", "-450"},
                            {3, "node.devices", "0"},
                            {4, "sms", "24"},
                            {5, "memory.usable_gib", "81"}});
  EXPECT_THAT(errors, Contains(AllOf(HasSubstr("--set 1"), HasSubstr("memory.bandwidth_gb_per_s"),
                                     HasSubstr("0 is out of range; wanted from 0.001 to 1000000"))));
  EXPECT_THAT(errors, Contains(AllOf(HasSubstr("--set 2"), HasSubstr("-450 is out of range"))));
  EXPECT_THAT(errors, Contains(AllOf(HasSubstr("--set 3"), HasSubstr("wanted from 1 to 1024"))));
  EXPECT_THAT(errors, Contains(HasSubstr("interference.communication_sms: 24 is more than sms - 1, 23")));
  EXPECT_THAT(errors, Contains(AllOf(HasSubstr("--set 5"), HasSubstr("81 is more than capacity_gib, 80"))));
}

TEST(DeviceErrors, NotANumberIsNoRate) {
  for (const char* value : {"nan", "inf", "-inf", "1e400"}) {
    EXPECT_THAT(ErrorsOf("h100_sxm", {{1, "memory.bandwidth_gb_per_s", value}}),
                testing::SizeIs(testing::Ge(1u)))
        << value;
  }
}

// Every field of a file is wanted, or says that it is not: leave out one line after the other.
TEST(DeviceErrors, AMissingFieldIsNamed) {
  const std::string folder = testing::TempDir() + "/missing";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/bare.textproto") << "name: \"bare\"\n";
  const std::vector<std::string> errors = ErrorsOf("bare", {}, folder);
  for (const char* field : {"architecture", "capability", "sms", "memory", "peaks", "gemm", "memory_bound",
                            "kernel", "interference", "collectives", "node", "basis", "source"}) {
    EXPECT_THAT(errors, Contains(AllOf(HasSubstr(std::string(": ") + field), HasSubstr("missing")))) << field;
  }
}

TEST(DeviceErrors, AFormatNeedsOnePeakAndOneModel) {
  const std::string folder = testing::TempDir() + "/formats";
  std::filesystem::create_directories(folder);
  std::string text = TextOf("a100_80_sxm");
  text.replace(text.find("  formats: FP16\n"), 16, "  formats: FP8\n");
  std::ofstream(folder + "/odd.textproto") << text;
  const std::vector<std::string> errors = ErrorsOf("odd", {}, folder);
  EXPECT_THAT(errors, ElementsAre(HasSubstr("FP8 has a model and no peak"),
                                  HasSubstr("FP16 has a peak and no gemm model")));
}

}  // namespace
}  // namespace hardware
