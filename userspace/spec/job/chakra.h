// SPDX-License-Identifier: Apache-2.0
// Chakra execution traces (MLCommons; github.com/mlcommons/chakra, schema/protobuf/et_def.proto of
// 0.0.4 and later), as astra-sim reads them: NAME.0.et, NAME.1.et, ... one for each rank.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "job/job.h"

namespace xr::job {

// The bytes of a rank's file; the name is for errors.
struct ChakraFile {
  std::string name, bytes;
};

// A job of one step; its ranks have no hosts yet: `hosts` has an empty name for each.
// Compute nodes take `duration_micros`, each processor (attribute is_cpu_op) of a rank one after
// the other. Sends and receives of a pair of ranks and a tag meet in their order. A collective of
// all ranks is a node in each file, which meet in their order; its algorithm is the ring, or
// parallel for all-to-all. Errors: what does not meet, node types and groups of ranks that are not
// here, bytes that are not of the schema.
Result<Job> read_chakra(std::span<const ChakraFile> files, const std::string &name);
// `directory` has the files of one trace.
Result<Job> read_chakra(const std::string &directory, const std::string &name);

} // namespace xr::job
