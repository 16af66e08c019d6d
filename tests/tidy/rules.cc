#include "tests/tidy/rules.h"

#include <ostream>

namespace tidy {
namespace {

constexpr Rule kRules[] = {
    {"Dependencies", Dependencies},
    {"HeavyHeaders", HeavyHeaders},
    {"Form", Form},
    {"Size", Size},
    {"Marks", Marks},
    {"DeadFiles", DeadFiles},
    {"EmptyTests", EmptyTests},
    {"Determinism", Determinism},
};

}  // namespace

std::span<const Rule> Rules() { return kRules; }
void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

}  // namespace tidy
