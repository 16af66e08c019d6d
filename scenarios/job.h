// Job: what the ranks of a job share while their tasks are written.

#ifndef SCENARIOS_JOB_H_
#define SCENARIOS_JOB_H_

#include <cstdint>
#include <vector>

#include "scenarios/communicators.h"
#include "scenarios/rank_tape.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/program/program_builder.h"
#include "sim/schedule/pipeline_schedule.h"

namespace scenarios {

class CheckpointWriter;

// The names of tasks, as ids of the program's table.
struct Names {
  explicit Names(sim::ProgramBuilder* b)
      : gather(b->Name("all-gather")),
        reduce(b->Name("reduce")),
        loss(b->Name("loss reduce")),
        send(b->Name("send activations")),
        send_gradient(b->Name("send gradients")),
        bucket(b->Name("gradient bucket")),
        parameters(b->Name("gather parameters")),
        tied(b->Name("tied embedding gradient")),
        norms(b->Name("norm gradients")),
        clip(b->Name("gradient norm")),
        optimizer(b->Name("optimizer")),
        step(b->Name("step")),
        dispatch(b->Name("dispatch")),
        combine(b->Name("combine")),
        state(b->Name("gather state")) {}
  std::uint16_t gather, reduce, loss, send, send_gradient, bucket, parameters, tied, norms, clip, optimizer,
      step, dispatch, combine, state;
};

// Everything that the ranks of a job share while their tasks are written.
struct Job {
  const Scenario& scenario;
  sim::ProgramBuilder* builder;
  Communicators* communicators;
  const std::vector<StagePlan>* stages;
  const std::vector<std::vector<sim::PipelineStep>>* orders;  // by stage
  GroupId world;                                              // all ranks, in order
  Names names;
  CheckpointWriter* saves = nullptr;       // null: nothing is saved
  sim::Duration launch_operation = {};     // of a communication, on a rank's host; zero: launches are free
  sim::Duration further_launch = {};       // of one that an operation issues beside others, as pieces
  const Fold* fold = nullptr;              // null: all ranks are written
  std::vector<GroupId>* joined = nullptr;  // if not null, takes the groups that ranks join, in order
};

// A group with this rank's position in it.
struct Membership {
  GroupId group;
  std::uint32_t member = 0;
};

// The rank's place in the group of `ranks`, or in the one that is written for it. REQUIRES: it is one of them
Membership Join(const Job& job, const std::vector<sim::Rank>& ranks, sim::Rank rank);

// A task of no layer: -1.
inline sim::Label LabelOf(std::uint16_t name, std::int64_t micro_batch, std::int64_t layer = -1) {
  return {name, static_cast<std::int16_t>(layer), static_cast<std::int32_t>(micro_batch)};
}

// The next collective of a rank in one of its groups, once its host has launched it, after task `after` (if
// valid) and all of `also`. None where it moves nothing.
sim::TaskId IssueAfter(const Job& job, const Membership& group, const Collective& collective,
                       sim::StreamId stream, sim::Label label, sim::TaskId after,
                       std::vector<sim::TaskId> also, RankTape* tape);

// The same on its stream of that kind, after what it last computed.
sim::TaskId Issue(const Job& job, const Membership& group, const Collective& collective,
                  sim::StreamKind stream, sim::Label label, RankTape* tape);

// The same, after all that the next work would wait for too.
sim::TaskId IssueAtEnd(const Job& job, const Membership& group, const Collective& collective,
                       sim::StreamKind stream, sim::Label label, RankTape* tape);

}  // namespace scenarios

#endif  // SCENARIOS_JOB_H_
