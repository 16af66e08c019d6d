// Waterfall: why one job's step takes longer than another's, in parts that add up to the difference.

#ifndef SCENARIOS_COMPARE_WATERFALL_H_
#define SCENARIOS_COMPARE_WATERFALL_H_

#include <string>
#include <vector>

#include "scenarios/compare/played.h"

namespace scenarios {

struct WaterfallPart {
  std::string id;    // "tokens", "products_amount", "products_rate", "bubble"; stable
  std::string name;  // for people: "matrix products, at 612 instead of 655 TFLOP/s"
  // More or less to do, at the base's speed: `base` and `variant` mean nothing. Else a cause of speed.
  bool work = false;
  sim::Duration base, variant;  // what the part takes; of the base, with the variant's work
  sim::Duration difference;
};

// Both steps are in the long run, saves included (PlayedJob::step). Exactly, in picoseconds:
//
//   base + differences of all parts = variant
//   base + differences of work      = what `base` of the causes adds up to
//
struct Waterfall {
  sim::Duration base, variant;
  double work = 1;                   // model FLOPs a device and step, of the base's
  std::vector<WaterfallPart> parts;  // work first; all causes, those that differ most in front

  sim::Duration difference() const { return variant - base; }
};

// Jobs that do other amounts of work a device and step (tokens, devices, FLOPs a token) are compared as if
// the base's parts all grew with the work: what is left are differences of speed, of MFU times peak. The
// same of kernels of one class: first what the least idle rank has more of them (a stage with more layers,
// kernels that tensor ranks repeat) at the base's rate, then by how much their rate differs.
//
// Leaves out: that other parts do not grow with work in truth. An optimizer takes as long for fewer tokens:
// then it is more of a step, and is told so.
Waterfall WaterfallOf(const PlayedJob& base, const PlayedJob& variant);

}  // namespace scenarios

#endif  // SCENARIOS_COMPARE_WATERFALL_H_
