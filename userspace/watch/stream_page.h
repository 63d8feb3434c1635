// SPDX-License-Identifier: Apache-2.0
// One stream: all that is counted of it, and what happened to it lately.
#pragma once

#include "watch/listing.h"
#include "watch/model.h"

namespace xr::watch {

Listing stream_page(const State &state, size_t width); // the screen's: counters stand within it

// "14:02:11.123456  NAK         PSN sequence error at PSN 7".
std::string event_line(const PortView &port, const roce_event &event, bool with_stream);

// Why there are no events in the list, or that older ones are gone; "" when it has all there were.
std::string about_events(const PortView &port, bool none_shown);

} // namespace xr::watch
