#include "scenarios/step_builder.h"

#include <algorithm>
#include <memory>

#include "scenarios/checkpoint_writer.h"
#include "scenarios/communicators.h"
#include "scenarios/rank_tape.h"

namespace scenarios {
namespace {

using sim::CollectiveKind;
using sim::StreamKind;
using sim::TaskClass;

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
        state(b->Name("gather state")) {}
  std::uint16_t gather, reduce, loss, send, send_gradient, bucket, parameters, tied, norms, clip, optimizer,
      step, state;
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
  CheckpointWriter* saves;  // null: nothing is saved
};

// A group with this rank's position in it.
struct Membership {
  GroupId group;
  std::uint32_t member = 0;
};

Membership Join(const Job& job, const std::vector<sim::Rank>& ranks, sim::Rank rank) {
  const auto at = std::find(ranks.begin(), ranks.end(), rank);
  CHECK(at != ranks.end());
  return {job.communicators->Group(ranks), static_cast<std::uint32_t>(at - ranks.begin())};
}

// Writes all steps of one rank.
class RankBuilder {
 public:
  RankBuilder(const Job& job, sim::Rank rank);
  void Build();

 private:
  void Step(std::int64_t step);
  void Forward(const sim::PipelineStep& at);
  void Backward(const sim::PipelineStep& at, bool last_of_chunk);
  void UnitForward(const Unit& unit, std::int64_t micro_batch, TaskClass task_class);
  void UnitBackward(const Unit& unit, std::int64_t micro_batch);
  void BlockForward(const BlockPlan& block, const sim::Label& label, TaskClass task_class);
  void BlockBackward(const BlockPlan& block, const sim::Label& label);
  void GatherParameters();
  sim::TaskId GatherBucket(const Bucket& bucket);
  void ReduceBucket(const Bucket& bucket);
  void FinishStep(std::int64_t step);
  void Save(std::int64_t step);

  bool zero1() const { return job_.scenario.training.optimizer_sharding == OptimizerSharding::kZero1; }
  sim::TaskId Tensor(CollectiveKind kind, sim::Bytes size, sim::Label label);
  sim::TaskId Data(const Membership& group, CollectiveKind kind, sim::Bytes size, TaskClass task_class,
                   std::uint16_t name, std::int64_t number = -1);
  void Receive(const sim::PipelineStep& at, bool forward);
  void Send(const sim::PipelineStep& at, bool forward);
  sim::TaskId Transfer(const sim::PipelineStep& at, bool forward, bool sends);
  sim::Label LabelOf(std::uint16_t name, std::int64_t micro_batch, std::int64_t layer = -1) const {
    return {name, static_cast<std::int16_t>(layer), static_cast<std::int32_t>(micro_batch)};
  }
  std::int64_t PieceOf(const sim::PipelineStep& at) const {
    return std::int64_t{at.chunk} * job_.scenario.layout.pipeline + stage_;
  }

  const Job& job_;
  const std::int64_t stage_;
  const StagePlan& plan_;
  RankTape tape_;
  Membership tensor_, data_, world_, tied_;
  std::int64_t step_ = 0;
  std::vector<sim::TaskId> parameters_ready_;  // by bucket; none once waited for
  std::vector<std::uint16_t> block_names_;     // by plan_.blocks
};

RankBuilder::RankBuilder(const Job& job, sim::Rank rank)
    : job_(job),
      stage_(job.scenario.layout.Coordinate(rank, Dimension::kPipeline)),
      plan_((*job.stages)[static_cast<std::size_t>(stage_)]),
      tape_(job.builder, rank),
      parameters_ready_(plan_.buckets.size(), sim::TaskId::None()) {
  const Layout& layout = job.scenario.layout;
  tensor_ = Join(job, layout.Group(rank, Dimension::kTensor), rank);
  data_ = Join(job, layout.Group(rank, Dimension::kData), rank);
  world_ = {job.world, rank.value()};
  if (plan_.tied_gradient > sim::Bytes()) {
    const std::vector<sim::Rank> column = layout.Group(rank, Dimension::kPipeline);
    tied_ = Join(job, {column.front(), column.back()}, rank);
  }
  for (const BlockPlan& block : plan_.blocks) block_names_.push_back(job.builder->Name(block.name));
}

void RankBuilder::Build() {
  for (std::int64_t step = 0; step < job_.scenario.steps; ++step) Step(step);
}

void RankBuilder::Step(std::int64_t step) {
  step_ = step;
  if (step > 0) GatherParameters();
  std::vector<std::int64_t> left(plan_.chunks.size(), job_.scenario.batch.micro_batches);
  for (const sim::PipelineStep& at : (*job_.orders)[static_cast<std::size_t>(stage_)]) {
    if (at.kind == sim::PipelineStep::Kind::kForward) {
      Forward(at);
    } else {
      Backward(at, --left[at.chunk] == 0);
    }
  }
  FinishStep(step);
}

void RankBuilder::Forward(const sim::PipelineStep& at) {
  Receive(at, /*forward=*/true);
  for (const Unit& unit : plan_.chunks[at.chunk]) {
    sim::TaskId& parameters = parameters_ready_[unit.bucket];
    tape_.WaitFor(parameters);
    parameters = sim::TaskId::None();
    UnitForward(unit, at.microbatch, TaskClass::kForward);
  }
  Send(at, /*forward=*/true);
}

void RankBuilder::Backward(const sim::PipelineStep& at, bool last_of_chunk) {
  Receive(at, /*forward=*/false);
  const std::vector<Unit>& units = plan_.chunks[at.chunk];
  const bool overlap = job_.scenario.training.overlap_gradient_reduce;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    const bool full = job_.scenario.training.recompute == Recompute::kFull;
    if (full && unit->kind == Unit::Kind::kLayer) UnitForward(*unit, at.microbatch, TaskClass::kRecompute);
    UnitBackward(*unit, at.microbatch);
    if (last_of_chunk && overlap && unit->closes_bucket) ReduceBucket(plan_.buckets[unit->bucket]);
  }
  Send(at, /*forward=*/false);
}

