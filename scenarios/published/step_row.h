// StepRow: one published step time and the configuration that it was measured with,
// as a table says it. Cells that sources word freely stay words here; convert.h reads them.

#ifndef SCENARIOS_PUBLISHED_STEP_ROW_H_
#define SCENARIOS_PUBLISHED_STEP_ROW_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/text_reader.h"
#include "scenarios/published/csv.h"

namespace scenarios {

// Columns are called as the comment says where that is not the member's name.
struct StepRow {
  int line = 0;  // of the file
  std::string id;
  std::string source, where;  // document, and the place in it
  std::string gpu;            // an exact name or alias of the catalogue
  std::int64_t n_gpu = 0, gpus_per_node = 0;
  std::string scale_up;  // intra_bw_note
  std::string network;   // inter_bw_note
  std::string model_name;
  double params_b = 0;  // billions of parameters, as the source counts; 0 = not given
  std::int64_t layers = 0, hidden = 0, ffn_hidden = 0, heads = 0, kv_heads = 0, vocab = 0;
  std::string moe;                             // "dense", or "E=8;topk=2;shared=0;expert_ffn=14336"
  std::int64_t seq_len = 0, global_batch = 0;  // tokens; global_batch_seqs
  std::string micro_batch;
  std::int64_t tp = 1, cp = 1, pp = 1, dp = 1, ep = 1;
  std::string sp, vpp;
  std::string sharding;  // zero_stage_fsdp
  std::string recompute, precision;
  std::string attention;  // attention_impl
  std::string overlap;    // overlap_notes
  std::string notes;
  double step_time_s = 0;  // derived_step_time_s
};

// Rows of which every (column, value) of `where` holds. A column that is missing, or a
// number that is none, is an error; all are reported.
std::vector<StepRow> ReadStepRows(const CsvTable& table,
                                  const std::vector<std::pair<std::string, std::string>>& where,
                                  proto::Diagnostics* diagnostics);

// Whether `text` has `part` somewhere; letters of either case are the same.
bool Says(std::string_view text, std::string_view part);

// What sort of parallelism a row is about: "experts", "FSDP", "tensor + pipeline", "tensor",
// "pipeline" or "data".
std::string ParallelismOf(const StepRow& row);

}  // namespace scenarios

#endif  // SCENARIOS_PUBLISHED_STEP_ROW_H_
