// The steps from a model file's message to a Model; used by model_reader.cc alone,
// and apart for their length.

#ifndef MODELS_MODEL_MESSAGE_H_
#define MODELS_MODEL_MESSAGE_H_

#include <cstdint>
#include <string>

#include "models/model.h"
#include "proto/text_reader.h"

namespace orrery::config {
class Model;
}

namespace models {

// 1234567 -> "1,234,567".
std::string Grouped(std::int64_t n);

// Takes fields from a message and says which are missing or out of range. What
// is wrong reads as 0, so that later checks can tell.
class Checker {
 public:
  Checker(proto::Field root, proto::Diagnostics* diagnostics);

  // The same for the message that is this one's field `name`.
  Checker Of(const char* name) const;

  std::int64_t Required(const char* name, bool has, std::int64_t value, std::int64_t low, std::int64_t high);
  std::int64_t Optional(const char* name, bool has, std::int64_t value, std::int64_t low, std::int64_t high,
                        std::int64_t otherwise);

  bool given(const char* name) const { return root_.At(name).given(); }
  // Whether an error was reported of this very field: what reads as 0 then is no value.
  bool refused(const char* name) const;
  void Missing(const char* name, const std::string& want);
  void Error(const char* name, const std::string& what);
  void ErrorAt(const char* name, int index, const std::string& what);

 private:
  std::int64_t InRange(const char* name, std::int64_t value, std::int64_t low, std::int64_t high);

  proto::Field root_;
  proto::Diagnostics* diagnostics_;
};

// Each field by itself: missing ones and ranges.
Model ConvertModel(const orrery::config::Model& message, Checker* check);

// Fields against each other. A figure that was refused before is 0, and not
// spoken of again.
void CheckModel(const Model& model, Checker* check);

}  // namespace models

#endif  // MODELS_MODEL_MESSAGE_H_