void RankBuilder::UnitForward(const Unit& unit, std::int64_t micro_batch, TaskClass task_class) {
  for (const std::uint32_t block : unit.blocks) {
    BlockForward(plan_.blocks[block], LabelOf(block_names_[block], micro_batch, unit.layer), task_class);
  }
}

void RankBuilder::UnitBackward(const Unit& unit, std::int64_t micro_batch) {
  for (auto block = unit.blocks.rbegin(); block != unit.blocks.rend(); ++block) {
    BlockBackward(plan_.blocks[*block], LabelOf(block_names_[*block], micro_batch, unit.layer));
  }
}

// Phases with no communication between them run as one task.
void RankBuilder::BlockForward(const BlockPlan& block, const sim::Label& label, TaskClass task_class) {
  const bool sequence = job_.scenario.layout.sequence;
  sim::WorkTimes work = block.before_gather;
  if (sequence && job_.scenario.layout.tensor > 1 && block.gather_forward > sim::Bytes()) {
    tape_.Work(work, task_class, label);
    work = {};
    tape_.WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_forward,
                         LabelOf(job_.names.gather, label.micro_batch, label.layer)));
  }
  work = work + block.main;
  if (job_.scenario.layout.tensor > 1) {
    for (std::int64_t i = 0; i < block.small_reduces; ++i) {
      tape_.Work(work, task_class, label);
      work = {};
      tape_.WaitFor(Tensor(CollectiveKind::kAllReduce, block.small_reduce,
                           LabelOf(job_.names.loss, label.micro_batch, label.layer)));
    }
    if (block.reduce_forward > sim::Bytes()) {
      tape_.Work(work, task_class, label);
      work = {};
      tape_.WaitFor(Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                           block.reduce_forward, LabelOf(job_.names.reduce, label.micro_batch, label.layer)));
    }
  }
  tape_.Work(work + block.after_reduce, task_class, label);
}

void RankBuilder::BlockBackward(const BlockPlan& block, const sim::Label& label) {
  const bool sequence = job_.scenario.layout.sequence;
  const bool communicates = job_.scenario.layout.tensor > 1;
  const auto named = [&](std::uint16_t name) { return LabelOf(name, label.micro_batch, label.layer); };
  sim::WorkTimes work = block.backward_head;
  sim::TaskId input_gathered;
  if (communicates && sequence && block.gather_backward > sim::Bytes()) {
    tape_.Work(work, TaskClass::kBackward, label);
    work = {};
    tape_.WaitFor(Tensor(CollectiveKind::kAllGather, block.gather_backward, named(job_.names.gather)));
  }
  if (communicates && sequence) {
    input_gathered = Tensor(CollectiveKind::kAllGather, block.gather_again, named(job_.names.gather));
  }
  if (job_.scenario.training.recompute == Recompute::kSelective &&
      block.selective_recompute.alone > sim::Duration()) {
    tape_.Work(work, TaskClass::kBackward, label);
    work = {};
    tape_.Work(block.selective_recompute, TaskClass::kRecompute, label);
  }
  work = work + block.backward_main;
  if (communicates && block.reduce_backward > sim::Bytes()) {
    tape_.Work(work, TaskClass::kBackward, label);
    work = {};
    const sim::TaskId reduced = Tensor(sequence ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                                       block.reduce_backward, named(job_.names.reduce));
    tape_.WaitFor(input_gathered);
    tape_.Work(block.backward_weight, TaskClass::kBackward, label);
    tape_.WaitFor(reduced);
  } else {
    tape_.WaitFor(input_gathered);
    work = work + block.backward_weight;
  }
  tape_.Work(work + block.backward_tail, TaskClass::kBackward, label);
}

