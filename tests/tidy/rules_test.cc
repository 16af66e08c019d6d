// Each rule on small snippets: what it must catch, beside what it must let be.

#include "tests/tidy/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidy {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Dependencies, GoDownOnly) {
  const auto includes = [](const char* from, const char* path) {
    const Sources sources = {{from, std::string("// \n#include \"") + path + "\"\n"},
                             {"hardware/device.h", ""},
                             {"models/model.h", ""},
                             {"proto/model.proto", ""},
                             {"proto/text_reader.h", ""},
                             {"scenarios/run.h", ""},
                             {"scenarios/output/report.h", ""},
                             {"sim/analysis/step.h", ""},
                             {"sim/base/units.h", ""},
                             {"sim/collective/ring.h", ""},
                             {"sim/engine/queue.h", ""},
                             {"sim/network/flow.h", ""},
                             {"sim/program/program.h", ""},
                             {"tests/models/shapes.h", ""},
                             {"tools/commands.h", ""},
                             {"topologies/fabric.h", ""}};
    return Dependencies(sources);
  };
  EXPECT_THAT(includes("tools/run.cc", "scenarios/output/report.h"), IsEmpty());
  EXPECT_THAT(includes("tools/run.cc", "proto/text_reader.h"), IsEmpty());
  EXPECT_THAT(includes("scenarios/output/a.cc", "scenarios/run.h"), IsEmpty());
  EXPECT_THAT(includes("scenarios/a.cc", "proto/model.pb.h"), IsEmpty());
  EXPECT_THAT(includes("models/a.cc", "sim/analysis/step.h"), IsEmpty());
  EXPECT_THAT(includes("sim/analysis/a.cc", "sim/engine/queue.h"), IsEmpty());
  EXPECT_THAT(includes("tests/sim/a_test.cc", "tools/commands.h"), IsEmpty());
  EXPECT_THAT(includes("sim/base/a.cc", "sim/base/units.h"), IsEmpty());

  EXPECT_THAT(includes("sim/base/a.h", "sim/engine/queue.h"),
              ElementsAre("sim/base/a.h:2: sim/base does not include sim/engine, so not "
                          "\"sim/engine/queue.h\""));
  const std::pair<const char*, const char*> wrong[] = {{"sim/collective/a.cc", "sim/network/flow.h"},
                                                       {"sim/program/a.cc", "sim/collective/ring.h"},
                                                       {"sim/network/a.cc", "sim/program/program.h"},
                                                       {"sim/base/a.cc", "proto/text_reader.h"},
                                                       {"sim/program/a.cc", "models/model.h"},
                                                       {"models/a.cc", "hardware/device.h"},
                                                       {"hardware/a.cc", "topologies/fabric.h"},
                                                       {"topologies/a.cc", "scenarios/run.h"},
                                                       {"proto/a.cc", "models/model.h"},
                                                       {"scenarios/a.cc", "tools/commands.h"},
                                                       {"scenarios/a.cc", "scenarios/output/report.h"},
                                                       {"tools/a.cc", "proto/model.pb.h"},
                                                       {"scenarios/a.cc", "tests/models/shapes.h"},
                                                       {"models/a.cc", "model.h"},
                                                       {"models/a.cc", "proto/gone.pb.h"},
                                                       {"extra/a.cc", "sim/base/units.h"}};
  for (const auto& [from, path] : wrong) EXPECT_EQ(includes(from, path).size(), 1u) << from << ' ' << path;
}

TEST(HeavyHeaders, StayInSourceFiles) {
  const auto check = [](const char* path, const char* include) {
    return HeavyHeaders({{path, std::string("#include ") + include + "\n"}}).size();
  };
  EXPECT_EQ(check("topologies/a.cc", "<boost/graph/adjacency_list.hpp>"), 0u);
  EXPECT_EQ(check("hardware/a.cc", "<Eigen/Dense>"), 0u);
  EXPECT_EQ(check("models/a.h", "<nlohmann/json_fwd.hpp>"), 0u);
  EXPECT_EQ(check("tests/proto/a.h", "\"tests/proto/sample.pb.h\""), 0u);
  EXPECT_EQ(check("models/a.h", "\"proto/model.pb.h\""), 1u);
  EXPECT_EQ(check("proto/a.h", "<google/protobuf/message.h>"), 1u);
  EXPECT_EQ(check("hardware/a.h", "<Eigen/Dense>"), 1u);
  EXPECT_EQ(check("scenarios/output/a.h", "<nlohmann/json.hpp>"), 1u);
  EXPECT_EQ(check("topologies/a.h", "<boost/graph/adjacency_list.hpp>"), 1u);
  EXPECT_EQ(check("sim/network/a.cc", "<boost/graph/adjacency_list.hpp>"), 1u);
}

