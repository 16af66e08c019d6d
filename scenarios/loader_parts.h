// The parts of the loader, each in a file of its own. They fill a Scenario from
// a message and go on after an error: what is missing or refused reads as 0,
// and a check of several figures waits until all of them are there.

#ifndef SCENARIOS_LOADER_PARTS_H_
#define SCENARIOS_LOADER_PARTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "proto/text_reader.h"
#include "scenarios/scenario.h"
#include "topologies/topology.h"

namespace orrery::config {
class Batch;
class Layout;
class Pipeline;
class Price;
class Published;
class Scenario;
class Source;
class Training;
}  // namespace orrery::config

namespace scenarios {

// One message with the places of its fields.
class Block {
 public:
  Block(proto::Field at, proto::Diagnostics* diagnostics) : at_(std::move(at)), diagnostics_(diagnostics) {}

  Block Of(const char* name) const { return Block(at_.At(name), diagnostics_); }
  std::string PlaceOf(const char* name, int index = -1) const { return at_.At(name, index).place(); }
  proto::Diagnostics* diagnostics() const { return diagnostics_; }

  // The value, or 0 after an error when it is missing or out of range.
  std::int64_t Required(const char* name, bool has, std::int64_t value, std::int64_t low,
                        std::int64_t high) const;
  std::int64_t Optional(const char* name, bool has, std::int64_t value, std::int64_t low, std::int64_t high,
                        std::int64_t otherwise) const;
  double Required(const char* name, bool has, double value, double low, double high) const;
  double Optional(const char* name, bool has, double value, double low, double high, double otherwise) const;
  // Says so when the input does not mention the field at all; a refused value has its own error.
  void Missing(const char* name, const std::string& wanted) const;

  void Error(const char* name, const std::string& what, int index = -1) const;
  // Also for readers of the scenario; `path` is the whole path of the field.
  void Warn(const char* name, const std::string& path, const std::string& what, Scenario* scenario) const;

 private:
  proto::Field at_;
  proto::Diagnostics* diagnostics_;
};

// "title, note (url)"; an error where the title is missing.
std::string ReadSource(const orrery::config::Source& in, const Block& block);

// Which NCCL, and its environment, into `scenario->device.nccl`. A choice that would leave a function without
// any algorithm is an error.
void ReadNccl(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);

// Presets (preset.h). Puts into `in->training` what the named preset gives and it does not: field by
// field, a list as a whole. Fields without meaning beside the scenario's own optimizer_sharding are
// left; gradients in the format of the weights stay so in another. Says in `scenario->preset` what
// came from there. `beside` is the folder of the scenario's file; empty for an embedded one.
void TakePreset(const Block& top, const std::string& beside, orrery::config::Scenario* in,
                Scenario* scenario);
// After mistakes: a warning that names the fields that the preset gave, since a refused one may be among
// them.
void ExplainPreset(const Block& top, const Scenario& scenario);

// Figures of the layout, and what follows from them and the batch. `model` and
// `fabric` may be missing; then what needs them is not checked.
void ReadLayout(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);
// What layout.context means. REQUIRES: the extents were read
void ReadContext(const orrery::config::Layout& in, const Block& block, Layout* layout);
void ReadBatch(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);
// REQUIRES: layout and batch were read
void CheckModelFits(const Block& top, bool has_model, Scenario* scenario);
// REQUIRES: the training was read
void CheckContext(const Block& top, bool has_model, const Scenario& scenario);
void CheckExpertLayout(const Block& top, Scenario* scenario);
// REQUIRES: no errors so far
void ReadExperts(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);
// Legal, but tensor or context groups lie on several NVLink domains; with what that sends.
void WarnFarGroups(const Block& top, Scenario* scenario);
// Legal, but with experts farther away than they seem.
void WarnSpread(const Block& top, Scenario* scenario);
void CheckDispatch(const Block& top, const Scenario& scenario);
// What is not left to NCCL: DeepEP's kernels, all-reduces of tensor groups, what travels in pieces. REQUIRES:
// no errors so far, the fabric was built
void ReadOwnKernels(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);
// `folder` is where files beside the scenario are; empty for an embedded one.
void ReadPipeline(const orrery::config::Scenario& in, const Block& top, const std::string& folder,
                  bool has_model, Scenario* scenario);
// What parts of sequences do not go with. REQUIRES: training was read
void CheckParts(const Block& top, const Scenario& scenario);
// Joined steps: whether they take turns. A part of the pipeline. REQUIRES: its schedule or order was read
void ReadOverlap(const orrery::config::Pipeline& in, const Block& block, Scenario* scenario);
// What they do not go with. REQUIRES: no errors so far, everything but the fabric was read
void CheckOverlap(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);
// Who holds what among the data ranks, a part of the training. REQUIRES: layout was read
void ReadSharding(const orrery::config::Training& in, const Block& training, Scenario* scenario);
void ReadTraining(const orrery::config::Training& in, const Block& top, bool has_device, Scenario* scenario);
// How kernels are launched, a part of the training.
void ReadLaunches(const orrery::config::Training& in, Training* training);
// What launches that block do not go with. REQUIRES: no errors so far, everything but the fabric was read
void CheckLaunches(const Block& top, const Scenario& scenario);
// REQUIRES: the model, the layout, and sharding, attention and dropout of the training were read
void ReadRecompute(const orrery::config::Training& in, const Block& training, Scenario* scenario);
void ReadMatmul(const orrery::config::Training& in, const Block& training, bool has_device,
                Scenario* scenario);
// REQUIRES: training and pipeline were read
void ReadOffload(const orrery::config::Training& in, const Block& training, Scenario* scenario);
// REQUIRES: training was read
void ReadCheckpoint(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);
// Null when nothing is saved or copied to hosts, or the rates are not legal.
std::optional<topologies::StorageSpec> StorageOf(const Scenario& scenario);
// REQUIRES: the checkpoint was read
void ReadRun(const orrery::config::Scenario& in, const Block& top, Scenario* scenario);

// Whether a host has room for the saves of a scenario that is legal otherwise; says so when it has not.
bool CheckStaging(const Block& top, const Scenario& scenario);

// The same for activations that wait there, saves in staging counted.
bool CheckHostMemory(const Block& top, const Scenario& scenario);

// Of a legal scenario: choices that cost more than they seem to.
void WarnUnwise(const Block& top, Scenario* scenario);

}  // namespace scenarios

#endif  // SCENARIOS_LOADER_PARTS_H_