sim::TaskId RankBuilder::Tensor(CollectiveKind kind, sim::Bytes size, sim::Label label) {
  return job_.communicators->Issue(tensor_.group, tensor_.member, {kind, size, TaskClass::kTensor},
                                   tape_.stream(StreamKind::kTensor), label, tape_.last());
}

sim::TaskId RankBuilder::Data(const Membership& group, CollectiveKind kind, sim::Bytes size,
                              TaskClass task_class, std::uint16_t name, std::int64_t number) {
  return job_.communicators->Issue(group.group, group.member, {kind, size, task_class},
                                   tape_.stream(StreamKind::kData), LabelOf(name, number), tape_.last());
}

// ZeRO-1: each rank has updated its share and gathers the others', bucket by
// bucket in the order the forward needs them (the reverse of the backward's).
void RankBuilder::GatherParameters() {
  const Training& training = job_.scenario.training;
  if (!zero1() || !training.overlap_parameter_gather) return;
  for (std::size_t i = plan_.buckets.size(); i-- > 0;) parameters_ready_[i] = GatherBucket(plan_.buckets[i]);
}

// The data stream keeps the order of the parts, so the last one ends last.
sim::TaskId RankBuilder::GatherBucket(const Bucket& bucket) {
  const std::int64_t width = sim::ByteWidth(job_.scenario.training.format);
  sim::TaskId last;
  for (std::int64_t part = 0; part < bucket.parts; ++part) {
    last = Data(data_, CollectiveKind::kAllGather, sim::Bytes(PartOf(bucket, part) * width), TaskClass::kData,
                job_.names.parameters);
  }
  return last;
}

void RankBuilder::ReduceBucket(const Bucket& bucket) {
  const std::int64_t width = sim::ByteWidth(job_.scenario.training.gradient_format);
  const CollectiveKind kind = zero1() ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce;
  sim::TaskId last;
  for (std::int64_t part = 0; part < bucket.parts; ++part) {
    last = Data(data_, kind, sim::Bytes(PartOf(bucket, part) * width), TaskClass::kData, job_.names.bucket);
  }
  tape_.WaitForAtEnd(last);
}

void RankBuilder::FinishStep(std::int64_t step) {
  const Training& training = job_.scenario.training;
  if (!training.overlap_gradient_reduce) {
    for (const Bucket& bucket : plan_.buckets) ReduceBucket(bucket);
  }
  tape_.TakeEndWaits();
  tape_.WaitFor(Tensor(CollectiveKind::kAllReduce, plan_.sequence_gradient, LabelOf(job_.names.norms, -1)));
  if (plan_.tied_gradient > sim::Bytes()) {
    tape_.WaitFor(
        Data(tied_, CollectiveKind::kAllReduce, plan_.tied_gradient, TaskClass::kEmbedding, job_.names.tied));
  }
  if (training.gradient_norm) {
    tape_.WaitFor(Data(world_, CollectiveKind::kAllReduce, sim::Bytes(4), TaskClass::kNorm, job_.names.clip));
  }
  tape_.Work(plan_.optimizer, TaskClass::kOptimizer, LabelOf(job_.names.optimizer, -1));
  if (zero1() && !training.overlap_parameter_gather) {
    for (std::size_t i = plan_.buckets.size(); i-- > 0;) tape_.WaitFor(GatherBucket(plan_.buckets[i]));
  }
  tape_.Mark(TaskClass::kStepEnd, LabelOf(job_.names.step, step));
  if (job_.saves != nullptr) Save(step);
}

void RankBuilder::Save(std::int64_t step) {
  const std::int64_t save = job_.saves->AfterStep(step);
  if (save < 0) return;
  const sim::TaskId gathered = Data(data_, CollectiveKind::kAllGather, job_.saves->Gathered(tape_.rank()),
                                    TaskClass::kCheckpoint, job_.names.state, save);
  job_.saves->Add(save, gathered, &tape_);
}

// Activations go from a piece to the next one, gradients the other way.
void RankBuilder::Receive(const sim::PipelineStep& at, bool forward) {
  const std::int64_t piece = PieceOf(at);
  const std::int64_t last = job_.scenario.layout.pipeline * job_.scenario.layout.virtual_stages - 1;
  if (forward ? piece > 0 : piece < last) tape_.WaitFor(Transfer(at, forward, /*sends=*/false));
}

