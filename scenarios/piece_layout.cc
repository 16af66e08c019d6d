#include "scenarios/piece_layout.h"

#include <algorithm>
#include <optional>

#include "sim/base/check.h"

namespace scenarios {
namespace {

using std::to_string;

constexpr std::int64_t kMostPieces = 65'536, kMostLetters = 1'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// One letter or '|' of the string written out, and where it stands (from 1).
struct Letter {
  char what = 0;
  std::size_t at = 0;
};

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  PieceLayout Parse() {
    Unroll();
    if (layout_.error.empty()) Cut();
    if (!layout_.error.empty()) layout_.pieces.clear();
    return std::move(layout_);
  }

 private:
  // The first thing wrong, at a character of the string; its end counts as one.
  void Refuse(std::size_t at, const std::string& what) {
    if (!layout_.error.empty()) return;
    const bool end = at > text_.size();
    const char c = end ? '\0' : text_[at - 1];
    const std::string shown = end ? "at its end" : std::string("\"") + (c >= ' ' && c < 0x7f ? c : '?') + '"';
    layout_.error = "character " + to_string(static_cast<std::int64_t>(at)) + ", " + shown + ": " + what;
  }

  void Unroll() {
    std::size_t open = 0, first = 0;  // the open parenthesis, and its first letter
    std::size_t last = letters_.size();
    bool repeatable = false;  // letters_ from `last` on may be repeated
    for (std::size_t i = 0; i < text_.size() && layout_.error.empty(); ++i) {
      const char c = text_[i];
      if (c == ',') continue;
      if (c == '*') {
        if (!repeatable) return Refuse(i + 1, "nothing to repeat before it");
        const std::size_t star = i + 1;
        const std::optional<std::int64_t> times = TakeNumber(&i);
        if (!times)
          return Refuse(star, "a number from 1 to " + to_string(kMostLetters) + " is wanted behind it");
        Repeat(last, *times, star);
        repeatable = false;
      } else if (c == '(') {
        if (open > 0) return Refuse(i + 1, "a parenthesis inside a parenthesis, which Megatron-LM has not");
        open = i + 1;
        first = letters_.size();
        repeatable = false;
      } else if (c == ')') {
        if (open == 0) return Refuse(i + 1, "it closes nothing");
        open = 0;
        last = first;
        repeatable = true;
      } else if (std::string_view("EtmL|").find(c) != std::string_view::npos) {
        last = letters_.size();
        letters_.push_back({c, i + 1});
        repeatable = true;
      } else {
        return Refuse(i + 1, "E, t, m or L, \"|\", \"(...)*n\" or \"*n\" is wanted");
      }
    }
    if (open > 0) Refuse(open, "it is not closed");
  }

  // The number behind position *i, which moves to its last digit.
  std::optional<std::int64_t> TakeNumber(std::size_t* i) {
    std::int64_t value = 0;
    std::size_t end = *i + 1;
    for (; end < text_.size() && IsDigit(text_[end]); ++end) {
      value = std::min<std::int64_t>(value * 10 + (text_[end] - '0'), kMostLetters + 1);
    }
    if (value < 1 || value > kMostLetters) return std::nullopt;
    *i = end - 1;
    return value;
  }

  void Repeat(std::size_t first, std::int64_t times, std::size_t at) {
    const std::vector<Letter> once(letters_.begin() + static_cast<std::ptrdiff_t>(first), letters_.end());
    if (static_cast<std::int64_t>(letters_.size() + once.size()) * times > kMostLetters) {
      return Refuse(at, "more than " + to_string(kMostLetters) + " letters");
    }
    for (std::int64_t i = 1; i < times; ++i) letters_.insert(letters_.end(), once.begin(), once.end());
  }

  void Cut() {
    layout_.pieces.emplace_back();
    bool loss = false;
    for (std::size_t i = 0; i < letters_.size(); ++i) {
      const auto [what, at] = letters_[i];
      PieceLayout::Piece& piece = layout_.pieces.back();
      if (what == 'E' && i > 0) return Refuse(at, "the embedding is the first of all, once");
      if (what != 'E' && i == 0) return Refuse(at, "the embedding, E, is wanted first");
      if (loss) return Refuse(at, "the loss is the last of all, once");
      if (what == 't' && piece.predictions > 0) return Refuse(at, "a layer behind an MTP layer");
      if (what == 'E') piece.embedding = true;
      if (what == 't') ++piece.layers;
      if (what == 'm') ++piece.predictions;
      if (what == 'L') piece.loss = loss = true;
      if (what != '|') continue;
      if (static_cast<std::int64_t>(layout_.pieces.size()) == kMostPieces) {
        return Refuse(at, "more than " + to_string(kMostPieces) + " pieces");
      }
      layout_.pieces.emplace_back();
    }
    if (!loss)
      Refuse(text_.size() + 1, letters_.empty() ? "E, t and L are wanted" : "the loss, L, is wanted");
  }

  std::string_view text_;
  std::vector<Letter> letters_;
  PieceLayout layout_;
};

}  // namespace

PieceLayout ParsePieceLayout(std::string_view text) { return Parser(text).Parse(); }

LayerSplit SplitByLayout(std::string_view text, const LayerRequest& request) {
  CHECK(request.layers > 0 && request.stages > 0 && request.chunks > 0);
  const auto refuse = [](const std::string& what) { return LayerSplit{{}, what, "piece_layout"}; };
  PieceLayout layout = ParsePieceLayout(text);
  if (!layout.error.empty()) return refuse(layout.error);
  const auto count = static_cast<std::int64_t>(layout.pieces.size());
  if (const std::int64_t wanted = request.stages * request.chunks; count != wanted) {
    return refuse(to_string(count) + " pieces; " + to_string(wanted) + " are wanted, " +
                  to_string(request.chunks) + " on each of " + to_string(request.stages) + " stages");
  }
  LayerSplit split;
  std::int64_t sum = 0;
  for (const PieceLayout::Piece& piece : layout.pieces) {
    const std::string which = "piece " + to_string(static_cast<std::int64_t>(split.layers_of_piece.size()));
    if (piece.predictions > 0 && !piece.loss) {
      return refuse(which +
                    " has an MTP layer (m) without the loss, which is not simulated; L behind it is wanted");
    }
    if (piece.loss && piece.predictions != request.predictions) {
      return refuse(which + " has " + to_string(piece.predictions) + " MTP layers (m); " +
                    to_string(request.predictions) + " are trained (training.mtp, model.prediction_modules)");
    }
    if (piece.layers == 0 && !piece.embedding && !piece.loss) {
      return refuse(which + " has no layer; only the first and the last may be without");
    }
    sum += piece.layers;
    split.layers_of_piece.push_back(piece.layers);
  }
  if (sum == request.layers) return split;
  return refuse("adds up to " + to_string(sum) + " layers; the model has " + to_string(request.layers));
}

}  // namespace scenarios
