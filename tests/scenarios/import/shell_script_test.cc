// Launch scripts as words. Expected values are what bash 5.2 makes of the same text.

#include "scenarios/import/shell_script.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/import/shell_values.h"

namespace scenarios {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> Texts(const std::vector<ShellWord>& words) {
  std::vector<std::string> texts;
  for (const ShellWord& word : words) texts.push_back(word.doubt.empty() ? word.text : word.text + "?");
  return texts;
}

// Flags of the script's command; a word in doubt ends in '?'.
std::vector<std::string> FlagsOf(const std::string& script) {
  proto::Diagnostics diagnostics;
  const auto command = ReadLaunchScript("job.sh", script, &diagnostics);
  EXPECT_TRUE(command.has_value()) << (diagnostics.ok() ? "" : diagnostics.errors()[0]);
  return command ? Texts(command->flags) : std::vector<std::string>{};
}

std::string ErrorOf(const std::string& script) {
  proto::Diagnostics diagnostics;
  EXPECT_FALSE(ReadLaunchScript("job.sh", script, &diagnostics).has_value());
  return diagnostics.errors().empty() ? "" : diagnostics.errors()[0];
}

TEST(ShellScript, PutsInWhatVariablesHold) {
  EXPECT_THAT(FlagsOf("N=4\npython train.py --a $N --b ${N} --c \"$N x\" --d '$N'\n"),
              ElementsAre("--a", "4", "--b", "4", "--c", "4 x", "--d", "$N"));
  EXPECT_THAT(FlagsOf("A=--x\\ 1\npython t.py $A \"$A\""), ElementsAre("--x", "1", "--x 1"));
  EXPECT_THAT(FlagsOf("A='--x 1'; export B=\"$A --y\"\npython t.py $B"), ElementsAre("--x", "1", "--y"));
  EXPECT_THAT(FlagsOf("A=1\nA+=2\npython t.py --a $A"), ElementsAre("--a", "12"));
}

TEST(ShellScript, PutsInWhatArraysHold) {
  EXPECT_THAT(FlagsOf("A=(--x 1 # one\n --y \"2 3\")\npython t.py ${A[@]} \"${A[@]}\""),
              ElementsAre("--x", "1", "--y", "2", "3", "--x", "1", "--y", "2 3"));
  EXPECT_THAT(FlagsOf("A=(--x)\nA+=(--y \"${A[@]}\")\npython t.py ${A[*]}"),
              ElementsAre("--x", "--y", "--x"));
  EXPECT_THAT(FlagsOf("A=()\npython t.py --x \"${A[@]}\""), ElementsAre("--x"));
}

TEST(ShellScript, PlacesAWordWhereItsArrayWasWritten) {
  proto::Diagnostics diagnostics;
  const auto command =
      ReadLaunchScript("job.sh", "A=(--x\n  --y 1)\nN=2\npython t.py ${A[@]} --z $N", &diagnostics);
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags[1].text, "--y");
  EXPECT_EQ(command->flags[1].line, 2);
  EXPECT_EQ(command->flags[1].column, 3);
  EXPECT_EQ(command->flags[3].line, 4);
}

TEST(ShellScript, JoinsContinuedLinesAndLeavesOutComments) {
  EXPECT_THAT(FlagsOf("python t.py --a 1 \\\n  --b 2 \\\r\n --c 3 # --d 4\n"),
              ElementsAre("--a", "1", "--b", "2", "--c", "3"));
  EXPECT_THAT(FlagsOf("python t.py --a x#y \"#z\""), ElementsAre("--a", "x#y", "#z"));
}

TEST(ShellScript, TakesDefaultsAndWholeNumbers) {
  EXPECT_THAT(FlagsOf("python t.py --a ${N:-8} --b ${M:-${N:-9}} --c ${K-\"x y\"}"),
              ElementsAre("--a", "8", "--b", "9", "--c", "x y"));
  EXPECT_THAT(FlagsOf("N=2\nM=\npython t.py --a ${N:-8} --b ${M:-7} --c $((N*(3+$N)-10/4%2))"),
              ElementsAre("--a", "2", "--b", "7", "--c", "10"));
}

