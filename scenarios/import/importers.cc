#include "scenarios/import/importers.h"

namespace scenarios {
namespace {

constexpr Importer kImporters[] = {
    {"megatron", "ARGS.sh|ARGS.txt|ARGS.json|ARGS.yaml",
     "Megatron-LM's arguments: a launch script, a list of flags, a checkpoint's arguments", ImportMegatron},
    {"deepspeed", "DS_CONFIG.json", "DeepSpeed; wants --model, --devices and --sequence-length",
     ImportDeepSpeed},
    {"nanotron", "CONFIG.yaml", "nanotron", ImportNanotron},
    {"nemo", "CONFIG.yaml", "NeMo 1 of a GPT, with OmegaConf's ${...}", ImportNemo},
    {"torchtitan", "JOB.toml|JOB.json", "torchtitan; wants --devices", ImportTorchtitan},
};

}  // namespace

std::span<const Importer> Importers() { return kImporters; }

}  // namespace scenarios
