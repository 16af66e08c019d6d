// What both kinds of `orrery calibrate` do alike.

#ifndef TOOLS_CALIBRATE_PARTS_H_
#define TOOLS_CALIBRATE_PARTS_H_

#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "hardware/device.h"
#include "proto/text_reader.h"
#include "tools/command_line.h"

namespace tools {

// `--where COLUMN=VALUE` as pairs; what is none is an error each.
std::vector<std::pair<std::string, std::string>> WhereOf(const Arguments& arguments,
                                                         proto::Diagnostics* diagnostics);

// What is wrong with --hardware, --output and --residuals as words, before any file is read; and with flags
// that are of the other kind.
void CheckWords(const Arguments& arguments, const std::vector<std::string>& of_the_other_kind,
                proto::Diagnostics* diagnostics);

// Figures that were fitted are not those of `device`, and a file with its name would hide it.
void RefuseNameOf(const hardware::Device& device, const Arguments& arguments,
                  proto::Diagnostics* diagnostics);

// Rows that are there twice would count twice.
void RefuseTwice(const std::vector<std::string>& files, proto::Diagnostics* diagnostics);

// What the device of --output derives from, as its file would name it; names of the catalogue stay.
std::string DerivedFrom(const Arguments& arguments);

// Writes --output unless something speaks against its figures; the exit status.
int WriteDevice(const Arguments& arguments, const std::vector<std::string>& doubts, const std::string& text,
                std::ostream& err);

}  // namespace tools

#endif  // TOOLS_CALIBRATE_PARTS_H_
