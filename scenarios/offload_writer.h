// OffloadWriter: adds to a rank's tasks the copies of activations to its host and
// back, as seats on two streams beside its compute stream.
//
//   copy out   after the layer's forward: device -> PCIe switch -> host -> memory
//   copy in    the same backwards, one layer ahead: while the layer behind it runs backward, or waits
//              to; after the copy out
//
// A layer takes one of the rank's two buffers with its forward and gives it back with
// the copy out; it takes one again for the copy in, until its backward has ended. Who
// takes a buffer waits for who had it last: a forward waits for the copy of the layer
// before the previous one, so a piece of layers takes the longer of compute and copies.

#ifndef SCENARIOS_OFFLOAD_WRITER_H_
#define SCENARIOS_OFFLOAD_WRITER_H_

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "scenarios/offload.h"
#include "scenarios/rank_tape.h"
#include "topologies/fabric.h"

namespace scenarios {

class OffloadWriter {
 public:
  // The fabric has ways to the hosts' memory. All must outlive this.
  OffloadWriter(const Scenario& scenario, sim::ProgramBuilder* builder, RankTape* tape);

  // Around each unit's forward and backward; units that stay on the device are left alone.
  void BeforeForward(const Unit& unit);
  void AfterForward(const Unit& unit, std::int64_t micro_batch);
  // `unit` is one of `units`, its chunk: the one before it comes back meanwhile.
  void BeforeBackward(const std::vector<Unit>& units, const Unit& unit, std::int64_t micro_batch);
  void AfterBackward(const Unit& unit);

 private:
  void Reload(const Unit& unit, std::int64_t micro_batch);
  // Whom the next user of a buffer waits for; none at first.
  sim::TaskId TakeBuffer();
  void GiveBack(sim::TaskId task);
  sim::TaskId Copy(sim::StreamKind kind, sim::TrafficId traffic, std::uint16_t name, const Unit& unit,
                   std::int64_t micro_batch);
  sim::TrafficId TrafficOf(const topologies::Route& route, sim::Bytes bytes,
                           std::map<sim::Bytes, sim::TrafficId>* known);

  const topologies::StorageRoutes& routes_;
  sim::ProgramBuilder* builder_;
  RankTape* tape_;
  std::uint16_t out_name_, in_name_;
  std::map<sim::Bytes, sim::TrafficId> out_traffic_, in_traffic_;
  std::map<std::pair<std::int64_t, std::int64_t>, sim::TaskId> copied_out_;  // by layer and micro-batch
  sim::TaskId copied_in_;                                                    // of the layer that comes next
  std::array<sim::TaskId, kOffloadBuffers> given_back_;                      // the last use of each buffer
  std::size_t taken_ = 0, returned_ = 0;  // how often a buffer was; they take turns
};

}  // namespace scenarios

#endif  // SCENARIOS_OFFLOAD_WRITER_H_
