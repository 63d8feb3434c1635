// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>

#include <bpf/libbpf.h>

#include "datapath/attached_port.h"
#include "datapath/map_names.h"

namespace xr::datapath {

void Events::Close::operator()(ring_buffer *ring) const { ring_buffer__free(ring); }

int Events::deliver(void *self, void *data, size_t size) {
  auto *state = static_cast<State *>(self);
  roce_event event;
  if (size < sizeof(event) || state->skipping)
    return 0;
  std::memcpy(&event, data, sizeof(event));
  event.key.qp_kind &= ~ROCE_KEY_SIDE;
  state->callback(event);
  return 0;
}

Result<int> Events::poll(int timeout_ms) {
  int got = ring_buffer__poll(ring_.get(), timeout_ms);
  if (got == -EINTR)
    return 0;
  if (got < 0)
    return errno_error(-got, "cannot read the events");
  return got;
}

void Events::skip() {
  state_->skipping = true;
  ring_buffer__consume(ring_.get());
  state_->skipping = false;
}

Result<Events> AttachedPort::events(Events::Callback callback) const {
  Events events;
  events.state_ = std::make_unique<Events::State>();
  events.state_->callback = std::move(callback);
  if (!directory_.empty()) {
    // Locks the directory of the pins: all readers of this port have it in common.
    Fd lock(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) < 0)
      return Error{"another process is reading the events of this interface",
                   "one at a time: stop the other `events` or `watch`"};
    events.state_->lock = std::move(lock);
  }
  events.ring_.reset(
      ring_buffer__new(maps_.fd(map_names::events), Events::deliver, events.state_.get(), nullptr));
  if (!events.ring_)
    return errno_error(errno, "cannot read the events");
  return events;
}

} // namespace xr::datapath
