#include "scenarios/output/timeline_svg.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "scenarios/output/svg_text.h"
#include "sim/analysis/intervals.h"

namespace scenarios {
namespace {

// In pixels.
constexpr std::int64_t kLane = 24, kTall = 20, kLeftEdge = 80, kAbove = 34, kBelow = 40, kWide = 1200;
constexpr std::int64_t kQuarter = 25;  // of a pixel, in hundredths
constexpr const char* kIdle = "#e5e5e5";

struct ClassColour {
  sim::TaskClass task_class;
  const char* colour;
};
constexpr ClassColour kClassColours[] = {{sim::TaskClass::kForward, "#4e79a7"},
                                         {sim::TaskClass::kBackward, "#59a14f"},
                                         {sim::TaskClass::kRecompute, "#f28e2b"},
                                         {sim::TaskClass::kOptimizer, "#b07aa1"}};

class SvgSink : public TraceSink {
 public:
  SvgSink(const sim::Program& program, std::string title, sim::Interval shown, OutputFile* file)
      : program_(program), title_(std::move(title)), shown_(shown), file_(*file) {}

  void Begin(const std::vector<sim::Rank>& ranks) override;
  void BeginRank(sim::Rank rank) override {
    ++lane_;
    Text(kLeftEdge - 8, Top() + 14, "end", "rank " + std::to_string(rank.value()));
    Rectangle(kLeftEdge * 100, (kLeftEdge + kWide) * 100, Top(), kTall, kIdle);
  }
  void BeginTrack(sim::Rank, const Track&, int) override {}
  void WriteSlice(const Slice& slice, std::optional<sim::Time> next,
                  const std::optional<ArrowEnd>& arrow) override;
  void WriteInstant(const Slice&) override {}
  void EndTrack() override { Draw(); }
  void BeginCounter(const TraceCounter&) override {}
  void WriteLoad(sim::Time, sim::ByteRate) override {}
  void End() override;

 private:
  // Hundredths of a pixel, in whole quarters.
  std::int64_t At(sim::Time time) const {
    const sim::Wide part = static_cast<sim::Wide>((time - shown_.from).ps()) * (kWide * 100 / kQuarter);
    return kLeftEdge * 100 + static_cast<std::int64_t>(part / shown_.length().ps()) * kQuarter;
  }
  std::int64_t Top() const { return kAbove + lane_ * kLane; }
  void Draw() {
    if (to_ > from_) Rectangle(from_, to_, Top(), kTall, colour_.data());
    from_ = to_ = 0;
  }
  void Rectangle(std::int64_t from, std::int64_t to, std::int64_t y, std::int64_t tall, const char* colour) {
    file_.Write("<rect x=\"" + Pixels(from) + "\" y=\"" + std::to_string(y) + "\" width=\"" +
                Pixels(to - from) + "\" height=\"" + std::to_string(tall) + "\" fill=\"" + colour + "\"/>\n");
  }
  void Text(std::int64_t x, std::int64_t y, const char* anchor, const std::string& text) {
    file_.Write("<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" +
                anchor + "\">" + EscapedXml(text) + "</text>\n");
  }

  const sim::Program& program_;
  const std::string title_;
  const sim::Interval shown_;
  OutputFile& file_;
  std::int64_t lane_ = -1;
  std::int64_t from_ = 0, to_ = 0;  // of the shape in hand
  std::string_view colour_ = kIdle;
};

void SvgSink::Begin(const std::vector<sim::Rank>& ranks) {
  const auto lanes = static_cast<std::int64_t>(ranks.size());
  file_.Write("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(kLeftEdge + kWide + 10) +
              "\" height=\"" + std::to_string(kAbove + lanes * kLane + kBelow) +
              "\" font-family=\"monospace\" font-size=\"11\">\n<title>" + EscapedXml(title_) +
              "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
  Text(kLeftEdge, 20, "start", title_);
}

// What follows in the same colour without a gap that would be seen is one shape.
void SvgSink::WriteSlice(const Slice& slice, std::optional<sim::Time>, const std::optional<ArrowEnd>&) {
  const sim::Interval time = sim::Clip(slice.time, shown_);
  const std::int64_t from = std::max(At(time.from), to_), to = At(time.to);
  const auto* at =
      std::find_if(std::begin(kClassColours), std::end(kClassColours),
                   [&](const ClassColour& c) { return c.task_class == program_.row(slice.task).task_class; });
  if (to <= from || at == std::end(kClassColours)) return;
  if (from != to_ || colour_ != at->colour) {
    Draw();
    from_ = from;
    colour_ = at->colour;
  }
  to_ = to;
}

void SvgSink::End() {
  const std::int64_t y = kAbove + (lane_ + 1) * kLane + 14;
  std::int64_t x = kLeftEdge;
  for (const ClassColour& entry : kClassColours) {
    Rectangle(x * 100, (x + 12) * 100, y, 12, entry.colour);
    const std::string name = sim::ToText(entry.task_class);
    Text(x + 16, y + 10, "start", name);
    x += 24 + 7 * static_cast<std::int64_t>(name.size());
  }
  file_.Write("</svg>\n");
}

}  // namespace

sim::Result<TraceSummary> WriteTimelineSvg(const sim::Program& program, const sim::Timeline& timeline,
                                           const std::string& title, const TraceOptions& options) {
  TraceOptions computation = options;
  computation.streams = {sim::StreamKind::kCompute};
  computation.counters.clear();
  const sim::Interval run{sim::Time::Start(), timeline.finish};
  const sim::Interval shown = sim::Clip(run, options.window.value_or(run));
  if (shown.empty()) return sim::Error{"the picture would show no time"};
  auto written = WriteTrace(program, timeline, computation, [&](OutputFile* file) {
    return std::make_unique<SvgSink>(program, title, shown, file);
  });
  if (!written.ok()) return written;
  TraceSummary summary = std::move(written).value();
  summary.instants = summary.arrows = 0;
  return summary;
}

}  // namespace scenarios
