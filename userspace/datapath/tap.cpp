// SPDX-License-Identifier: Apache-2.0
#include "datapath/tap.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "datapath/counts.h"
#include "datapath/map_names.h"

namespace xr::datapath {

namespace {

constexpr Ability kCapture = {ROCE_FEATURE_CAPTURE, "capture", Lock::Use::Capture};

// What the kernel writes before the bytes that the program gave it.
struct Sample {
  perf_event_header header;
  uint32_t size;
};

Status put_filter(const Fd &map, const roce_capture_filter &filter) {
  const uint32_t zero = 0;
  if (bpf_map_update_elem(map.get(), &zero, &filter, 0) < 0)
    return errno_error(errno, "cannot tell the port what to capture");
  return {};
}

// Of a former capture that was killed.
Status clear_counts(const Fd &map) {
  const uint32_t zero = 0;
  const std::vector<roce_capture_counts> none(
      static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1)));
  if (bpf_map_update_elem(map.get(), &zero, none.data(), 0) < 0)
    return errno_error(errno, "cannot clear the counts of the capture");
  return {};
}

} // namespace

void Tap::Free::operator()(perf_buffer *rings) const { perf_buffer__free(rings); }

int Tap::deliver(void *self, int cpu, void *event) {
  auto *to = static_cast<Delivery *>(self);
  const auto *sample = static_cast<const Sample *>(event);
  const auto *bytes = reinterpret_cast<const uint8_t *>(sample + 1);
  roce_capture what;
  // PERF_RECORD_LOST has no count that the program has not, and comes late.
  if (sample->header.type != PERF_RECORD_SAMPLE || sample->size < sizeof(what))
    return LIBBPF_PERF_EVENT_CONT;
  std::memcpy(&what, bytes, sizeof(what));
  if (!(what.parts & ROCE_CAPTURE_FRAME))
    what.captured = 0;
  if (what.captured > sample->size - sizeof(what))
    return LIBBPF_PERF_EVENT_CONT;
  to->frames += what.parts & ROCE_CAPTURE_FRAME;
  to->callback(static_cast<unsigned>(cpu), what, bytes + sizeof(what));
  return LIBBPF_PERF_EVENT_CONT;
}

Status Tap::open_rings(uint64_t ring_bytes) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_BPF_OUTPUT;
  attr.sample_type = PERF_SAMPLE_RAW;
  attr.sample_period = 1;
  // Wakes the reader when a ring is filled to a quarter; else it looks by itself.
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<uint32_t>(ring_bytes / 4);
  const auto deliver_event = [](void *self, int cpu, perf_event_header *event) {
    return static_cast<bpf_perf_event_ret>(deliver(self, cpu, event));
  };
  const auto pages = static_cast<size_t>(ring_bytes) / static_cast<size_t>(getpagesize());
  rings_.reset(
      perf_buffer__new_raw(ring_.get(), pages, &attr, deliver_event, delivery_.get(), nullptr));
  if (rings_)
    return {};
  if (errno == EPERM || errno == EACCES)
    return errno_error(errno, "the kernel does not give this process rings to capture into",
                       "CAP_PERFMON is needed, and CAP_IPC_LOCK for more memory than ulimit -l");
  return errno_error(errno, "cannot make the rings to capture into",
                     "--buffer with a smaller size takes less memory");
}

Result<Tap> Tap::open(const std::string &ifname, const std::string &netns,
                      const AttachOptions &options, uint64_t ring_bytes, Callback callback) {
  auto lease = Lease::take(ifname, netns, kCapture, options);
  if (!lease)
    return lease.error();
  Tap self(std::move(*lease));
  auto found = look_up(ifname, netns);
  if (!found)
    return found.error();
  self.port_ = std::move(found->port);
  const auto keep = [&](const char *map) {
    return Fd(fcntl(found->maps.fd(map), F_DUPFD_CLOEXEC, 0));
  };
  self.ring_ = keep(map_names::capture_ring);
  self.filter_ = keep(map_names::capture_filter);
  self.counts_ = keep(map_names::capture_counts);
  if (auto done = put_filter(self.filter_, {}); !done)
    return done.error();
  if (auto done = clear_counts(self.counts_); !done)
    return done.error();
  self.delivery_ = std::make_unique<Delivery>(Delivery{std::move(callback)});
  if (auto done = self.open_rings(ring_bytes); !done)
    return done.error();
  return self;
}

Status Tap::start(const roce_capture_filter &filter) const { return put_filter(filter_, filter); }

Status Tap::poll(int timeout_ms) {
  const int got = perf_buffer__poll(rings_.get(), timeout_ms);
  if (got < 0 && got != -EINTR)
    return errno_error(-got, "cannot read the captured frames");
  // Rings that woke nobody yet.
  if (const int error = perf_buffer__consume(rings_.get()); error < 0)
    return errno_error(-error, "cannot read the captured frames");
  return {};
}

Status Tap::stop() {
  if (auto done = put_filter(filter_, {}); !done)
    return done;
  // A program that runs at this moment has read the filter: its frame is in the counts at once, and
  // in the ring a moment later.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (uint64_t expected = ~0ULL; std::chrono::steady_clock::now() < until;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    auto now = counts();
    if (!now)
      return now.error();
    if (auto done = poll(0); !done)
      return done;
    const uint64_t there = now->taken - now->lost - now->unread;
    if (there == expected && delivery_->frames >= there)
      break;
    expected = there;
  }
  return {};
}

Result<roce_capture_counts> Tap::counts() const {
  auto sum = sum_over_cpus<roce_capture_counts>(counts_.get(), 1);
  if (!sum)
    return sum.error();
  return sum->front();
}

Result<bool> Tap::alive() const { return is_attached_still(port_); }

Status Tap::close() {
  if (!lease_)
    return {};
  if (filter_)
    (void)put_filter(filter_, {});
  // The kernel frees a map when nobody has it any more.
  rings_.reset();
  for (Fd *map : {&ring_, &filter_, &counts_})
    map->reset();
  return lease_.end();
}

Tap::~Tap() {
  try {
    (void)close();
  } catch (...) { // no memory for its errors: nobody hears them here anyway
  }
}

} // namespace xr::datapath
