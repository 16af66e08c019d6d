// HfConfig: the keys of one object of a Hugging Face config.json, read one by
// one. It says what is missing, of the wrong type or out of range, each at its
// line and column, and remembers which keys were asked for.

#ifndef MODELS_HF_CONFIG_H_
#define MODELS_HF_CONFIG_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/syntax.h"
#include "proto/text_reader.h"

namespace models {

// A key that is null is as good as not there. What is wrong reads as the lowest
// value allowed, so that reading goes on.
class HfConfig {
 public:
  // The object and where it is: "" or "text_config.". All outlive this.
  HfConfig(const proto::Node& object, const std::string& file, std::string path,
           proto::Diagnostics* diagnostics);

  bool has(const std::string& key);
  bool mentions(const std::string& key) const;  // also as null
  // One of several names of the same figure: if two are there, they must agree.
  std::int64_t Required(const std::vector<std::string>& keys, std::int64_t low, std::int64_t high);
  std::int64_t Optional(const std::vector<std::string>& keys, std::int64_t low, std::int64_t high,
                        std::int64_t otherwise);
  bool Flag(const std::string& key, bool otherwise);
  std::string Text(const std::string& key, const std::string& otherwise);
  std::optional<std::vector<std::int64_t>> Integers(const std::string& key, std::int64_t low,
                                                    std::int64_t high);
  std::optional<std::vector<std::string>> Texts(const std::string& key);
  std::optional<HfConfig> Object(const std::string& key);

  // Whether an error was reported of one of these keys: what they read as is no value then.
  bool refused(const std::vector<std::string>& keys) const;

  // At the key, or at the object where it is not there.
  void Error(const std::string& key, const std::string& what);

  // Keys that nobody asked for, in the order of the file, without those that
  // training does not depend on (tokens, initialization, classes of the library).
  std::vector<std::string> Unknown() const;

 private:
  const proto::Node* Find(const std::string& key);
  std::optional<std::int64_t> Integer(const std::vector<std::string>& keys, std::int64_t low,
                                      std::int64_t high);
  std::optional<std::int64_t> ToInteger(const proto::Node& node, const std::string& key, std::int64_t low,
                                        std::int64_t high);
  const std::vector<proto::Node>* List(const std::string& key, const std::string& wanted);
  void ErrorAt(const proto::Node& node, const std::string& key, const std::string& what);

  const proto::Node* object_;
  std::string file_, path_;
  proto::Diagnostics* diagnostics_;
  std::set<std::string> asked_, refused_;
};

}  // namespace models

#endif  // MODELS_HF_CONFIG_H_
