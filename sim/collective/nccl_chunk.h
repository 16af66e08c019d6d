// How much NCCL moves at a time over one channel of what works in loops; it decides the fill.

#ifndef SIM_COLLECTIVE_NCCL_CHUNK_H_
#define SIM_COLLECTIVE_NCCL_CHUNK_H_

#include "sim/collective/nccl_tuner.h"

namespace sim {

// Of a tree's channel, or of one head's slice on a channel of NVLSTree: smaller where the buffer is small
// for the depth of the tree. `channels` share the buffer.
// REQUIRES: kTree or kNvlsTree; channels >= 1
// Source: NCCL, src/enqueue.cc (chunk sizes), 2.18 to 2.30.
Bytes TreeChunk(Algorithm algorithm, Protocol protocol, const NcclGroup& group, Bytes size, int channels);

// Of one head's slice on a channel of NVLS inside one node: all heads' slices on all channels are a loop.
// REQUIRES: channels >= 1
Bytes NvlsChunk(const NcclGroup& group, Bytes size, int channels);

}  // namespace sim

#endif  // SIM_COLLECTIVE_NCCL_CHUNK_H_
