// Ranks as a command line names them.

#ifndef TOOLS_RANK_LIST_H_
#define TOOLS_RANK_LIST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/index.h"
#include "sim/base/result.h"

namespace tools {

// "0,8,16-23" as ranks below `ranks`: sorted, each once. `flag` is for messages: "--ranks".
sim::Result<std::vector<sim::Rank>> ParseRanks(const std::string& flag, const std::string& text,
                                               std::int64_t ranks);

}  // namespace tools

#endif  // TOOLS_RANK_LIST_H_
