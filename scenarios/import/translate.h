// Translation of one framework's keys into another's, by a table.

#ifndef SCENARIOS_IMPORT_TRANSLATE_H_
#define SCENARIOS_IMPORT_TRANSLATE_H_

#include <span>
#include <string>
#include <vector>

#include "scenarios/import/settings.h"

namespace scenarios {

struct KeyName {
  enum class How : std::uint8_t {
    kSame,      // the value means the same
    kOnWhenOff  // false there is a switch here: add_bias_linear false, --disable-bias-linear
  };
  const char* from;
  const char* to;
  How how = How::kSame;
};

// The settings whose keys are in `names`, under the other key, with their places and
// names for messages as they were. The rest stays in `all`.
std::vector<Setting> Translate(std::span<const KeyName> names, std::vector<Setting>* all);

// Puts values for interpolations of OmegaConf: ${a.b}, ${.b} and ${..b} from where they
// stand, and ${multiply:a,b}, add, subtract, divide, also inside each other. What
// is not resolved (another resolver, a circle, a whole object) keeps a doubt.
// Source: OmegaConf 2.3, "Grammar"; NeMo 1.23, which registers `multiply`.
void ResolveInterpolations(std::vector<Setting>* all);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_TRANSLATE_H_