TEST(Form, OfEveryFile) {
  const std::string guarded = "#ifndef SIM_A_H_\n#define SIM_A_H_\n\n#endif  // SIM_A_H_\n";
  EXPECT_THAT(Form({{"sim/a.h", guarded}}), IsEmpty());
  EXPECT_THAT(Form({{"sim/b.h", guarded}}), ElementsAre("sim/b.h:1: the include guard is not SIM_B_H_"));
  EXPECT_THAT(Form({{"sim/a.cc", std::string(110, 'x') + "\n"}}), IsEmpty());
  // 110 characters of two bytes each.
  std::string wide;
  for (int i = 0; i < 110; ++i) wide += "é";
  EXPECT_THAT(Form({{"sim/a.cc", wide + "\n"}}), IsEmpty());
  EXPECT_THAT(Form({{"sim/a.cc", "\n" + std::string(111, 'x') + "\n"}}),
              ElementsAre("sim/a.cc:2: 111 columns; 110 are allowed"));
  EXPECT_THAT(Form({{"models/a.textproto", std::string(111, 'x') + "\n"}}), IsEmpty());
  EXPECT_THAT(Form({{"sim/a.cc", "a\n\tb\n"}}), ElementsAre("sim/a.cc:2: a tab"));
  EXPECT_THAT(Form({{"sim/a.cc", "a \nb\r\n"}}), ElementsAre("sim/a.cc:1: a blank at the end of the line",
                                                             "sim/a.cc:2: a blank at the end of the line"));
  EXPECT_THAT(Form({{"tools/run", "a"}}), ElementsAre("tools/run:2: a file ends with one line end"));
  EXPECT_THAT(Form({{"tools/run", "a\n\n"}}), ElementsAre("tools/run:3: a file ends with one line end"));
}

TEST(Size, IsFourHundredLines) {
  const auto lines = [](int n) {
    std::string text;
    for (int i = 0; i < n; ++i) text += "x\n";
    return text;
  };
  EXPECT_THAT(Size({{"sim/a.cc", lines(400)}}), IsEmpty());
  EXPECT_EQ(Size({{"sim/a.cc", lines(401)}}).size(), 1u);
  EXPECT_THAT(Size({{"tests/data.csv", lines(401)}}), IsEmpty());
}

TEST(Marks, OfUnfinishedWorkAndOfMachines) {
  const auto count = [](const std::string& text) { return Marks({{"sim/a.cc", text + "\n"}}).size(); };
  EXPECT_EQ(count("// a mktemp name is XXXXXX; /usr/bin/chromium is Debian's"), 0u);
  EXPECT_EQ(count("// TO"
                  "DO: more"),
            1u);
  EXPECT_EQ(count("// FIX"
                  "ME"),
            1u);
  EXPECT_EQ(count("// a HA"
                  "CK."),
            1u);
  EXPECT_EQ(count("// XX"
                  "X"),
            1u);
  EXPECT_EQ(count("open(\"/ho"
                  "me/me/a\")"),
            1u);
  EXPECT_EQ(count("open(\"/wo"
                  "rk/a\")"),
            1u);
}

