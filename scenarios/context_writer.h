// ContextWriter: writes the attention core of a rank whose sequence is cut over
// ranks (context parallelism), with its communication on a stream of its own.
//
// Ring, forward: all blocks of keys and values are asked for at once, so the next one
// travels while one is worked on; a rank holds as many as it is behind. Backward: a
// block's gradients follow it one round later, beside the work on the block.
// Gather, and the exchange of heads: in front of the work, which waits.

#ifndef SCENARIOS_CONTEXT_WRITER_H_
#define SCENARIOS_CONTEXT_WRITER_H_

#include <cstdint>

#include "scenarios/job.h"

namespace scenarios {

class ContextWriter {
 public:
  // Both must outlive this. Where sequences are whole it must not be asked to write.
  ContextWriter(const Job& job, RankTape* tape);

  // From queries, keys and values, which `before` makes, to the output. Both return work
  // that is left to do.
  PhaseTimes Forward(const ContextPlan& plan, PhaseTimes before, sim::TaskClass task_class,
                     const sim::Label& label);
  // From the output's gradient to those of queries, keys and values.
  PhaseTimes Backward(const ContextPlan& plan, PhaseTimes before, const sim::Label& label);

 private:
  void RingForward(const ContextPlan& plan, sim::TaskClass task_class, const sim::Label& label);
  void RingBackward(const ContextPlan& plan, const sim::Label& label);
  void Gather(const ContextPlan& plan, const sim::Label& label);
  // All-to-alls that the next work waits for; none without Ulysses.
  void ExchangeInputs(const ContextPlan& plan, const sim::Label& label);
  void ExchangeOutput(const ContextPlan& plan, const sim::Label& label);
  sim::TaskId Move(const Membership& group, sim::CollectiveKind kind, sim::Bytes size, std::uint16_t name,
                   const sim::Label& label);

  const Job& job_;
  RankTape* tape_;
  Membership ulysses_, ring_;
  std::uint16_t pass_ = 0, gather_ = 0, scatter_ = 0, exchange_ = 0;  // names
};

}  // namespace scenarios

#endif  // SCENARIOS_CONTEXT_WRITER_H_
