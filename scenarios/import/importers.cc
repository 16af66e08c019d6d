#include "scenarios/import/importers.h"

namespace scenarios {
namespace {

constexpr Importer kImporters[] = {
    {"megatron", "TRAIN.sh|.txt|.json|.yaml", "a launch script, flags, saved arguments", ImportMegatron},
    {"deepspeed", "DS_CONFIG.json", "with --model, --devices, --sequence-length", ImportDeepSpeed},
    {"nanotron", "CONFIG.yaml", "with its model", ImportNanotron},
    {"nemo", "CONFIG.yaml", "NeMo 1 of a GPT, with OmegaConf's ${...}", ImportNemo},
    {"torchtitan", "JOB.toml|JOB.json", "with --devices", ImportTorchtitan},
};

}  // namespace

std::span<const Importer> Importers() { return kImporters; }

}  // namespace scenarios
