// CheckpointWriter: adds the saves of a job to its program. It has no clock: a
// save is a few seats on two more streams of each rank.
//
//   (gather state)     data stream: CONSOLIDATED only
//   copy to host       copy-out stream: one flow over PCIe and the host's memory
//   write checkpoint   host stream: one flow at the rate of its slowest part, max-min fair with all
//                      others: serialiser, host memory, NIC or front end, fabric, servers
//   all have written   host stream: SYNC only, a rendezvous of all ranks
//
// The copy of a save waits for the write that frees its place in staging: with
// room for k saves on a node, for the rank's own write k saves before.

#ifndef SCENARIOS_CHECKPOINT_WRITER_H_
#define SCENARIOS_CHECKPOINT_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/checkpoint_plan.h"
#include "scenarios/rank_tape.h"
#include "scenarios/scenario.h"
#include "sim/program/program_builder.h"

namespace scenarios {

// `bytes` along a route, by copy engines and hosts: no SM is held.
sim::TrafficDescription StorageTraffic(std::string name, sim::Bytes bytes, const topologies::Route& route,
                                       sim::ByteRate limit = {});

class CheckpointWriter {
 public:
  // The scenario has a checkpoint and a fabric with storage. Both must outlive this.
  CheckpointWriter(const Scenario& scenario, sim::ProgramBuilder* builder);

  // Which save follows this step; -1: none.
  std::int64_t AfterStep(std::int64_t step) const {
    return SaveAfterStep(step, scenario_.steps, scenario_.checkpoint->every_steps);
  }
  // What the rank's data group gathers before it saves.
  sim::Bytes Gathered(sim::Rank rank) const { return plan_.gathered[rank.pos()]; }

  // Save number `save` of the tape's rank, after its last task and `gathered`
  // (if valid). Training that must not go on before is made to wait.
  void Add(std::int64_t save, sim::TaskId gathered, RankTape* tape);

 private:
  sim::TaskId Write(std::int64_t save, sim::TaskId after, RankTape* tape);
  sim::TaskId Meet(std::int64_t save, sim::TaskId after, RankTape* tape);
  sim::Label LabelOf(std::uint16_t name, std::int64_t save) const {
    return {name, -1, static_cast<std::int32_t>(save)};
  }

  const Scenario& scenario_;
  sim::ProgramBuilder* builder_;
  CheckpointPlan plan_;
  std::uint16_t copy_, write_, written_, go_on_;
  sim::TrafficId nothing_;
  std::vector<sim::TrafficId> copies_, writes_;       // by rank; none: it writes nothing
  std::vector<std::vector<sim::TaskId>> written_at_;  // by rank and save: the write
  std::vector<sim::CommunicationId> meetings_;        // by save
};

}  // namespace scenarios

#endif  // SCENARIOS_CHECKPOINT_WRITER_H_
