// Devices that are derived from others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hardware/device_reader.h"
#include "tests/hardware/catalogue_device.h"

namespace hardware {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DerivedDevice : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        testing::TempDir() + "/derived_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Writes NAME.textproto with what every file gives itself, then `rest`.
  void Write(const std::string& name, const std::string& base, const std::string& rest = "") {
    std::ofstream(folder_ + "/" + name + ".textproto")
        << "name: \"" << name << "\"\nderived_from: \"" << base
        << "\"\nbasis: ASSUMED\nsource { title: \"made for the test\" }\n"
        << rest;
  }
  std::optional<Device> Read(const std::string& name, const std::vector<proto::Override>& overrides = {}) {
    errors_.clear();
    proto::Diagnostics diagnostics;
    std::optional<Device> device = ReadDevice(name, overrides, folder_, &diagnostics);
    errors_ = diagnostics.errors();
    EXPECT_EQ(device.has_value(), errors_.empty());
    return device;
  }
  const Figure& FigureOf(const Device& device, const std::string& key) {
    for (const Figure& figure : device.figures) {
      if (figure.key == key) return figure;
    }
    ADD_FAILURE() << key;
    return device.figures.front();
  }

  std::string folder_;
  std::vector<std::string> errors_;
};

TEST_F(DerivedDevice, HasEverythingOfItsBaseButItsNames) {
  Write("twin", "h100_sxm");
  const Device base = ReadOrFail("h100_sxm");
  const std::optional<Device> twin = Read("twin");
  EXPECT_THAT(errors_, IsEmpty());
  ASSERT_TRUE(twin.has_value());
  EXPECT_EQ(twin->name, "twin");
  EXPECT_THAT(twin->aliases, IsEmpty());
  ASSERT_EQ(twin->figures.size(), base.figures.size());
  for (std::size_t i = 1; i < base.figures.size(); ++i) {
    EXPECT_EQ(twin->figures[i].key, base.figures[i].key);
    EXPECT_EQ(twin->figures[i].value, base.figures[i].value);
  }
}

// What is measured elsewhere is not measured here, and says so.
TEST_F(DerivedDevice, TakesMeasuredFiguresAsDerivedOnes) {
  Write("twin", "h100_sxm");
  const Device base = ReadOrFail("h100_sxm");
  const std::optional<Device> twin = Read("twin");
  ASSERT_TRUE(twin.has_value());
  for (const char* key : {"gemm[0]", "node.nvlink", "kernel"}) {
    EXPECT_EQ(FigureOf(base, key).basis, Basis::kMeasured) << key;
    EXPECT_EQ(FigureOf(*twin, key).basis, Basis::kDerived) << key;
    EXPECT_EQ(FigureOf(*twin, key).source, FigureOf(base, key).source + "; of h100_sxm") << key;
  }
  EXPECT_EQ(FigureOf(*twin, "memory").basis, Basis::kPublished);
  EXPECT_EQ(FigureOf(*twin, "interference").basis, Basis::kAssumed);
}

TEST_F(DerivedDevice, ChangesSingleFieldsAndWholeLists) {
  Write("odd", "h100_sxm",
        "sms: 100\n"
        "memory { bandwidth_gb_per_s: 3000 basis: ASSUMED source { title: \"a guess\" } }\n"
        "peaks { format: FP32 tflops: 50 basis: ASSUMED source { title: \"a guess\" } }\n"
        "gemm { formats: FP32 roofline { efficiency: 0.5 memory_efficiency: 0.5 fixed_us: 1 }\n"
        "       basis: ASSUMED source { title: \"a guess\" } }\n");
  const std::optional<Device> odd = Read("odd");
  EXPECT_THAT(errors_, IsEmpty());
  ASSERT_TRUE(odd.has_value());
  EXPECT_EQ(odd->sms, 100);
  EXPECT_EQ(odd->capability, 90);
  EXPECT_EQ(odd->memory, sim::Bytes(std::int64_t{80} << 30));
  EXPECT_EQ(odd->memory_rate, sim::ByteRate::GigabytesPerSecond(3000));
  EXPECT_EQ(FigureOf(*odd, "memory").basis, Basis::kAssumed);
  EXPECT_EQ(FigureOf(*odd, "memory").source, "a guess");  // with no address of the base's
  EXPECT_TRUE(SupportsFormat(*odd, sim::NumberFormat::kFp32));
  EXPECT_FALSE(SupportsFormat(*odd, sim::NumberFormat::kBf16));  // a list is taken whole or given whole
}

TEST_F(DerivedDevice, TakesOverridesOfWhatItsBaseGives) {
  Write("twin", "h100_sxm");
  const std::optional<Device> twin = Read("twin", {{1, "peaks[0].tflops", "900"}, {2, "node.nics", "4"}});
  EXPECT_THAT(errors_, IsEmpty());
  ASSERT_TRUE(twin.has_value());
  EXPECT_EQ(PeakFlopsPerSecond(*twin, sim::NumberFormat::kBf16), 900e12);
  EXPECT_EQ(twin->node.nics, 4);
  Read("twin", {{1, "derived_from", "b200_sxm"}});
  EXPECT_THAT(errors_, ElementsAre(HasSubstr("--set 1: derived_from: the file alone chooses it")));
}

