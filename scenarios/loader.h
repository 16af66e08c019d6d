// Scenarios from files: a name or path in, a legal Scenario or all errors out.

#ifndef SCENARIOS_LOADER_H_
#define SCENARIOS_LOADER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/scenario.h"

namespace scenarios {

// `name_or_path` is a path when it has a slash or ends in .textproto or .json;
// "-" is standard input; else a name of the catalogue, else a file of the
// working folder. The model, hardware and topology that it names are looked for
// beside the file, then in their catalogues.
//
// `overrides` are paths of proto/scenario.proto; "model.X", "hardware.X" and
// "topology.X" are paths X of the files that it names.
//
// Every mistake in all four files is reported in one run; nothing is returned
// if there is one. What is legal but unwise is a warning, in `diagnostics` and
// in Scenario::warnings.
std::optional<Scenario> LoadScenario(const std::string& name_or_path,
                                     const std::vector<proto::Override>& overrides,
                                     proto::Diagnostics* diagnostics);

// The same from text; `file` is for messages and says where "beside" is.
std::optional<Scenario> LoadScenarioText(const std::string& file, std::string_view text,
                                         const std::vector<proto::Override>& overrides,
                                         proto::Diagnostics* diagnostics);

// The same where the model is no file yet: `model` is taken for what the scenario names.
std::optional<Scenario> LoadScenarioText(const std::string& file, std::string_view text,
                                         const std::vector<proto::Override>& overrides,
                                         const models::Model& model, proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_LOADER_H_
