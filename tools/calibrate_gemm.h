// orrery calibrate gemm: measured matrix products in, figures of a device out.

#ifndef TOOLS_CALIBRATE_GEMM_H_
#define TOOLS_CALIBRATE_GEMM_H_

#include <iosfwd>

#include "tools/command_line.h"

namespace tools {

// The exit status; words and files with mistakes are told on `err`, all in one run.
int CalibrateGemm(const Arguments& arguments, std::ostream& out, std::ostream& err);

// `orrery calibrate points`: the same rows as they are, where figures are not fitted to them.
int CalibratePoints(const Arguments& arguments, std::ostream& out, std::ostream& err);

}  // namespace tools

#endif  // TOOLS_CALIBRATE_GEMM_H_
