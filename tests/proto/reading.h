// Shared by the tests of the reader: one call that reads a Sample.

#ifndef TESTS_PROTO_READING_H_
#define TESTS_PROTO_READING_H_

#include <string>
#include <string_view>
#include <vector>

#include "proto/text_reader.h"
#include "tests/proto/sample.pb.h"

namespace proto {

struct Reading {
  bool ok = false;
  orrery::test::Sample sample;
  Document document;
  Diagnostics diagnostics;
  const std::vector<std::string>& errors() const { return diagnostics.errors(); }
};

inline Reading ReadSample(std::string_view text, const std::string& file = "a.textproto",
                          const std::vector<Override>& overrides = {}) {
  Reading reading;
  reading.ok = Read(file, text, overrides, &reading.sample, &reading.document, &reading.diagnostics);
  return reading;
}

}  // namespace proto

#endif  // TESTS_PROTO_READING_H_
