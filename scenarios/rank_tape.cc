#include "scenarios/rank_tape.h"

#include <algorithm>
#include <utility>

namespace scenarios {

void RankTape::BeginTurns() {
  builder_->Hold();
  launches_.BeginAnyOrder();
  before_ = {last_, waits_};
  turns_[0] = {builder_->tasks()};
  turns_[1].clear();
  writes_ = 0;
}

void RankTape::NextInTurns() {
  EndTurn();
  turns_[1] = {builder_->tasks()};
  writes_ = 1;
  after_ = std::exchange(waits_, before_.waits);
  last_ = before_.last;
}

void RankTape::EndTurns() {
  EndTurn();
  const std::size_t most = std::max(turns_[0].size(), turns_[1].size());
  for (std::size_t turn = 0; turn + 1 < most; ++turn) {
    for (const std::vector<std::size_t>& begins : turns_) {
      if (turn + 1 < begins.size()) builder_->Enqueue(begins[turn], begins[turn + 1]);
    }
  }
  builder_->Release();
  launches_.EndAnyOrder();
  writes_ = -1;
  waits_.insert(waits_.end(), after_.begin(), after_.end());
  last_ = builder_->Last(stream(sim::StreamKind::kCompute));
}

}  // namespace scenarios
