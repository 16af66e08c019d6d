// JobBuilder: a program in the making, and what the ranks of a job share while they write themselves into it.

#ifndef SCENARIOS_JOB_BUILDER_H_
#define SCENARIOS_JOB_BUILDER_H_

#include <memory>
#include <vector>

#include "scenarios/checkpoint_writer.h"
#include "scenarios/communicators.h"
#include "scenarios/job.h"
#include "scenarios/scenario.h"
#include "scenarios/stage_plan.h"
#include "sim/base/result.h"
#include "sim/program/program_builder.h"

namespace scenarios {

class JobBuilder {
 public:
  // All must outlive this. With a fold only the ranks that act are to be written, and `joined`, where given,
  // takes the groups that ranks join.
  JobBuilder(const Scenario& scenario, const std::vector<StagePlan>& stages, const Fold* fold = nullptr,
             std::vector<GroupId>* joined = nullptr);

  const Job& job() const { return job_; }
  const Communicators& communicators() const { return communicators_; }
  // What has been written since the last call is all of one rank.
  void CloseRank();
  // It was written to see what it moves: no task of it stays.
  void DropRank() { builder_.DropScript(); }
  // Fails as the program's builder does, and where members of a group did not agree.
  sim::Result<sim::Program> Build() &&;

 private:
  sim::ProgramBuilder builder_;
  Communicators communicators_;
  std::vector<std::vector<sim::PipelineStep>> orders_;
  std::unique_ptr<CheckpointWriter> saves_;
  Job job_;
};

}  // namespace scenarios

#endif  // SCENARIOS_JOB_BUILDER_H_
