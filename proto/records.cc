#include "proto/records.h"

#include <cstdint>
#include <string>

namespace proto {
namespace {

sim::Error At(std::size_t offset, std::size_t record, const std::string& what) {
  std::string text = "truncated at offset ";
  text += std::to_string(offset);
  text += " (record ";
  text += std::to_string(record);
  return {text + "): " + what};
}

}  // namespace

sim::Result<std::vector<std::string_view>> SplitRecords(std::string_view bytes) {
  constexpr int kMostBits = 63;  // ten groups of seven bits at most; lengths are far below
  std::vector<std::string_view> records;
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t start = at;
    std::uint64_t length = 0;
    int shift = 0;
    for (;; shift += 7) {
      if (at == bytes.size()) return At(start, records.size(), "the length does not end");
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      if (shift >= kMostBits) return At(start, records.size(), "the length is no varint of 64 bits");
      length |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) break;
    }
    const std::size_t left = bytes.size() - at;
    if (length > left) {
      return At(start, records.size(),
                "it says " + std::to_string(length) + " bytes and " + std::to_string(left) + " remain");
    }
    records.push_back(bytes.substr(at, static_cast<std::size_t>(length)));
    at += static_cast<std::size_t>(length);
  }
  return records;
}

}  // namespace proto
