#include "scenarios/output/scale_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <utility>

#include "hardware/math.h"

namespace scenarios {
namespace {

// In pixels: a panel, and the plot inside it.
constexpr int kPanelWide = 440, kPanelHigh = 300, kTitle = 30;
constexpr int kLeft = 56, kRight = 16, kTop = 26, kBottom = 60;
constexpr int kSamples = 48;
constexpr const char* kColours[] = {"#4e79a7", "#f28e2b", "#59a14f", "#b07aa1", "#e15759"};  // by Law

std::string Pixels(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.2f", value);
  return text.data();
}

std::string Escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else {
      out += c >= ' ' && c < 0x7f ? c : '?';
    }
  }
  return out;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + Pixels(x) + "\" y=\"" + Pixels(y) + "\" text-anchor=\"" + anchor + "\">" +
         Escape(text) + "</text>\n";
}

std::string Line(double x1, double y1, double x2, double y2, const char* colour) {
  return "<line x1=\"" + Pixels(x1) + "\" y1=\"" + Pixels(y1) + "\" x2=\"" + Pixels(x2) + "\" y2=\"" +
         Pixels(y2) + "\" stroke=\"" + colour + "\"/>\n";
}

class Panel {
 public:
  Panel(const CurveReport& report, double x, double y) : report_(report), x_(x), y_(y) {
    const Curve& curve = report.curve;
    least_ = most_ = curve.points.front().devices;
    for (const CurvePoint& point : curve.points) Widen(point.devices);
    for (const Extrapolated& one : report.extrapolated) Widen(one.devices);
    if (least_ == most_) most_ = 2 * least_;
    SetHeights();
  }

  std::string Draw() const {
    const bool mfu = IsMfu();
    std::string text = Frame() + Ticks() + Band();
    for (const LawFit& one : report_.fits) {
      if (one.fit.ok()) text += Curved(one.fit.value());
    }
    for (const CurvePoint& point : report_.curve.points) {
      text += "<circle cx=\"" + Pixels(Across(static_cast<double>(point.devices))) + "\" cy=\"" +
              Pixels(Up(PercentAt(point.devices, point.value))) + "\" r=\"3.5\" fill=\"#222222\"/>\n";
    }
    const std::string& name = report_.curve.name;
    text += Text(x_ + kLeft, y_ + 16, "start",
                 (name.empty() ? "" : name + ": ") + (mfu ? "MFU, %" : "efficiency, %"));
    return text + Legend();
  }

 private:
  void Widen(std::int64_t devices) {
    least_ = std::min(least_, devices);
    most_ = std::max(most_, devices);
  }

  bool IsMfu() const { return report_.curve.quantity == Quantity::kMfu || report_.curve.first_mfu; }

  // MFU or efficiency of a value of the curve's quantity.
  double PercentAt(std::int64_t devices, double value) const {
    const Curve& curve = report_.curve;
    if (curve.quantity == Quantity::kMfu) return 100 * value;
    const CurvePoint point{devices, value};
    if (!curve.first_mfu) return 100 * EfficiencyAt(curve, point);
    const CurvePoint& first = curve.points.front();
    return 100 * *curve.first_mfu * EfficiencyAt(curve, point) / EfficiencyAt(curve, first);
  }

  // Round tens around the points.
  void SetHeights() {
    double low = 1e9, high = -1e9;
    for (const CurvePoint& point : report_.curve.points) {
      const double percent = PercentAt(point.devices, point.value);
      low = std::min(low, percent);
      high = std::max(high, percent);
    }
    for (const Extrapolated& one : report_.extrapolated) {
      if (one.law != report_.preferred || !one.prediction.ok()) continue;
      const double percent = PercentAt(one.devices, one.prediction.value().value);
      low = std::min(low, percent);
      high = std::max(high, percent);
    }
    low_ = std::max(0.0, 10 * std::floor((low - 3) / 10));
    high_ = 10 * std::ceil((high + 3) / 10);
  }

  double Across(double devices) const {
    const double part = hardware::Log2(devices / static_cast<double>(least_)) /
                        hardware::Log2(static_cast<double>(most_) / static_cast<double>(least_));
    return x_ + kLeft + part * (kPanelWide - kLeft - kRight);
  }
  double Up(double percent) const {
    const double part = (std::clamp(percent, low_, high_) - low_) / (high_ - low_);
    return y_ + kPanelHigh - kBottom - part * (kPanelHigh - kTop - kBottom);
  }

  std::string Frame() const {
    return "<rect x=\"" + Pixels(x_ + kLeft) + "\" y=\"" + Pixels(y_ + kTop) + "\" width=\"" +
           Pixels(kPanelWide - kLeft - kRight) + "\" height=\"" + Pixels(kPanelHigh - kTop - kBottom) +
           "\" fill=\"none\" stroke=\"#888888\"/>\n";
  }

