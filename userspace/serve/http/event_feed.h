// SPDX-License-Identifier: Apache-2.0
// Server-sent events: a text goes to every client that listens (Answer::stream).
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "http/server.h"

namespace xr::http {

class EventFeed {
public:
  EventFeed();

  // The next event of all clients; one that is too slow misses events. `data` is one line. Thread
  // safe, as the other functions.
  void publish(const std::string &data);
  // The answer to a client, who gets the events from now on. It may outlive this object.
  Answer listen();
  size_t listeners() const;

private:
  struct State;
  std::shared_ptr<State> state_;
};

} // namespace xr::http
