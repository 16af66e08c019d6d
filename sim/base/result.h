// Result<T>: a value, or one sentence that says what the user got wrong.

#ifndef SIM_BASE_RESULT_H_
#define SIM_BASE_RESULT_H_

#include <optional>
#include <string>
#include <utility>

#include "sim/base/check.h"

namespace sim {

struct Error {
  std::string message;  // "what was found; what would do", no full stop at the end
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT: implicit on purpose
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose

  bool ok() const { return value_.has_value(); }
  // REQUIRES: ok()
  const T& value() const& {
    CHECK(ok());
    return *value_;
  }
  T&& value() && {
    CHECK(ok());
    return *std::move(value_);
  }
  // REQUIRES: !ok()
  const Error& error() const {
    CHECK(!ok());
    return error_;
  }

 private:
  std::optional<T> value_;
  Error error_;
};

}  // namespace sim

#endif  // SIM_BASE_RESULT_H_
