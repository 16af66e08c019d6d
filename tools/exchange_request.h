// What `orrery collective dispatch` and `combine` are asked for.

#ifndef TOOLS_EXCHANGE_REQUEST_H_
#define TOOLS_EXCHANGE_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/collective_run/exchange_sweep.h"
#include "tools/collective_request.h"

namespace tools {

struct ExchangeRequest {
  scenarios::ExpertExchange exchange;
  std::vector<std::uint32_t> ranks;
  std::vector<std::int64_t> tokens;
  scenarios::PlayOptions options;
};

// Whether a command line asks for one of the two.
bool AsksForExchange(const Arguments& arguments);

// It is whole where no error was added.
ExchangeRequest ReadExchangeRequest(const Arguments& arguments, const NamedCluster& named,
                                    std::vector<std::string>* errors);

}  // namespace tools

#endif  // TOOLS_EXCHANGE_REQUEST_H_
