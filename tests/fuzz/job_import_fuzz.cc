// Whatever bytes arrive as a job of any format, its importer ends without a crash, and
// says something whenever it gives nothing. The look of the text chooses the
// format, so that the tests' jobs are seeds as they are; its length the one of those that look alike.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "scenarios/import/importers.h"
#include "sim/base/check.h"

namespace {

struct Format {
  const char *name, *file;
};

constexpr Format kJson[] = {{"deepspeed", "job.json"}, {"megatron", "job.json"}, {"torchtitan", "job.json"}};
constexpr Format kYaml[] = {{"nanotron", "job.yaml"}, {"nemo", "job.yaml"}, {"megatron", "job.yaml"}};

Format FormatOf(const std::string& text) {
  const auto has = [&](const char* part) { return text.find(part) != std::string::npos; };
  if (text.starts_with("{")) return kJson[text.size() % std::size(kJson)];
  if (text.starts_with("[") || has("\n[")) return {"torchtitan", "job.toml"};
  if (has("model_config:")) return kYaml[0];
  if (has("trainer:")) return kYaml[1];
  if (has("MODEL_ARGS:")) return kYaml[2];
  if (has(":\n")) return kYaml[text.size() % std::size(kYaml)];
  return {"megatron", "job.sh"};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLongest = 20'000;
  if (size > kLongest) return 0;
  scenarios::ImportRequest request;
  request.text.assign(reinterpret_cast<const char*>(data), size);
  const Format format = FormatOf(request.text);
  request.file = format.file;
  request.name = "job";
  request.hardware = "h100_sxm";
  request.topology = "rail_optimised_ndr";
  if (format.name == std::string_view("deepspeed")) request.model = "llama3_8b";
  request.sequence_length = 4096;
  if (size % 2 == 0) request.devices = 64;
  for (const scenarios::Importer& importer : scenarios::Importers()) {
    if (format.name != std::string_view(importer.format)) continue;
    proto::Diagnostics diagnostics;
    const bool read = importer.read(request, &diagnostics).has_value();
    CHECK(read == diagnostics.ok());
  }
  return 0;
}
