// What every file of the repository keeps to, a function a rule. To add one,
// add a function, a test of the repository to tidy_test.cc, and a snippet that
// breaks it to rules_test.cc.

#ifndef TESTS_TIDY_RULES_H_
#define TESTS_TIDY_RULES_H_

#include <string>
#include <vector>

#include "tests/tidy/sources.h"

namespace tidy {

// "path:line: what is wrong", one a breach.
using Complaints = std::vector<std::string>;

// A folder may include itself and the folders that its line of the table names:
// tools -> scenarios -> {models, hardware, topologies} -> sim, and inside sim
// analysis -> program -> network -> engine -> base, collective -> base,
// schedule -> base. Tests may include anything; nothing includes tests.
Complaints Dependencies(const Sources& sources);

// Boost.Graph, Eigen, generated protobuf and nlohmann/json.hpp cost seconds a
// file, so they stay out of headers; and Boost.Graph out of all folders but one.
Complaints HeavyHeaders(const Sources& sources);

// 110 columns, no tabs, no blanks at the end of a line, one line end at the end
// of a file, include guards named after the path.
Complaints Form(const Sources& sources);

// No source file of more than 400 lines.
Complaints Size(const Sources& sources);

// No marks of unfinished work, no paths of one machine.
Complaints Marks(const Sources& sources);

// Every .cc and .proto is listed in its CMakeLists.txt, every CMakeLists.txt in
// the one above it, and every header is included by something.
Complaints DeadFiles(const Sources& sources);

// Every *_test.cc has tests, and expects something.
Complaints EmptyTests(const Sources& sources);

// What would make a result depend on the machine, the C library or an earlier
// run: libm's transcendental functions, variables that outlive a call, clocks
// and random numbers of others. Not for tests; tools may look at a clock.
Complaints Determinism(const Sources& sources);

}  // namespace tidy

#endif  // TESTS_TIDY_RULES_H_
