// What a receiver's buffer bounds: how far a sender can be ahead of what is passed on.

#ifndef SIM_COLLECTIVE_CHUNK_SLOTS_H_
#define SIM_COLLECTIVE_CHUNK_SLOTS_H_

#include <cstdint>
#include <vector>

#include "sim/collective/collective.h"

namespace sim {

// Lets each transfer wait until its receiver has passed on, or added up and passed on, what came over its
// edge `slots` transfers before; where a loop is many chunks, so many loops before. What ends at the receiver
// is taken out of the buffer at once. REQUIRES: slots, chunks_a_loop >= 1
void BoundBySlots(std::uint32_t slots, std::uint32_t chunks_a_loop, std::vector<Transfer>* transfers);

}  // namespace sim

#endif  // SIM_COLLECTIVE_CHUNK_SLOTS_H_
