// SPDX-License-Identifier: Apache-2.0
#include "http/event_feed.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace xr::http {

namespace {

constexpr auto kWait = std::chrono::milliseconds(250); // between two looks at the client

} // namespace

struct EventFeed::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::shared_ptr<const std::string> event; // as it is sent
  uint64_t number = 0;                      // of the event
  size_t listeners = 0;
};

EventFeed::EventFeed() : state_(std::make_shared<State>()) {}

void EventFeed::publish(const std::string &data) {
  auto event = std::make_shared<const std::string>("data: " + data + "\n\n");
  const std::lock_guard lock(state_->mutex);
  state_->event = std::move(event);
  state_->number++;
  state_->changed.notify_all();
}

Answer EventFeed::listen() {
  const std::lock_guard lock(state_->mutex);
  state_->listeners++;
  const std::shared_ptr<State> leaving(state_.get(), [state = state_](State *) {
    const std::lock_guard last(state->mutex);
    state->listeners--;
  });
  auto next = [state = leaving, seen = state_->number,
               first = true]() mutable -> std::optional<std::string> {
    if (std::exchange(first, false))
      return "retry: 2000\n\n"; // milliseconds until a client that lost its connection comes back
    std::unique_lock wait(state->mutex);
    if (!state->changed.wait_for(wait, kWait, [&] { return state->number != seen; }))
      return "";
    seen = state->number;
    const auto event = state->event;
    wait.unlock();
    return *event;
  };
  return {200, "text/event-stream", "", std::move(next)};
}

size_t EventFeed::listeners() const {
  const std::lock_guard lock(state_->mutex);
  return state_->listeners;
}

} // namespace xr::http
