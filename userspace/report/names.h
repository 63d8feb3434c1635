// SPDX-License-Identifier: Apache-2.0
// The words for what is a number on the wire.
#pragma once

#include <cstdint>
#include <string>

#include "roce/event.h"

namespace xr::report {

// RC_SEND_ONLY, CNP; RESERVED_0x18 and MANUFACTURER_0xc1 where the table has no row.
std::string opcode_name(unsigned opcode);

// RC, UC, RD, UD, XRC, CNP, reserved, manufacturer.
std::string transport_name(unsigned opcode);

// request, response, datagram.
std::string kind_name(const roce_key &key);

// Of a key: "192.0.2.1" for v4-mapped addresses, else IPv6.
std::string address(const __u32 words[4]);

// "psn_sequence_error" as in the report's keys; "reserved" for what IBA does not assign.
std::string nak_name(uint8_t syndrome);

// The same as people write it: "PSN sequence error".
std::string nak_words(uint8_t syndrome);

// "3 PSNs 5..7".
std::string psns(uint32_t first, uint32_t count);

// Of an RNR NAK (IBA vol. 1, 9.7.5.2.8).
double rnr_timer_ms(uint8_t syndrome);

// gap, rewind, nak, rnr_nak, cnp, ce_run, stream_new, stream_forgotten.
std::string event_name(unsigned type);

// For people: "NAK", "new stream"; and what it says: "PSN sequence error at PSN 7".
std::string event_heading(unsigned type);
std::string event_text(const roce_event &event);

// Of nanoseconds since 1970: "14:02:11.123456" here, "2025-11-21T13:02:11.123456789Z" anywhere.
std::string local_time(uint64_t realtime_ns);
std::string utc_time(uint64_t realtime_ns);

} // namespace xr::report
