// SPDX-License-Identifier: Apache-2.0
#include "datapath/capture_tap.h"

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

constexpr LeasedFeature kCapture = {ROCE_FEATURE_CAPTURE, "capture", Lock::Use::Capture};

// What the kernel writes before the program's bytes (PERF_RECORD_SAMPLE with PERF_SAMPLE_RAW).
struct Sample {
  perf_event_header header;
  uint32_t size;
};

Status put_filter(const Fd &map, const roce_capture_filter &filter) {
  const uint32_t zero = 0;
  if (bpf_map_update_elem(map.get(), &zero, &filter, 0) < 0)
    return errno_error(errno, "cannot write the capture filter");
  return {};
}

// A previous capture that was killed may have left counts.
Status clear_counts(const Fd &map) {
  const uint32_t zero = 0;
  const std::vector<roce_capture_counts> none(
      static_cast<size_t>(std::max(libbpf_num_possible_cpus(), 1)));
  if (bpf_map_update_elem(map.get(), &zero, none.data(), 0) < 0)
    return errno_error(errno, "cannot clear the counts of the capture");
  return {};
}

} // namespace

void CaptureTap::Free::operator()(perf_buffer *rings) const { perf_buffer__free(rings); }

int CaptureTap::deliver(void *self, int cpu, void *event) {
  auto *to = static_cast<Delivery *>(self);
  const auto *sample = static_cast<const Sample *>(event);
  const auto *bytes = reinterpret_cast<const uint8_t *>(sample + 1);
  roce_capture what;
  // PERF_RECORD_LOST is ignored: the program counts losses itself, and earlier.
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

Status CaptureTap::open_rings(uint64_t ring_bytes) {
  perf_event_attr attr{};
  attr.size = sizeof(attr);
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_BPF_OUTPUT;
  attr.sample_type = PERF_SAMPLE_RAW;
  attr.sample_period = 1;
  // Wakes the reader when a quarter of a ring is full; poll() also reads the other rings.
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
    return errno_error(errno, "the kernel refuses perf rings for the capture",
                       "CAP_PERFMON is needed, and CAP_IPC_LOCK for more memory than ulimit -l");
  return errno_error(errno, "cannot create the perf rings for the capture",
                     "--buffer with a smaller size needs less memory");
}

Result<CaptureTap> CaptureTap::open(const PortName &port, AttachOptions options,
                                    uint64_t ring_bytes, bool nic_time, Callback callback) {
  LeasedFeature feature = kCapture;
  if (nic_time) {
    feature.bit |= ROCE_FEATURE_NIC_TIME;
    options.alone = true;
  }
  auto lease = XR_TRY(FeatureLease::take(port, feature, options));
  CaptureTap self(std::move(lease));
  auto found = look_up(port);
  if (!found)
    return found.error();
  self.port_ = std::move(found->port);
  const auto keep = [&](const char *map) {
    return Fd(fcntl(found->maps.fd(map), F_DUPFD_CLOEXEC, 0));
  };
  self.ring_ = keep(map_names::capture_ring);
  self.filter_ = keep(map_names::capture_filter);
  self.counts_ = keep(map_names::capture_counts);
  XR_TRY(put_filter(self.filter_, {}));
  XR_TRY(clear_counts(self.counts_));
  self.delivery_ = std::make_unique<Delivery>(Delivery{std::move(callback)});
  XR_TRY(self.open_rings(ring_bytes));
  return self;
}

Status CaptureTap::start(const roce_capture_filter &filter) const {
  return put_filter(filter_, filter);
}

Status CaptureTap::poll(int timeout_ms) {
  const int got = perf_buffer__poll(rings_.get(), timeout_ms);
  if (got < 0 && got != -EINTR)
    return errno_error(-got, "cannot read the captured frames");
  // Also read the rings below their watermark.
  if (const int error = perf_buffer__consume(rings_.get()); error < 0)
    return errno_error(-error, "cannot read the captured frames");
  return {};
}

Status CaptureTap::stop() {
  if (auto done = put_filter(filter_, {}); !done)
    return done;
  // A program that is running now may have read the old filter. It counts its frame first and
  // writes it to the ring a moment later: wait until both agree.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (uint64_t expected = ~0ULL; std::chrono::steady_clock::now() < until;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    auto now = XR_TRY(counts());
    if (auto done = poll(0); !done)
      return done;
    const uint64_t there = now.taken - now.lost - now.unread;
    if (there == expected && delivery_->frames >= there)
      break;
    expected = there;
  }
  return {};
}

Result<roce_capture_counts> CaptureTap::counts() const {
  auto sum = XR_TRY(sum_over_cpus<roce_capture_counts>(counts_.get(), 1));
  return sum.front();
}

Result<bool> CaptureTap::alive() const { return is_still_attached(port_); }

Status CaptureTap::close() {
  if (!lease_)
    return {};
  if (filter_)
    (void)put_filter(filter_, {});
  // The kernel frees a map after its last reference: close ours before the lease ends.
  rings_.reset();
  for (Fd *map : {&ring_, &filter_, &counts_})
    map->reset();
  return lease_.end();
}

CaptureTap::~CaptureTap() {
  try {
    (void)close();
  } catch (...) { // out of memory for the error; a destructor cannot report it anyway
  }
}

} // namespace xr::datapath
