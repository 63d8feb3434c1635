// SPDX-License-Identifier: Apache-2.0
// Instructions that this thread executes, in the kernel too, where the machine has counters.
#pragma once

#include <cstdint>
#include <cstring>

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

namespace xr::bench {

class Instructions {
public:
  Instructions() {
    perf_event_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    attributes.exclude_hv = 1;
    fd_ = Fd(static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0)));
    there_ = fd_ && now() > 0;
  }
  // The machine has such a counter.
  bool there() const { return there_; }
  uint64_t now() const {
    uint64_t count = 0;
    return fd_ && ::read(fd_.get(), &count, sizeof(count)) == sizeof(count) ? count : 0;
  }

private:
  Fd fd_;
  bool there_ = false;
};

} // namespace xr::bench
