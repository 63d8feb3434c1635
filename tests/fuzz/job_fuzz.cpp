// SPDX-License-Identifier: Apache-2.0
// Files of jobs, to their readers. The first byte: c, a trace of Chakra, which is that of each of
// two ranks; s, a workload of SimAI; else a text of GOAL.
#include <cstdint>
#include <string>
#include <vector>

#include "job/chakra.h"
#include "job/goal.h"
#include "job/simai.h"
#include "require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size || size > 4096)
    return 0;
  const std::string rest(reinterpret_cast<const char *>(data) + 1, size - 1);
  const std::vector<xr::job::ChakraFile> files{{"a.0.et", rest}, {"a.1.et", rest}};
  const auto job = data[0] == 'c'   ? xr::job::read_chakra(files, "job")
                   : data[0] == 's' ? xr::job::read_simai(rest, "job")
                                    : xr::job::read_goal(rest, "job");
  if (!job) {
    REQUIRE(!job.error().message.empty() && !job.error().hint.empty());
    return 0;
  }
  for (uint32_t i = 0; i < job.get().operations.size(); i++) {
    REQUIRE(job.get().operations[i].rank < job.get().hosts.size());
    for (const xr::job::Need &need : job.get().needs(i))
      REQUIRE(need.operation < i);
  }
  return 0;
}
