// SPDX-License-Identifier: Apache-2.0
// The page of one stream: all its counters, and its recent events.
#pragma once

#include "watch/listing.h"
#include "watch/model.h"

namespace xr::watch {

Listing stream_page(const State &state, size_t width); // counters are laid out within `width`

// "14:02:11.123456  NAK         PSN sequence error at PSN 7".
std::string event_line(const PortView &port, const roce_event &event, bool with_stream);

// Why the list has no events, or that older events are gone; "" if the list is complete.
std::string about_events(const PortView &port, bool none_shown);

} // namespace xr::watch
