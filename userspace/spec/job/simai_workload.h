// SPDX-License-Identifier: Apache-2.0
// For this folder only: the text of a workload of SimAI, as layers and groups of ranks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace xr::job {

struct SimAiGroup {
  uint32_t size = 1, stride = 1; // ranks r, r + stride ... of one stage
};

// fp, ig and wg of a layer, in the order of the file.
struct SimAiPart {
  uint64_t compute_ns = 0, bytes = 0;
  std::string kind;  // of a collective; "": none
  std::string group; // TP, DP, EP, DP_EP
};

struct SimAiLayer {
  std::array<SimAiPart, 3> parts;
  uint64_t update_ns = 0;                 // after each of its collectives
  bool checkpoint = false, again = false; // `again`: before its ig, forward from the checkpoint
};

struct SimAiWorkload {
  uint32_t ranks = 0, stages = 1;
  uint32_t chunks = 1;         // in which the layers go from stage to stage: ga x vpp
  uint64_t transfer_bytes = 0; // of a rank after each chunk: pp_comm
  std::map<std::string, SimAiGroup, std::less<>> groups;
  std::vector<SimAiLayer> layers;
};

// `hosts`: the ranks of a file without all_gpus; 0: it needs them.
Result<SimAiWorkload> read_simai_workload(std::string_view text, const std::string &name,
                                          uint32_t hosts);

} // namespace xr::job