TEST(ShellScript, DoubtsWhatNeedsAShellAndSaysWhy) {
  EXPECT_THAT(FlagsOf("python t.py --a $(nproc) --b `x` --c $1 --d ${A##*/} --e $UNSET"),
              ElementsAre("--a", "?", "--b", "?", "--c", "?", "--d", "?", "--e", "?"));
  proto::Diagnostics diagnostics;
  const auto command = ReadLaunchScript(
      "job.sh", "if [ $X = 1 ]; then\n  N=4\n  A=(--b)\nfi\n[ $Y ] && M=2\npython t.py --a $N $A --c $M",
      &diagnostics);
  ASSERT_TRUE(command.has_value());
  EXPECT_EQ(command->flags[1].doubt, "line 1: `if` needs a shell");
  EXPECT_EQ(command->flags[2].doubt, "line 1: `if` needs a shell");
  EXPECT_EQ(command->flags[4].doubt, "line 5: `&&` needs a shell");
}

TEST(ShellScript, GoesOnAsCertainBehindABlock) {
  EXPECT_THAT(FlagsOf("for i in 1 2; do A=1; done\nf() {\n A=2\n}\ncase $x in a) A=3;; esac\n{ B=5; }\nA=4\n"
                      "python t.py --a $A --b $B"),
              ElementsAre("--a", "4", "--b", "5"));
}

TEST(ShellScript, FindsTheCommandThatStartsTraining) {
  EXPECT_THAT(FlagsOf("mkdir -p x\ncd y && CUDA=1 torchrun --nnodes 2 t.py --a 1 2>&1 | tee log\n"),
              ElementsAre("--a", "1"));
  EXPECT_THAT(FlagsOf("C=\"python -u t.py --a 1\"\nsrun -l sh -c \"$C --b 2\""),
              ElementsAre("--a", "1", "--b", "2"));
  EXPECT_THAT(FlagsOf("python -m torch.distributed.run --nnodes 2 t.py --a"), ElementsAre("--a"));
  EXPECT_THAT(FlagsOf("python -m train --a"), ElementsAre("--a"));
  EXPECT_THAT(FlagsOf("cat <<EOF\npython t.py --b\nEOF\npython t.py --a > /dev/null"), ElementsAre("--a"));
  EXPECT_THAT(FlagsOf("if x; then\npython t.py --a\nfi"), ElementsAre("--a"));
  EXPECT_THAT(FlagsOf("# a bare list\n--a 1\n--b \"2 3\"\n"), ElementsAre("--a", "1", "--b", "2 3"));
}

TEST(ShellScript, SaysWhatItCannotRead) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("job.sh: no command with a .py and --flags"));
  EXPECT_THAT(ErrorOf("echo hello"), HasSubstr("no command"));
  EXPECT_THAT(ErrorOf("python a.py --x\npython b.py --y"),
              HasSubstr("commands that start training at lines 1, 2; one is wanted"));
  EXPECT_THAT(ErrorOf("A='x\ny"), HasSubstr("job.sh:1:3: a quote ' that is never closed"));
  EXPECT_THAT(ErrorOf("A=\"x"), HasSubstr("a quote \" that is never closed"));
  EXPECT_THAT(ErrorOf("A=(x"), HasSubstr("an array ( that is never closed"));
  EXPECT_THAT(ErrorOf("A=${x"), HasSubstr("${ that is never closed"));
  EXPECT_THAT(ErrorOf("--a b|c"), HasSubstr("job.sh:1:6: \"|\" outside quotes"));
  // Each line doubles the text: 2^40 words are refused before they are made.
  std::string doubling = "A=x\n";
  for (int i = 0; i < 40; ++i) doubling += "A=\"$A $A\"\n";
  EXPECT_THAT(ErrorOf(doubling + "python t.py --a"), HasSubstr("more than 100,000 words"));
}

TEST(Arithmetic, IsOfWholeNumbersInSixtyFourBits) {
  const ShellVariables variables = {{"N", {{"8", 1, 1, ""}}}, {"X", {{"8x", 1, 1, ""}}}};
  EXPECT_EQ(EvaluateArithmetic("2 + 3 * 4", variables), 14);
  EXPECT_EQ(EvaluateArithmetic("-(7 - N) % 5", variables), 1);
  EXPECT_EQ(EvaluateArithmetic("${N} / 3", variables), 2);
  for (const char* wrong :
       {"", "1 +", "1 / 0", "X", "UNSET", "1 ** 2", "(1", "9223372036854775807 + 1", "1 2"}) {
    EXPECT_EQ(EvaluateArithmetic(wrong, variables), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace scenarios
