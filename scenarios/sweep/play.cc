#include "scenarios/sweep/play.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "scenarios/sweep/look.h"

namespace scenarios {
namespace {

// Lets runs begin while they fit into memory together; in the order in which they ask, so that a large one is
// not passed for ever. One alone always may.
class Room {
 public:
  explicit Room(double bytes) : bytes_(bytes) {}

  void Enter(double bytes) {
    std::unique_lock lock(mutex_);
    const std::size_t ticket = last_ticket_++;
    changed_.wait(lock, [&] { return ticket == next_ && (inside_ == 0 || used_ + bytes <= bytes_); });
    ++next_;
    ++inside_;
    used_ += bytes;
    changed_.notify_all();
  }
  void Leave(double bytes) {
    const std::scoped_lock lock(mutex_);
    --inside_;
    used_ = inside_ == 0 ? 0 : used_ - bytes;
    changed_.notify_all();
  }

 private:
  const double bytes_;
  std::mutex mutex_;
  std::condition_variable changed_;
  double used_ = 0;
  std::size_t inside_ = 0, next_ = 0, last_ticket_ = 0;
};

// `work` on so many threads, this one among them.
void OnThreads(int threads, const std::function<void()>& work) {
  std::vector<std::jthread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work);
  work();
}

class Player {
 public:
  Player(const SweepJob& job, const std::vector<Point>& points, const PlayPointsOptions& options,
         std::vector<std::optional<Row>>* rows)
      : job_(job), points_(points), options_(options), rows_(*rows), room_(options.memory_limit) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (!rows_[i]) pending_.push_back(i);
    }
  }

  bool PlayAll() {
    ForEachPending([&](std::size_t point) {
      Look look = LookAt(point);
      Finish(point, &look);
    });
    return !stopped_;
  }

  bool PlayBest(const Wanted& wanted) {
    std::vector<Row> looks(points_.size());
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (rows_[i]) looks[i] = *rows_[i];
    }
    ForEachPending([&](std::size_t point) {
      Look look = LookAt(point);
      looks[point] = look.row;
      if (!look.scenario) Finish(point, &look);
    });
    if (stopped_) return false;
    PlayInOrder(wanted, looks);
    return !stopped_;
  }

 private:
  Look LookAt(std::size_t point) const {
    return scenarios::LookAt(job_, points_[point], options_.memory_limit, options_.play_all);
  }

  bool GoesOn() {
    if (options_.go_on && !options_.go_on()) stopped_ = true;
    return !stopped_;
  }

  void ForEachPending(const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next{0};
    OnThreads(Threads(pending_.size()), [&] {
      for (std::size_t i = next++; i < pending_.size() && GoesOn(); i = next++) work(pending_[i]);
    });
  }

  int Threads(std::size_t most) const {
    return static_cast<int>(
        std::clamp<std::size_t>(most, 1, static_cast<std::size_t>(std::max(options_.jobs, 1))));
  }

  // Plays where there is something to play, and keeps the row.
  void Finish(std::size_t point, Look* look) {
    std::optional<Row> row = look->row;
    if (look->scenario) {
      room_.Enter(look->bytes);
      row = PlayLook(*look, options_.memory_limit, [&] { return GoesOn(); });
      room_.Leave(look->bytes);
    }
    if (row) Keep({point, *std::move(row), std::move(look->files)}, true);
  }

  void Keep(PointResult result, bool of_play) {
    const std::scoped_lock lock(told_);
    rows_[result.point] = result.row;
    if (options_.on_row && !options_.on_row(result, of_play)) stopped_ = true;
  }

  // Points that can be played, by their bounds; and those that were, so that decisions are made again as they
  // were before an interruption.
  std::vector<std::size_t> OrderOf(const std::vector<Row>& looks, const Ruler& ruler) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < looks.size(); ++i) {
      const RowStatus status = looks[i].status;
      const bool playable = !rows_[i] || rows_[i]->played() || status == RowStatus::kNotPlayable;
      if (!playable) continue;
      const auto merit = ruler.Of(looks[i], *looks[i].least_step_time);
      order.emplace_back(merit ? merit->by_metric : 0, i);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> points;
    for (const auto& [bound, point] : order) points.push_back(point);
    return points;
  }

  void PlayInOrder(const Wanted& wanted, const std::vector<Row>& looks);

  const SweepJob& job_;
  const std::vector<Point>& points_;
  const PlayPointsOptions& options_;
  std::vector<std::optional<Row>>& rows_;
  std::vector<std::size_t> pending_;
  Room room_;
  std::mutex told_;
  std::atomic<bool> stopped_{false};
};

// Threads take points in order; the one at place n waits until those up to n - kSkipWindow are done, and they
// alone decide about it.
void Player::PlayInOrder(const Wanted& wanted, const std::vector<Row>& looks) {
  const CostUnit unit = CostUnitOf(looks);
  const std::vector<std::size_t> order = OrderOf(looks, {wanted.metric, unit});
  std::mutex mutex;
  std::condition_variable changed;
  Skipper skipper(wanted, unit);
  std::vector<char> done(order.size(), 0);
  std::size_t next = 0, all_done = 0;  // all_done: so many of the first are done, and in the skipper

  // With the mutex held. Takes up what is done, but nothing beyond the window of place `next`.
  const auto ready = [&] {
    if (stopped_ || next >= order.size()) return true;
    const std::size_t needed = next < kSkipWindow ? 0 : next - kSkipWindow + 1;
    for (; all_done < needed && done[all_done] != 0; ++all_done) skipper.Add(*rows_[order[all_done]]);
    return all_done >= needed;
  };
  const auto work = [&] {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, ready);
      if (next >= order.size() || !GoesOn()) break;
      const std::size_t place = next++, point = order[place];
      if (!rows_[point] && skipper.Skips(looks[point])) {
        Row row = looks[point];
        row.status = RowStatus::kSkipped;
        row.reason = "its lower bound says that it cannot beat what was played";
        Keep({point, std::move(row), {}}, false);
      } else if (!rows_[point]) {
        lock.unlock();
        Look look = LookAt(point);
        Finish(point, &look);
        lock.lock();
      }
      done[place] = rows_[point] ? 1 : 0;
      changed.notify_all();
    }
    changed.notify_all();
  };
  OnThreads(Threads(order.size()), work);
}

}  // namespace

bool PlayPoints(const SweepJob& job, const std::vector<Point>& points, const PlayPointsOptions& options,
                std::vector<std::optional<Row>>* rows) {
  return Player(job, points, options, rows).PlayAll();
}

bool PlayBest(const SweepJob& job, const std::vector<Point>& points, const Wanted& wanted,
              const PlayPointsOptions& options, std::vector<std::optional<Row>>* rows) {
  return Player(job, points, options, rows).PlayBest(wanted);
}

}  // namespace scenarios
