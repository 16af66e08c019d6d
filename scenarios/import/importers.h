// The formats of training jobs that can be read, one function each, and their table.

#ifndef SCENARIOS_IMPORT_IMPORTERS_H_
#define SCENARIOS_IMPORT_IMPORTERS_H_

#include <optional>
#include <span>

#include "scenarios/import/draft.h"

namespace scenarios {

struct Importer {
  const char* format;     // as on the command line
  const char* takes;      // "TRAIN.sh|.txt"
  const char* describes;  // one line for the help
  std::optional<ImportedJob> (*read)(const ImportRequest& request, proto::Diagnostics* diagnostics);
};

std::span<const Importer> Importers();

// Each: the job, or every mistake of the file in one run, at its place.
std::optional<ImportedJob> ImportMegatron(const ImportRequest& request, proto::Diagnostics* diagnostics);
std::optional<ImportedJob> ImportDeepSpeed(const ImportRequest& request, proto::Diagnostics* diagnostics);
std::optional<ImportedJob> ImportNanotron(const ImportRequest& request, proto::Diagnostics* diagnostics);
std::optional<ImportedJob> ImportNemo(const ImportRequest& request, proto::Diagnostics* diagnostics);
std::optional<ImportedJob> ImportTorchtitan(const ImportRequest& request, proto::Diagnostics* diagnostics);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_IMPORTERS_H_
