// Slices a second of the trace writer.

#include <benchmark/benchmark.h>

#include <string>

#include "scenarios/loader.h"
#include "scenarios/output/chrome_trace.h"
#include "scenarios/output/output_file.h"
#include "scenarios/run.h"

namespace scenarios {
namespace {

// The text alone, to a device that takes everything.
void WriteTrace(benchmark::State& state) {
  proto::Diagnostics diagnostics;
  const Scenario scenario =
      LoadScenario("llama_70b_64xh800_a", {{1, "batch.global", "32"}, {2, "steps", "2"}}, &diagnostics)
          .value();
  const RunResult run = scenarios::Run(scenario).value();
  TraceOptions options{.path = "/dev/null"};
  options.ranks = scenario.layout.Group(sim::Rank(std::uint32_t{0}), Dimension::kPipeline);
  std::int64_t slices = 0, bytes = 0;
  for (auto _ : state) {
    const TraceSummary summary = WriteChromeTrace(run.steps.program, run.timeline, options).value();
    slices += summary.slices;
    bytes += summary.bytes;
  }
  state.SetItemsProcessed(slices);
  state.SetBytesProcessed(bytes);
}
BENCHMARK(WriteTrace)->Unit(benchmark::kMillisecond);

// What compression adds: the same text of 64 MiB into a file that is then thrown away.
void Compress(benchmark::State& state) {
  std::string text;
  for (int i = 0; text.size() < 1 << 20; ++i) {
    text += ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":2,\"ts\":" + std::to_string(i * 7919) +
            ".123456,\"dur\":31.415926,\"name\":\"mlp\",\"cat\":\"forward\"}";
  }
  for (auto _ : state) {
    OutputFile file = OutputFile::Create("trace_bench.json.gz").value();
    for (int i = 0; i < 64; ++i) file.Write(text);
  }
  state.SetBytesProcessed(state.iterations() * 64 * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(Compress)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace scenarios