void RankBuilder::Send(const sim::PipelineStep& at, bool forward) {
  const std::int64_t piece = PieceOf(at);
  const std::int64_t last = job_.scenario.layout.pipeline * job_.scenario.layout.virtual_stages - 1;
  if (forward ? piece < last : piece > 0) Transfer(at, forward, /*sends=*/true);
}

sim::TaskId RankBuilder::Transfer(const sim::PipelineStep& at, bool forward, bool sends) {
  const Layout& layout = job_.scenario.layout;
  const std::vector<sim::Rank> column = layout.Group(tape_.rank(), Dimension::kPipeline);
  const std::int64_t piece = PieceOf(at), stages = layout.pipeline;
  const bool to_next = forward == sends;  // the partner holds the next piece
  const std::int64_t partner_piece = to_next ? piece + 1 : piece - 1;
  const sim::Rank partner = column[static_cast<std::size_t>(partner_piece % stages)];
  const std::int64_t boundary = std::min(piece, partner_piece);

  // A slot for each (step, boundary, direction, micro-batch, column of ranks).
  const std::int64_t columns = layout.ranks() / stages;
  const std::int64_t boundaries = stages * layout.virtual_stages - 1;
  std::int64_t slot = step_;
  slot = slot * boundaries + boundary;
  slot = slot * 2 + (forward ? 1 : 0);
  slot = slot * job_.scenario.batch.micro_batches + at.microbatch;
  slot = slot * columns + layout.ColumnOf(tape_.rank());

  StreamKind stream = StreamKind::kToNext;
  if (sends && !forward) stream = StreamKind::kToPrevious;
  if (!sends) stream = forward ? StreamKind::kFromPrevious : StreamKind::kFromNext;
  const std::uint16_t name = forward ? job_.names.send : job_.names.send_gradient;
  const sim::Rank from = sends ? tape_.rank() : partner, to = sends ? partner : tape_.rank();
  return job_.communicators->SendOrReceive(static_cast<std::size_t>(slot), from, to, plan_.boundary,
                                           tape_.stream(stream), LabelOf(name, at.microbatch),
                                           sends ? tape_.last() : sim::TaskId::None());
}

}  // namespace

std::vector<StagePlan> PlanStages(const Scenario& scenario, const hardware::CostModel& cost) {
  std::vector<StagePlan> stages;
  for (std::uint32_t stage = 0; stage < scenario.layout.pipeline; ++stage) {
    stages.push_back(PlanStage(scenario, cost, stage));
  }
  return stages;
}

sim::Result<StepProgram> BuildSteps(const Scenario& scenario, const hardware::CostModel& cost) {
  return BuildSteps(scenario, PlanStages(scenario, cost));
}

sim::Result<StepProgram> BuildSteps(const Scenario& scenario, std::vector<StagePlan> stages,
                                    const std::function<bool(std::int64_t)>& go_on) {
  const Layout& layout = scenario.layout;
  sim::ProgramBuilder builder(static_cast<std::uint32_t>(layout.ranks()),
                              topologies::CapacitiesOf(scenario.fabric));
  Communicators communicators(scenario, &builder);
  communicators.ReserveSlots(static_cast<std::size_t>(scenario.steps * 2 * scenario.batch.micro_batches *
                                                      (layout.pipeline * layout.virtual_stages - 1) *
                                                      (layout.ranks() / layout.pipeline)));
  StepProgram result{.program = {}, .stages = std::move(stages)};
  std::vector<std::vector<sim::PipelineStep>> orders;
  for (std::uint32_t stage = 0; stage < layout.pipeline; ++stage) {
    orders.push_back(scenario.pipeline.schedule->order(scenario.pipeline.shape, stage));
  }
  const GroupId world = communicators.Group(layout.AllRanks());
  const auto saves = scenario.checkpoint ? std::make_unique<CheckpointWriter>(scenario, &builder) : nullptr;
  const Job job{scenario, &builder, &communicators,  &result.stages,
                &orders,  world,    Names(&builder), saves.get()};
  for (std::int64_t rank = 0; rank < layout.ranks(); ++rank) {
    if (go_on && !go_on(rank)) return sim::Error{"stopped while the program was built"};
    RankBuilder(job, sim::Rank(static_cast<std::uint32_t>(rank))).Build();
    // Transfers of chunks tie the ranks of a group together.
    if (scenario.fidelity == Fidelity::kFlow) builder.CloseScript();
  }
  if (communicators.mismatch()) return *communicators.mismatch();
  sim::Result<sim::Program> program = std::move(builder).Build();
  if (!program.ok()) return program.error();
  result.program = std::move(program).value();
  return result;
}

}  // namespace scenarios
