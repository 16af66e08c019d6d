#include "scenarios/communicators.h"

#include <algorithm>
#include <string>

#include "scenarios/custom_all_reduce.h"
#include "scenarios/expert_exchange.h"
#include "scenarios/fold.h"

namespace scenarios {

Communicators::Communicators(const Scenario& scenario, sim::ProgramBuilder* builder, const Fold* fold)
    : scenario_(scenario), builder_(builder), fold_(fold) {}

GroupId Communicators::Group(const std::vector<sim::Rank>& ranks) {
  const auto [at, is_new] = group_ids_.try_emplace(ranks, groups_.size());
  if (is_new) {
    GroupState& group = groups_.emplace_back();
    group.ranks = ranks;
    for (const sim::Rank rank : ranks) group.devices.push_back(rank.value());
    group.next.assign(ranks.size(), 0);
  }
  return at->second;
}

bool Communicators::Moves(GroupId group, const Collective& collective) const {
  return groups_[group.pos()].ranks.size() > 1 && collective.size > sim::Bytes();
}

std::uint32_t Communicators::size(GroupId group) const {
  return static_cast<std::uint32_t>(groups_[group.pos()].ranks.size());
}

sim::TaskId Communicators::Issue(GroupId id, std::uint32_t member, const Collective& collective,
                                 sim::StreamId stream, sim::Label label, sim::TaskId after,
                                 std::span<const sim::TaskId> also) {
  if (!Moves(id, collective)) return sim::TaskId::None();
  GroupState& group = groups_[id.pos()];
  const std::uint32_t turn = group.next[member]++;
  if (turn == group.issued.size()) {
    const sim::CommunicationId enter = Create(id, collective, builder_->kind_of(stream), label);
    group.issued.push_back({collective.size, enter, member, collective.kind});
  }
  const Issued& issued = group.issued[turn];
  if (issued.kind != collective.kind || issued.size != collective.size) {
    Disagree(group, turn, member, collective);
    return sim::TaskId::None();
  }
  const sim::TaskId enter = builder_->Seat(stream, issued.enter, collective.task_class, label);
  if (after.valid()) builder_->After(enter, after);
  for (const sim::TaskId task : also) builder_->After(enter, task);
  if (group.chunks.empty()) return enter;
  const IssuedChunks& chunks = group.chunks[turn];
  const sim::TaskId leave = builder_->Seat(stream, chunks.leave, collective.task_class, label);
  for (std::size_t i = 0; i < chunks.first_senders.size(); ++i) {
    if (chunks.first_senders[i] == member) builder_->After(chunks.first_transfers[i], enter);
  }
  return leave;
}

void Communicators::Disagree(const GroupState& group, std::uint32_t turn, std::uint32_t member,
                             const Collective& collective) {
  if (mismatch_) return;
  const Issued& issued = group.issued[turn];
  const auto said = [&](std::uint32_t who, sim::CollectiveKind kind, sim::Bytes size) {
    return "rank " + std::to_string(group.ranks[who].value()) + " issues " + sim::ToText(kind) + " of " +
           std::to_string(size.count()) + " bytes";
  };
  mismatch_ = sim::Error{
      "operation " + std::to_string(turn) + " of a communicator of " + std::to_string(group.ranks.size()) +
      " ranks: " + said(issued.member, issued.kind, issued.size) + ", " +
      said(member, collective.kind, collective.size) + "; all members must issue the same sequence"};
}

std::optional<sim::Algorithm> OwnAlgorithmOf(const Scenario& scenario, const Collective& collective,
                                             std::size_t members) {
  const CustomAllReduce kind = scenario.training.tensor_all_reduce;
  const bool reduces = collective.kind == sim::CollectiveKind::kAllReduce &&
                       collective.task_class == sim::TaskClass::kTensor &&
                       members == static_cast<std::size_t>(scenario.layout.tensor);
  if (!reduces || kind == CustomAllReduce::kNone) return std::nullopt;
  if (kind == CustomAllReduce::kVllm) return VllmChoice(members, collective.size);
  if (collective.size > MostOfCustom(members)) return std::nullopt;
  return kind == CustomAllReduce::kOneShot ? sim::Algorithm::kOneShot : sim::Algorithm::kTwoShot;
}

// Loads relative to the largest, in thousandths; a load is never rounded to nothing.
sim::CollectiveRequest Communicators::RequestOf(const GroupState& group, const Collective& collective) const {
  sim::CollectiveRequest request{.kind = collective.kind,
                                 .size = collective.size,
                                 .inside = collective.inside,
                                 .uneven = collective.uneven,
                                 .algorithm = OwnAlgorithmOf(scenario_, collective, group.ranks.size())};
  if (collective.uneven == sim::Uneven::kNo) return request;
  constexpr sim::Wide kLargest = 1000;
  const std::vector<std::int64_t>& loads = scenario_.experts.loads;
  const sim::Wide most = *std::max_element(loads.begin(), loads.end());
  for (const std::int64_t load : loads) {
    const sim::Wide part = (kLargest * load + most / 2) / most;
    request.parts.push_back(static_cast<std::uint32_t>(load > 0 ? std::max<sim::Wide>(part, 1) : 0));
  }
  return request;
}

std::optional<hardware::CollectiveTiming> Communicators::OwnTimingOf(
    const GroupState& group, const Collective& collective, const sim::CollectiveRequest& request) const {
  const RoutedExperts& experts = scenario_.experts;
  if (experts.deepep_sms == 0 || collective.kind != sim::CollectiveKind::kAllToAllByNode) return std::nullopt;
  const hardware::Exchange* figures =
      hardware::FindExchange(scenario_.device, experts.deepep_kernels, collective.homeward);
  const auto of = ExchangeGroupOf(scenario_.fabric, group.devices);
  CHECK(figures != nullptr && of.has_value());
  return ExchangeTiming(*figures, scenario_.device.node, experts.deepep_sms, request, *of);
}

CollectiveCosts Communicators::CostsOf(const std::optional<hardware::CollectiveTiming>& own) const {
  CollectiveCosts costs(scenario_.device);
  if (!own) return costs;
  costs.timing = std::span(&*own, 1);
  costs.nccl = nullptr;
  if (costs.sms > 0) costs.sms = static_cast<std::int32_t>(scenario_.experts.deepep_sms);
  return costs;
}

CollectiveKey Communicators::KeyOf(const Collective& collective) const {
  const bool by_deepep = scenario_.experts.deepep_sms > 0;
  const bool own_reduce = scenario_.training.tensor_all_reduce != CustomAllReduce::kNone;
  // Otherwise neither matters.
  return {collective.kind,
          collective.size,
          collective.inside,
          collective.uneven,
          own_reduce ? collective.task_class : sim::TaskClass{},
          by_deepep && collective.homeward,
          collective.copy_engines};
}

sim::TrafficDescription Communicators::Lower(GroupId id, const Collective& collective) const {
  const GroupState& group = groups_[id.pos()];
  const sim::CollectiveRequest request = RequestOf(group, collective);
  const auto own = OwnTimingOf(group, collective, request);
  sim::TrafficDescription traffic = LowerCollective(scenario_.fabric, CostsOf(own), request, group.devices);
  if (collective.copy_engines) traffic.taken.sms = 0;
  return traffic;
}

// A waiting receive must not slow its rank down for as long as the pipeline is idle; what one point-to-point
// channel takes is left out.
sim::TrafficDescription Communicators::Lower(const PointToPoint& send) const {
  const std::uint32_t devices[] = {send.from.value(), send.to.value()};
  sim::TrafficDescription traffic =
      LowerCollective(scenario_.fabric, scenario_.device, sim::CollectiveKind::kSendRecv, send.size, devices);
  traffic.taken = {};
  return traffic;
}

sim::CommunicationId Communicators::Create(GroupId id, const Collective& collective,
                                           sim::StreamKind stream_kind, sim::Label label) {
  GroupState& group = groups_[id.pos()];
  if (scenario_.fidelity == Fidelity::kChunk) return CreateTransfers(group, collective, stream_kind, label);
  const CollectiveKey key = KeyOf(collective);
  auto at = group.traffic.find(key);
  if (at == group.traffic.end()) {
    const sim::TrafficId traffic = builder_->AddTraffic(
        fold_ == nullptr ? Lower(id, collective) : fold_->collectives.at({group.ranks, key}));
    at = group.traffic.emplace(key, Known{traffic, collective}).first;
    members_.resize(traffic.pos() + 1);
    members_.back() = group.ranks;
  }
  return builder_->AddCommunication(at->second.traffic);
}

std::vector<Collective> Communicators::IssuedIn(GroupId group) const {
  std::vector<Collective> issued;
  for (const auto& [key, known] : groups_[group.pos()].traffic) issued.push_back(known.collective);
  return issued;
}

std::vector<PointToPoint> Communicators::Sent() const {
  std::vector<PointToPoint> sent;
  for (const auto& [send, traffic] : sends_) sent.push_back(send);
  return sent;
}

// Members sit in `leave` from the moment the transfers begin, as the kernel does
// that holds their SMs. One seat more, on a stream that nothing else uses, comes
// when the last transfer has ended, and lets all of them go.
sim::CommunicationId Communicators::CreateTransfers(GroupState& group, const Collective& collective,
                                                    sim::StreamKind stream_kind, sim::Label label) {
  IssuedChunks& issued = group.chunks.emplace_back();
  const sim::CollectiveRequest request = RequestOf(group, collective);
  const auto own = OwnTimingOf(group, collective, request);
  ChunkedTraffic chunked = LowerIntoChunks(scenario_.fabric, CostsOf(own), request, group.devices);
  if (collective.copy_engines) chunked.rendezvous.taken.sms = 0;
  const sim::DeviceTaken taken = chunked.rendezvous.taken;
  chunked.rendezvous.taken.memory = 0;  // nothing moves yet
  const sim::CommunicationId enter = builder_->AddCommunication(builder_->AddTraffic(chunked.rendezvous));
  const sim::TrafficDescription nothing{
      .name = chunked.rendezvous.name, .size = collective.size, .taken = taken};
  issued.leave = builder_->AddCommunication(builder_->AddTraffic(nothing));
  if (!group.closing.valid()) group.closing = builder_->AddStream(group.ranks[0], stream_kind);
  const sim::TaskId closing = builder_->Seat(group.closing, issued.leave, collective.task_class, label);
  std::vector<sim::TaskId> transfers;
  for (const ChunkedTraffic::Transfer& transfer : chunked.transfers) {
    // What comes from a switch is a task of the member that it comes to.
    const std::uint32_t member = transfer.from == sim::kNvSwitch ? transfer.to : transfer.from;
    const auto edge = std::tuple(transfer.channel, transfer.from, transfer.to);
    auto channel = group.channels.find(edge);
    if (channel == group.channels.end()) {
      channel = group.channels.emplace(edge, builder_->AddStream(group.ranks[member], stream_kind)).first;
    }
    sim::TrafficDescription traffic = transfer.traffic;
    traffic.taken = {};  // the members' seats do
    const sim::TaskId task =
        builder_->Seat(channel->second, builder_->AddCommunication(builder_->AddTraffic(traffic)),
                       collective.task_class, label);
    for (const std::uint32_t earlier : transfer.after) builder_->After(task, transfers[earlier]);
    builder_->After(closing, task);
    transfers.push_back(task);
    if (!transfer.after.empty()) continue;
    issued.first_transfers.push_back(task);
    issued.first_senders.push_back(member);
  }
  return enter;
}

sim::TaskId Communicators::SendOrReceive(std::size_t slot, const PointToPoint& send, sim::StreamId stream,
                                         sim::Label label, sim::TaskId after) {
  sim::CommunicationId& communication = slots_[slot];
  if (!communication.valid()) {
    auto at = sends_.find(send);
    if (at == sends_.end()) {
      const sim::TrafficId traffic =
          builder_->AddTraffic(fold_ == nullptr ? Lower(send) : fold_->sends.at(send));
      at = sends_.emplace(send, traffic).first;
    }
    communication = builder_->AddCommunication(at->second);
  }
  const sim::TaskId seat = builder_->Seat(stream, communication, sim::TaskClass::kPipeline, label);
  if (after.valid()) builder_->After(seat, after);
  return seat;
}

}  // namespace scenarios
