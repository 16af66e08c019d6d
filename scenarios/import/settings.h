// Settings: the keys of a file of another framework, flat ("zero_optimization.stage"),
// each with its place. They are read by name; what nobody read is judged by a
// table of the framework's keys: harmless, left out, refused, or unknown.

#ifndef SCENARIOS_IMPORT_SETTINGS_H_
#define SCENARIOS_IMPORT_SETTINGS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proto/syntax.h"
#include "proto/text_reader.h"

namespace scenarios {

struct Setting {
  std::string key;    // as the tables call it: "num-layers"
  std::string shown;  // as its file calls it: "--num-layers"
  std::string place;  // "job.sh:12:3"
  proto::Node value;  // a number, word, string or list; a word "null" is as good as not there
  std::string doubt;  // why the value is not certain, as "line 3: $( ... ) needs a shell"; else empty
};

enum class Treatment : std::uint8_t {
  kMapped,    // an importer reads it
  kHarmless,  // changes neither time nor memory of a step: paths, logs, learning rates
  kLeftOut,   // changes them, and has no field here: listed
  kRefused,   // changes what is simulated so much that leaving it out would mislead
};

// One row of a framework's table. A key that ends in '*' stands for all that begin so.
struct KeyRule {
  const char* key;
  Treatment treatment;
  const char* note = "";  // what it does, for the list or the refusal
};

// One "KEY=VALUE" of the command line, in the names of the imported file.
struct GivenValue {
  int index = 1;
  std::string key, value;
};

class Settings {
 public:
  // `file` is for messages about keys that are not there, which get `prefix` ("--").
  // Of equal keys the last wins, as on a command line, with a warning; in a tree
  // (`repeats` false) two are an error.
  Settings(std::string file, std::string prefix, std::vector<Setting> all, bool repeats,
           proto::Diagnostics* diagnostics);
  // How messages call a key that is not there, where it is not prefix + key.
  void ShowAs(const std::string& key, const std::string& shown) { shown_[key] = shown; }

  // As the file says, or nothing; a value in doubt, of a wrong type or out of
  // range is an error and reads as nothing.
  bool has(const std::string& key);
  std::optional<std::int64_t> Integer(const std::string& key, std::int64_t low, std::int64_t high);
  std::optional<double> Number(const std::string& key);
  std::optional<bool> Boolean(const std::string& key);
  std::optional<std::string> Text(const std::string& key);  // numbers too, as written
  std::vector<std::string> Texts(const std::string& key);   // of a list, or the one value
  bool Flag(const std::string& key) { return Boolean(key).value_or(false); }
  // The text, which must be one of these; nothing else.
  std::optional<std::string> OneOf(const std::string& key, const std::vector<std::string>& known);
  // The integer, or an error that it is missing.
  std::int64_t Required(const std::string& key, std::int64_t low, std::int64_t high,
                        const std::string& wanted);

  // Whether none of these is given with a doubt.
  bool certain(const std::vector<std::string>& keys) const;

  // "job.sh:12:3: --num-layers", or "job.sh: --num-layers" where it is not given.
  std::string Place(const std::string& key) const;
  void Error(const std::string& key, const std::string& what);
  // Whether an error was reported of this key.
  bool refused(const std::string& key) const { return refused_.count(key) > 0; }

  // Judges what is left. Unknown keys are errors with the nearest known name, or, when
  // `keep_unknown`, listed. Returns a line for each key that is not mapped; those
  // that change the result begin with "! ".
  std::vector<std::string> NotMapped(std::span<const KeyRule> rules, bool keep_unknown);

  const std::vector<Setting>& all() const { return all_; }
  proto::Diagnostics* diagnostics() const { return diagnostics_; }

 private:
  const Setting* Peek(const std::string& key) const;
  const Setting* Find(const std::string& key);  // asked for, certain and not null
  void Unknown(const Setting& setting, std::span<const KeyRule> rules);

  std::string file_, prefix_;
  std::vector<Setting> all_;
  std::map<std::string, std::size_t> at_;
  std::map<std::string, std::string> shown_;
  std::set<std::string> asked_, refused_;
  proto::Diagnostics* diagnostics_;
};

// The node for a bare word: number, true or false, null, else a string.
proto::Node ScalarNode(const std::string& text);

// Puts the values of the command line in the place of the file's.
void ApplyGiven(const std::vector<GivenValue>& given, const std::string& prefix, std::vector<Setting>* all);

// The fields of a tree as settings; lists and empty objects are values.
std::vector<Setting> Flatten(const std::string& file, const proto::Node& root);

}  // namespace scenarios

#endif  // SCENARIOS_IMPORT_SETTINGS_H_