TEST_F(DerivedDevice, MayBeOfAPathAndOfADerivedDevice) {
  Write("one", "H800", "sms: 100\n");  // an alias of the catalogue
  Write("two", "one.textproto", "capability: 91\n");
  const std::optional<Device> two = Read("two");
  EXPECT_THAT(errors_, IsEmpty());
  ASSERT_TRUE(two.has_value());
  EXPECT_EQ(two->sms, 100);
  EXPECT_EQ(two->capability, 91);
  EXPECT_EQ(two->nvlink.wire, sim::ByteRate::GigabytesPerSecond(200));
  EXPECT_THAT(FigureOf(*two, "gemm[0]").source, HasSubstr("; of h100_sxm; of h800_sxm; of one"));
}

// A user's own file may be called as the device that it changes.
TEST_F(DerivedDevice, OfANameAloneNeedsNoSourceOfItsOwn) {
  std::ofstream(folder_ + "/mine.textproto") << "name: \"mine\"\nderived_from: \"h100_sxm\"\n";
  const auto device = Read("mine");
  ASSERT_TRUE(device.has_value()) << testing::PrintToString(errors_);
  EXPECT_EQ(device->sms, Read("h100_sxm")->sms);
}

TEST_F(DerivedDevice, FindsABareNameInAFileBesideIt) {
  Write("ours", "h100_sxm", "sms: 100\n");
  Write("mine", "ours");
  const auto device = Read("mine");
  ASSERT_TRUE(device.has_value()) << testing::PrintToString(errors_);
  EXPECT_EQ(device->sms, 100);
}

TEST_F(DerivedDevice, MayHaveTheNameOfItsBaseInTheCatalogue) {
  Write("h100_sxm", "h100_sxm", "sms: 100\n");
  const std::optional<Device> own = Read("h100_sxm");
  EXPECT_THAT(errors_, IsEmpty());
  ASSERT_TRUE(own.has_value());
  EXPECT_EQ(own->sms, 100);
}

TEST_F(DerivedDevice, ErrorsOfTheBaseAreClear) {
  Write("lost", "h1OO_sxm");
  Read("lost");
  EXPECT_THAT(errors_,
              ElementsAre(AllOf(HasSubstr("lost.textproto:2:1: derived_from: unknown device \"h1OO_sxm\""),
                                HasSubstr("did you mean \"h100_sxm\""))));
  Write("lost", "no_such.textproto");
  Read("lost");
  EXPECT_THAT(errors_, ElementsAre(HasSubstr("no_such.textproto: there is no such file")));
  Write("bad_base", "h100_sxm", "l2_mib: 0\n");
  Write("above", "bad_base.textproto");
  Read("above");
  EXPECT_THAT(errors_, ElementsAre(HasSubstr("bad_base.textproto:5:1: l2_mib: 0 is out of range")));
}

TEST_F(DerivedDevice, CyclesAndLongChainsAreRefused) {
  Write("a", "b.textproto");
  Write("b", "./a.textproto");
  Read("a");
  EXPECT_THAT(errors_, ElementsAre(AllOf(HasSubstr("b.textproto:2:1: derived_from: "),
                                         HasSubstr("a.textproto is derived from itself: "))));
  Write("self", "self.textproto");
  Read("self");
  EXPECT_THAT(errors_, ElementsAre(HasSubstr("self.textproto is derived from itself")));
  for (int i = 0; i < 10; ++i) {
    Write("c" + std::to_string(i), "c" + std::to_string(i + 1) + ".textproto");
  }
  Read("c0");
  EXPECT_THAT(errors_, ElementsAre(AllOf(HasSubstr("c4.textproto:2:1: derived_from: "),
                                         HasSubstr("derived through more than 4 devices"))));
}

TEST_F(DerivedDevice, AChangedGroupNeedsItsOwnBasisAndSource) {
  Write("bare", "h100_sxm",
        "memory { bandwidth_gb_per_s: 3000 }\nnode { nvlink { efficiency: 0.5 basis: ASSUMED } }\n");
  Read("bare");
  EXPECT_THAT(errors_, ElementsAre(HasSubstr("bare.textproto:5:1: memory.basis: missing"),
                                   HasSubstr("bare.textproto:5:1: memory.source: missing"),
                                   HasSubstr("bare.textproto:6:8: node.nvlink.source: missing")));
}

// The file's own mistakes are reported beside those of the whole.
TEST_F(DerivedDevice, ReportsItsOwnMistakes) {
  Write("wrong", "h100_sxm", "smss: 100\ntdp_watts: \"hot\"\n");
  Read("wrong");
  EXPECT_THAT(errors_, ElementsAre(HasSubstr("wrong.textproto:5:1: smss: unknown field; did you mean sms?"),
                                   HasSubstr("wrong.textproto:6:1: tdp_watts: \"hot\" is not a number")));
}

}  // namespace
}  // namespace hardware
