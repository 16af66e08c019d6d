// Megatron-LM's arguments as a job. NeMo's keys are translated to them, so both
// share what an argument means.
//
// Source of names, defaults and what follows from what: Megatron-LM core 0.14,
// megatron/training/arguments.py, and the dataclasses that it reads.

#ifndef SCENARIOS_IMPORT_MEGATRON_H_
#define SCENARIOS_IMPORT_MEGATRON_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "scenarios/import/draft.h"
#include "scenarios/import/settings.h"

namespace scenarios {

// Every argument that is known, without "--".
std::span<const KeyRule> MegatronRules();
// Whether the argument is there or not, without a value.
bool IsMegatronSwitch(const std::string& key);

// Reads the arguments into the job. `not_mapped` is what a translation has left out before.
std::optional<ImportedJob> ImportMegatronSettings(const ImportRequest& request, const std::string& framework,
                                                  Settings* settings, std::vector<std::string> not_mapped,
                                                  proto::Diagnostics* diagnostics);

// The parts of it. Each leaves out what was refused.
void ReadMegatronModel(Settings* settings, Draft* draft);
void ReadMegatronExperts(Settings* settings, Draft* draft);  // REQUIRES: the model was read
void ReadMegatronLayout(Settings* settings, Draft* draft);   // REQUIRES: the model was read
void ReadMegatronTraining(const ImportRequest& request, Settings* settings, Draft* draft);

// "([0]*3+[1]*58)": a list of whole numbers with + and *, or nothing when it is none.
std::optional<std::vector<std::int64_t>> EvaluateList(const std::string& text);

// "Et*3|(tt|)*29m|L" as the pieces between its bars, with every repetition written out, or
// nothing when it is no layout. Source: docs of Megatron-LM, "Custom pipeline model parallel layout".
std::optional<std::vector<std::string>> ExpandPipelineLayout(const std::string& text);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_MEGATRON_H_