TEST(DeadFiles, AreNeitherBuiltNorIncluded) {
  const std::string all = "add_subdirectory(sim)\n";
  const Sources live = {{"CMakeLists.txt", all},
                        {"sim/CMakeLists.txt", "lib(sim\n  SOURCES ring.cc a.proto)\n"},
                        {"sim/a.proto", ""},
                        {"sim/ring.cc", "#include \"sim/ring.h\"\n"},
                        {"sim/ring.h", ""}};
  EXPECT_THAT(DeadFiles(live), IsEmpty());
  EXPECT_THAT(DeadFiles({{"CMakeLists.txt", all},
                         {"sim/CMakeLists.txt", "lib(sim SOURCES boring.cc)  # ring.cc\n"},
                         {"sim/ring.cc", ""}}),
              ElementsAre("sim/ring.cc:1: not in the CMakeLists.txt beside it"));
  EXPECT_THAT(DeadFiles({{"CMakeLists.txt", all}, {"sim/CMakeLists.txt", ""}, {"sim/ring.h", ""}}),
              ElementsAre("sim/ring.h:1: nothing includes this header"));
  EXPECT_THAT(DeadFiles({{"CMakeLists.txt", "\n"}, {"sim/CMakeLists.txt", ""}}),
              ElementsAre("sim/CMakeLists.txt:1: the CMakeLists.txt above has no add_subdirectory(sim)"));
  EXPECT_THAT(DeadFiles({{"sim/ring.cc", ""}}),
              ElementsAre("sim/ring.cc:1: there is no CMakeLists.txt beside it"));
}

TEST(EmptyTests, ExpectNothing) {
  const auto count = [](const char* text) { return EmptyTests({{"tests/a_test.cc", text}}).size(); };
  EXPECT_EQ(count("TEST(A, B) { EXPECT_TRUE(x); }"), 0u);
  EXPECT_EQ(count("TEST_F(A, B) { ASSERT_EQ(x, 1); }"), 0u);
  EXPECT_EQ(count("TEST(A, B) { f(); }  // EXPECT_TRUE(x)"), 1u);
  EXPECT_EQ(count("void F() { EXPECT_TRUE(x); }"), 1u);
}

TEST(Determinism, EndsWhereTheCLibraryTheClockOrAStaticBegins) {
  const auto count = [](const std::string& text, const char* path = "sim/a.cc") {
    return Determinism({{path, text + "\n"}}).size();
  };
  EXPECT_EQ(count("x = std::sqrt(y) + network.log(z) + Log(z); // std::pow(2, 3)"), 0u);
  EXPECT_EQ(count("static constexpr int kA = 1;"), 0u);
  EXPECT_EQ(count("static const std::vector<int> a = {1};"), 0u);
  EXPECT_EQ(count("  static Duration FromSeconds(double seconds);"), 0u);
  EXPECT_EQ(count("  static std::map<int,\n  int> Of(int x);"), 0u);
  EXPECT_EQ(count("static_assert(sizeof(int) == 4);"), 0u);
  EXPECT_EQ(count("puts(\"std::exp(1), rand\");"), 0u);
  EXPECT_EQ(count("auto t = std::chrono::steady_clock::now();", "tools/a.cc"), 0u);
  EXPECT_EQ(count("x = rand();", "tests/a.cc"), 0u);

  EXPECT_EQ(count("x = std::pow(2, y);"), 1u);
  EXPECT_EQ(count("x = exp(y);"), 1u);
  EXPECT_EQ(count("x = 2*log2(y);", "models/a.cc"), 1u);
  EXPECT_EQ(count("static int calls = 0;"), 1u);
  EXPECT_EQ(count("static const char* last;"), 1u);
  EXPECT_EQ(count("  static std::map<int,\n  int> seen;"), 1u);
  EXPECT_EQ(count("thread_local int depth;"), 1u);
  EXPECT_EQ(count("auto t = std::chrono::steady_clock::now();"), 1u);
  EXPECT_EQ(count("std::mt19937 random(1);", "scenarios/a.cc"), 1u);
}

TEST(CodeOnly, KeepsCodeAndLines) {
  EXPECT_EQ(CodeOnly("a = 1'000; // b\nc"), "a = 1'000;     \nc");
  EXPECT_EQ(CodeOnly("f(\"x\\\"y\", '\"', /* d\n */ e)"), "f(\"    \", ' ',     \n    e)");
  EXPECT_EQ(CodeOnly("R\"~(a\")b)~\" c"), "R\"        \" c");
  EXPECT_EQ(CodeOnly("#include \"sim/a.h\"\n"), "#include \"sim/a.h\"\n");
}

}  // namespace
}  // namespace tidy
