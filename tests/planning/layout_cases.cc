// How a plan is made (17.9.4, 17.5.10), and a layout that is best by hand and not as simulated.

#include <algorithm>

#include "tests/pages/page.h"
#include "tests/planning/planning.h"

namespace planning {
namespace {

using pages::Number;
using pages::Percent;
using pages::TableLine;
using pages::Wrapped;
using scenarios::Candidate;
using scenarios::Played;

std::string Text(const Candidate& c) { return ToText(c.layout, c.shape.data); }

std::string Seconds(double seconds) { return pages::Milliseconds(seconds, 0); }

}  // namespace

Steps PlanSteps() {
  PlanRequest wishes = Wishes("llama_7b", 2e12);
  wishes.search.plays = 1;
  wishes.limits = {.tensor = 1, .pipeline = 1, .micro = 4};
  Steps found;
  // Nothing asks for more than memory; 10 days do; 50,000 USD do not suffice.
  wishes.global_batch = 64;
  found.by_memory = OnePlanOf(wishes);
  wishes.global_batch = 2048;
  wishes.days = 10;
  found.by_time = OnePlanOf(wishes);
  wishes.budget_usd = 50'000;
  found.by_money = OnePlanOf(wishes);
  return found;
}

Case ToCase(const Steps& f) {
  Case one{.title = "How a plan is made"};
  one.text = Wrapped(
                 "A plan takes the ten steps of figure F17-57 (17.9.4); the six of F17-27 (17.5.10), which "
                 "choose a layout, "
                 "are among them. Which one decides is marked: for LLaMA-7B and 2e12 tokens without a "
                 "deadline, in 10 days, "
                 "and in 10 days for 50,000 USD.") +
             "\n\n";
  one.text += pages::TableHead({"step", "what", "of F17-27", "no deadline", "10 days", "and 50,000 USD"});
  const char* const sixth[] = {"", "", "", "1, 2", "3, 4", "4", "5", "6", "", ""};
  for (std::size_t i = 0; i < f.by_time.steps.size(); ++i) {
    const auto mark = [&](const DevicePlan& plan) { return plan.steps[i].binds ? "decides" : ""; };
    one.text += TableLine({Number(f.by_time.steps[i].number), f.by_time.steps[i].title, sixth[i],
                           mark(f.by_memory), mark(f.by_time), mark(f.by_money)});
  }
  one.text += '\n' +
              Wrapped(
                  "The figures end in loops: back to the layout where memory or communication is too much, "
                  "to the wishes where "
                  "money is. Here all layouts with whole layers a stage and tensor groups inside NVLink are "
                  "enumerated; those "
                  "that fit are played, those with the lowest bound first, until no bound is below the best "
                  "play; days on the "
                  "clock then correct the number of devices, round after round. A bound is what no play can "
                  "be shorter than: "
                  "kernels, pipeline fill, what has to be sent. Real steps take longer than simulated ones, "
                  "by 16 % on "
                  "average of published ones (docs/validation.md); every deadline is held with that margin. "
                  "What does not "
                  "hold says what would have to give, as for 50,000 USD: ") +
              '\n';
  for (const std::string& gives : f.by_money.gives) one.text += "\n> " + gives + '\n';
  one.text.pop_back();
  return one;
}

HandOrder PlanHandOrder() {
  PlanRequest wishes = Wishes("llama_7b", 2e12);
  wishes.device_count = 64;
  wishes.sequence_length = 2048;
  wishes.global_batch = 192;
  wishes.search.plays = 8;
  wishes.search.slice = 64;  // all
  return {OnePlanOf(wishes)};
}

double HandBubble(const Candidate& c) { return c.hand.bubble_s / c.hand.step_s(); }

const Played* PlayOf(const HandOrder& f, const Candidate& candidate) {
  const auto& played = f.plan.search.played;
  const auto at = std::find_if(played.begin(), played.end(),
                               [&](const Played& p) { return p.candidate.layout == candidate.layout; });
  return at == played.end() ? nullptr : &*at;
}

Case ToCase(const HandOrder& f) {
  constexpr std::size_t kShown = 5;
  Case one{.title = "A layout that is best by hand and not as simulated"};
  const auto& by_hand = f.plan.search.candidates;
  const auto& played = f.plan.search.played;
  one.text =
      Wrapped(
          "LLaMA-7B on 64 H800, 192 sequences of 2,048 tokens a step: few tokens a device. By hand is "
          "the textbook's step: kernels at 0.7 of the peak, bubble, data ranks beside them, tensor groups "
          "behind. Ranks are among all layouts that fit; ms.") +
      "\n\n";
  one.text += pages::TableHead(
      {"by hand", "as simulated", "layout", "step by hand", "step as simulated", "waited for as simulated"});
  std::vector<const Candidate*> shown;
  for (std::size_t i = 0; i < std::min(kShown, by_hand.size()); ++i) shown.push_back(&by_hand[i]);
  for (std::size_t i = 0; i < std::min(kShown, played.size()); ++i) {
    const auto same = [&](const Candidate* c) { return c->layout == played[i].candidate.layout; };
    if (std::none_of(shown.begin(), shown.end(), same)) shown.push_back(&played[i].candidate);
  }
  for (const Candidate* c : shown) {
    const auto hand = std::find_if(by_hand.begin(), by_hand.end(),
                                   [&](const Candidate& other) { return other.layout == c->layout; });
    const Played* p = PlayOf(f, *c);
    one.text +=
        TableLine({Number(static_cast<double>(hand - by_hand.begin()) + 1),
                   p ? Number(static_cast<double>(p - played.data()) + 1) : "not played", Text(*c),
                   Seconds(c->hand.step_s()), p ? Seconds(p->step_s()) : "at least " + Seconds(c->bound_s),
                   p ? WaitsText(p->report) : ""});
  }
  const Played* first = PlayOf(f, by_hand.front());
  one.text +=
      '\n' +
      Wrapped("By hand " + Text(by_hand.front()) + " is the shortest; simulated it takes " +
              Seconds(first->step_s()) + " ms, and " + Text(played.front().candidate) + ' ' +
              Seconds(played.front().step_s()) + " ms. By hand the other's bubble is " +
              Percent(HandBubble(played.front().candidate)) +
              " of the step, and the one's data ranks send for nothing beside the backward. Simulated, " +
              WaitsText(played.front().report) + " of the other are waited for, and of the one " +
              WaitsText(first->report) +
              ": reduction and gathers hide but for their ends, and slow down what they hide beside: "
              "NCCL's kernels sit on SMs, and a product of Hopper's takes twice as long meanwhile "
              "(docs/overlap.md). The other sends half as much.");
  one.text +=
      "\n\n" +
      Command("llama_7b --tokens 2e12 --devices 64 --with sequence=2048 --with batch=192 --with plays=8");
  return one;
}

}  // namespace planning
