// SPDX-License-Identifier: Apache-2.0
// The bursts of a training job on a port that was attached with --job (include/roce/job.h).
#include <vector>

#include <bpf/bpf.h>

#include "datapath/attached_port.h"
#include "datapath/counts.h"
#include "datapath/map_names.h"
#include "datapath/remedy.h"
#include "roce/job_record.h"

namespace xr::datapath {

namespace {

constexpr int kReadings = 8;

// Reads a record until no burst ended meanwhile, so that its open burst is one; its count after
// that.
uint64_t read_again(int fd, uint32_t index, roce_job_pair &record) {
  roce_job_pair again = record;
  for (int i = 0; i < kReadings; i++) {
    if (bpf_map_lookup_elem(fd, &index, &record) || bpf_map_lookup_elem(fd, &index, &again) ||
        record.count == again.count)
      break;
  }
  return again.count;
}

} // namespace

Result<JobBursts> AttachedPort::job() const {
  if (!(status_.features & ROCE_FEATURE_JOB))
    return Error{"it keeps no bursts of pairs of hosts", attach_again(status_, "--job")};
  Snapshot counts;
  XR_TRY(read_counters(counts));
  const int fd = maps_.fd(map_names::job_pairs);
  std::vector<roce_job_pair> records(ROCE_JOB_PAIRS), again(ROCE_JOB_PAIRS);
  for (auto *copy : {&records, &again})
    if (const int error = read_batch(fd, 0, ROCE_JOB_PAIRS, copy->data(), 0))
      return errno_error(error, "cannot read the bursts of pairs of hosts");
  JobBursts to;
  to.full = counts.totals.job_full;
  for (uint32_t i = 0; i < ROCE_JOB_PAIRS; i++) {
    uint64_t count_after = again[i].count;
    if (records[i].count != count_after)
      count_after = read_again(fd, i, records[i]);
    to.add(records[i], count_after);
  }
  return to;
}

} // namespace xr::datapath
