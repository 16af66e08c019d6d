#include "scenarios/output/schedule_svg.h"

#include <algorithm>

#include "scenarios/output/svg_text.h"
#include "sim/schedule/draw_order.h"

namespace scenarios {
namespace {

// In pixels.
constexpr std::int64_t kRow = 24, kBar = 20, kLeft = 80, kTop = 34, kBottom = 40, kCharacter = 7;
constexpr std::int64_t kNarrowest = 800, kWidest = 20'000, kStep = 30;

struct Colour {
  const char* name;
  const char* even;  // chunks; odd ones are paler
  const char* odd;
};
constexpr Colour kColours[] = {{"forward", "#4e79a7", "#a0cbe8"},  // by Kind
                               {"backward", "#59a14f", "#8cd17d"},
                               {"input gradient", "#f28e2b", "#ffbe7d"},
                               {"weight gradient", "#b07aa1", "#d4a6c8"}};
constexpr Colour kJoined = {"forward beside backward", "#e15759", "#ff9d9a"};

const Colour& ColourOf(const sim::PipelineStep& step) {
  return step.joined ? kJoined : kColours[static_cast<std::size_t>(step.kind)];
}

class Picture {
 public:
  Picture(const sim::PlayedOrder& played, OutputFile* file) : length_(played.length.ps()), file_(file) {
    std::size_t most = 1;
    for (const auto& stage : played.spans) most = std::max(most, stage.size());
    width_ = std::clamp(static_cast<std::int64_t>(most) * kStep, kNarrowest, kWidest);
  }

  std::int64_t width() const { return kLeft + width_ + 10; }

  void Rectangle(sim::Duration start, sim::Duration end, std::int64_t y, const char* colour) {
    const std::int64_t x = At(start), wide = At(end) - x;
    file_->Write("<rect x=\"" + Pixels(x) + "\" y=\"" + std::to_string(y) + "\" width=\"" + Pixels(wide) +
                 "\" height=\"" + std::to_string(kBar) + "\" fill=\"" + colour + "\"/>\n");
  }

  void Label(sim::Duration start, sim::Duration end, std::int64_t y, const std::string& text) {
    const std::int64_t x = At(start), wide = At(end) - x;
    if (wide < static_cast<std::int64_t>(text.size()) * kCharacter * 100) return;
    Text(x + wide / 2, y + 14, "middle", text);
  }

  void Text(std::int64_t x_hundredths, std::int64_t y, const char* anchor, const std::string& text) {
    file_->Write("<text x=\"" + Pixels(x_hundredths) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" +
                 anchor + "\">" + EscapedXml(text) + "</text>\n");
  }

 private:
  std::int64_t At(sim::Duration time) const {
    return kLeft * 100 +
           static_cast<std::int64_t>(static_cast<sim::Wide>(time.ps()) * width_ * 100 / length_);
  }

  std::int64_t length_, width_ = 0;
  OutputFile* file_;
};

void WriteLegend(const sim::PipelineOrder& order, std::int64_t y, Picture* picture, OutputFile* file) {
  bool used[std::size(kColours)] = {}, joined = false;
  for (const auto& steps : order.stages) {
    for (const sim::PipelineStep& step : steps) {
      used[static_cast<std::size_t>(step.kind)] = true;
      joined |= step.joined;
    }
  }
  std::int64_t x = kLeft;
  const auto entry = [&](const Colour& colour) {
    file->Write("<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) +
                "\" width=\"12\" height=\"12\" fill=\"" + colour.even + "\"/>\n");
    picture->Text((x + 16) * 100, y + 10, "start", colour.name);
    x += 24 + kCharacter * static_cast<std::int64_t>(std::string(colour.name).size());
  };
  for (std::size_t i = 0; i < std::size(kColours); ++i) {
    if (used[i]) entry(kColours[i]);
  }
  if (joined) entry(kJoined);
}

}  // namespace

void WriteScheduleSvg(const sim::PipelineOrder& order, const sim::PlayedOrder& played,
                      const std::string& title, OutputFile* file) {
  CHECK(played.finished && played.length > sim::Duration());
  Picture picture(played, file);
  const auto rows = static_cast<std::int64_t>(order.stages.size());
  file->Write("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(picture.width()) +
              "\" height=\"" + std::to_string(kTop + rows * kRow + kBottom) +
              "\" font-family=\"monospace\" font-size=\"11\">\n<title>" + EscapedXml(title) +
              "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
  picture.Text(kLeft * 100, 20, "start", title);
  for (std::size_t stage = 0; stage < order.stages.size(); ++stage) {
    const std::vector<sim::PipelineStep>& steps = order.stages[stage];
    const std::int64_t y = kTop + static_cast<std::int64_t>(stage) * kRow;
    picture.Text((kLeft - 8) * 100, y + 14, "end", "stage " + std::to_string(stage));
    picture.Rectangle(sim::Duration(), played.length, y, "#e5e5e5");
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const sim::StepSpan& span = played.spans[stage][i];
      const Colour& colour = ColourOf(steps[i]);
      picture.Rectangle(span.start, span.end, y, steps[i].chunk % 2 == 0 ? colour.even : colour.odd);
      picture.Label(span.start, span.end, y, sim::LabelOf(order, stage, i));
      if (steps[i].joined) ++i;  // the label names both
    }
  }
  WriteLegend(order, kTop + rows * kRow + 14, &picture, file);
  file->Write("</svg>\n");
}

}  // namespace scenarios
