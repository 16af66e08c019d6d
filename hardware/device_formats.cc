#include "hardware/device_formats.h"

#include <set>
#include <string>

#include "proto/hardware.pb.h"

namespace hardware {

using orrery::config::Hardware;

namespace {

// Block-scaled numbers are multiplied by FP8's units, narrow weights as BF16.
Hardware::Format UnitsOf(int format) {
  if (format == Hardware::FP8_BLOCK || format == Hardware::MXFP8) return Hardware::FP8;
  if (format == Hardware::INT8_WEIGHTS || format == Hardware::INT4_WEIGHTS) return Hardware::BF16;
  return static_cast<Hardware::Format>(format);
}

}  // namespace

void CheckFormats(const Hardware& message, const proto::Field& root, proto::Diagnostics* diagnostics) {
  std::set<int> peaks, modelled;
  for (int i = 0; i < message.peaks_size(); ++i) {
    const proto::Field place = root.At("peaks", i).At("format");
    if (UnitsOf(message.peaks(i).format()) != message.peaks(i).format()) {
      diagnostics->Error(place.place(), Hardware::Format_Name(message.peaks(i).format()) +
                                            " has the peak of " +
                                            Hardware::Format_Name(UnitsOf(message.peaks(i).format())) +
                                            ", which is to be given for that");
    } else if (!peaks.insert(message.peaks(i).format()).second) {
      diagnostics->Error(place.place(), Hardware::Format_Name(message.peaks(i).format()) + " has two peaks");
    }
  }
  for (int i = 0; i < message.gemm_size(); ++i) {
    const Hardware::Gemm& gemm = message.gemm(i);
    const proto::Field place = root.At("gemm", i);
    if (gemm.has_tiles() == gemm.has_roofline()) {
      diagnostics->Error(place.place(), gemm.has_tiles()
                                            ? "has both tiles and roofline; wanted one of them"
                                            : "has neither tiles nor roofline; wanted one of them");
    }
    for (int j = 0; j < gemm.formats_size(); ++j) {
      const std::string name = Hardware::Format_Name(gemm.formats(j));
      if (!modelled.insert(gemm.formats(j)).second) {
        diagnostics->Error(place.At("formats", j).place(), name + " has two models");
      }
      if (peaks.count(UnitsOf(gemm.formats(j))) == 0) {
        diagnostics->Error(place.At("formats", j).place(), name + " has a model and no peak");
      }
    }
  }
  for (int i = 0; i < message.peaks_size(); ++i) {
    if (modelled.count(message.peaks(i).format()) > 0) continue;
    diagnostics->Error(root.At("peaks", i).place(),
                       Hardware::Format_Name(message.peaks(i).format()) + " has a peak and no gemm model");
  }
}

}  // namespace hardware
