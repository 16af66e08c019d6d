#include <cstdio>

#include "proto/quantity.pb.h"
#include "scenarios/loader_parts.h"

namespace scenarios {
namespace {

// 1234567 -> "1,234,567".
std::string Grouped(std::int64_t n) {
  const std::string digits = std::to_string(n);
  const std::size_t sign = n < 0 ? 1 : 0;
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > sign && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string Grouped(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", x);
  return text;
}

template <class T>
std::string Range(T low, T high) {
  return "a number from " + Grouped(low) + " to " + Grouped(high) + " is wanted";
}

template <class T>
T InRange(const Block& block, const char* name, T value, T low, T high) {
  if (value >= low && value <= high) return value;
  block.Error(name, Grouped(value) + " is out of range; " + Range(low, high));
  return 0;
}

template <class T>
T RequiredInRange(const Block& block, const char* name, bool has, T value, T low, T high) {
  if (has) return InRange(block, name, value, low, high);
  block.Missing(name, Range(low, high));
  return 0;
}

}  // namespace

std::int64_t Block::Required(const char* name, bool has, std::int64_t value, std::int64_t low,
                             std::int64_t high) const {
  return RequiredInRange(*this, name, has, value, low, high);
}

std::int64_t Block::Optional(const char* name, bool has, std::int64_t value, std::int64_t low,
                             std::int64_t high, std::int64_t otherwise) const {
  return has ? InRange(*this, name, value, low, high) : otherwise;
}

double Block::Required(const char* name, bool has, double value, double low, double high) const {
  return RequiredInRange(*this, name, has, value, low, high);
}

double Block::Optional(const char* name, bool has, double value, double low, double high,
                       double otherwise) const {
  return has ? InRange(*this, name, value, low, high) : otherwise;
}

void Block::Missing(const char* name, const std::string& wanted) const {
  if (!at_.At(name).given()) Error(name, "missing; " + wanted);
}

void Block::Error(const char* name, const std::string& what, int index) const {
  diagnostics_->Error(PlaceOf(name, index), what);
}

void Block::Warn(const char* name, const std::string& path, const std::string& what,
                 Scenario* scenario) const {
  diagnostics_->Warning(PlaceOf(name), what);
  scenario->warnings.push_back(path + ": " + what);
}

std::string ReadSource(const orrery::config::Source& in, const Block& block) {
  const std::string wanted = "say where the figures come from: document and year";
  if (!in.has_title()) {
    block.Missing("title", wanted);
  } else if (in.title().empty()) {
    block.Error("title", "\"\" says nothing; " + wanted);
  }
  std::string text = in.title();
  if (!in.note().empty()) text += ", " + in.note();
  if (!in.url().empty()) text += " (" + in.url() + ')';
  return text;
}

}  // namespace scenarios