  std::string Ticks() const {
    std::string text;
    const double step = high_ - low_ > 60 ? 20 : 10;
    for (double percent = low_; percent <= high_ + 0.5; percent += step) {
      text += Line(x_ + kLeft, Up(percent), x_ + kPanelWide - kRight, Up(percent), "#dddddd");
      text += Text(x_ + kLeft - 6, Up(percent) + 4, "end", std::to_string(std::lround(percent)));
    }
    std::set<std::int64_t> counts;
    for (const CurvePoint& point : report_.curve.points) counts.insert(point.devices);
    for (const Extrapolated& one : report_.extrapolated) counts.insert(one.devices);
    double last = -1e9;
    for (const std::int64_t count : counts) {
      const double x = Across(static_cast<double>(count));
      if (x - last < 40) continue;  // labels would touch
      last = x;
      text += Line(x, y_ + kPanelHigh - kBottom, x, y_ + kPanelHigh - kBottom + 4, "#888888");
      text += Text(x, y_ + kPanelHigh - kBottom + 16, "middle", std::to_string(count));
    }
    return text;
  }

  // Rising numbers of devices over the whole width.
  std::vector<std::int64_t> Samples() const {
    std::vector<std::int64_t> samples;
    const double ratio = hardware::Log2(static_cast<double>(most_) / static_cast<double>(least_));
    for (int i = 0; i <= kSamples; ++i) {
      const double devices = static_cast<double>(least_) * hardware::Exp2(ratio * i / kSamples);
      const auto count = std::clamp<std::int64_t>(std::llround(devices), least_, most_);
      if (samples.empty() || count > samples.back()) samples.push_back(count);
    }
    return samples;
  }

  std::string Curved(const Fit& fit) const {
    std::string places;
    for (const std::int64_t devices : Samples()) {
      const auto p = Predict(fit, devices);
      if (!p.ok()) break;
      places += (places.empty() ? "" : " ") + Pixels(Across(static_cast<double>(devices))) + ',' +
                Pixels(Up(PercentAt(devices, p.value().value)));
    }
    return "<polyline points=\"" + places + "\" fill=\"none\" stroke=\"" + Colour(fit.law) +
           "\" stroke-width=\"" + (fit.law == report_.preferred ? "2.5" : "1") + "\"/>\n";
  }

  std::string Band() const {
    const Fit* fit = report_.FitOf(report_.preferred.value_or(Law::kPerDecade));
    if (fit == nullptr) return "";
    std::string there, back;
    for (const std::int64_t devices : Samples()) {
      const auto p = Predict(*fit, devices);
      if (!p.ok()) break;
      const std::string x = Pixels(Across(static_cast<double>(devices))) + ',';
      there += x + Pixels(Up(PercentAt(devices, p.value().low))) + ' ';
      back.insert(0, x + Pixels(Up(PercentAt(devices, p.value().high))) + ' ');
    }
    if (!back.empty()) back.pop_back();
    return "<polygon points=\"" + there + back + "\" fill=\"" + Colour(fit->law) +
           "\" fill-opacity=\"0.15\"/>\n";
  }

  std::string Legend() const {
    std::string text;
    double x = x_ + kLeft;
    for (const LawFit& one : report_.fits) {
      if (!one.fit.ok()) continue;
      const std::string name = ToText(one.law);
      text += Line(x, y_ + kPanelHigh - 22, x + 14, y_ + kPanelHigh - 22, Colour(one.law));
      text += Text(x + 18, y_ + kPanelHigh - 18, "start", name);
      x += 26 + 6.7 * static_cast<double>(name.size());
    }
    return text;
  }

  static const char* Colour(Law law) { return kColours[static_cast<std::size_t>(law)]; }

  const CurveReport& report_;
  const double x_, y_;
  std::int64_t least_ = 1, most_ = 1;  // devices
  double low_ = 0, high_ = 100;        // per cent
};

}  // namespace

std::string ScaleSvg(const std::vector<CurveReport>& curves, const std::string& title) {
  const int columns = curves.size() > 1 ? 2 : 1;
  const int rows = (static_cast<int>(curves.size()) + columns - 1) / columns;
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" +
                     std::to_string(columns * kPanelWide) + "\" height=\"" +
                     std::to_string(kTitle + rows * kPanelHigh) +
                     "\" font-family=\"monospace\" font-size=\"11\">\n<title>" + Escape(title) +
                     "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  text += Text(kLeft, 20, "start", title);
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const int at = static_cast<int>(i);
    text += Panel(curves[i], at % columns * kPanelWide, kTitle + at / columns * kPanelHigh).Draw();
  }
  return text + "</svg>\n";
}

}  // namespace scenarios
