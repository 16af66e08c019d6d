// docs/attention.md.

#ifndef TESTS_ATTENTION_DOCUMENT_H_
#define TESTS_ATTENTION_DOCUMENT_H_

#include <string>
#include <vector>

#include "tests/attention/rows.h"

namespace attention {

std::string Document(const std::vector<Group>& groups, const std::vector<Curve>& curves);

}  // namespace attention

#endif  // TESTS_ATTENTION_DOCUMENT_H_
