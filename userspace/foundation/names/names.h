// SPDX-License-Identifier: Apache-2.0
// Names of values in packets: opcodes, transports, NAKs, events; and times as text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "roce/event.h"

namespace xr::names {

// RC_SEND_ONLY, CNP; RESERVED_0x18 and MANUFACTURER_0xc1 for opcodes without a name.
std::string opcode_name(unsigned opcode);

// RC, UC, RD, UD, XRC, CNP, reserved, manufacturer.
std::string transport_name(unsigned opcode);

// request, response, datagram.
std::string kind_name(const roce_key &key);

// Tunnels, by enum roce_tunnel: erspan, gre, vxlan, geneve, mpls, ipip, qinq.
const std::vector<std::string> &tunnel_names();
// "auto" or a list with commas: 1 << enum roce_tunnel; none: a word that is no tunnel.
std::optional<uint32_t> tunnels_of(const std::string &list);

// An address of a key: "192.0.2.1" for v4-mapped addresses, otherwise IPv6.
std::string address(const __u32 words[4]);

// "psn_sequence_error", as in the report's keys; "reserved" for codes that IBA does not assign.
std::string nak_name(uint8_t syndrome);

// The syndrome as text: "PSN sequence error".
std::string nak_words(uint8_t syndrome);

// RDMA CM's name: "REQ"; the reason for a REJ: "invalid service ID", "reason 77".
std::string cm_message_name(unsigned attribute);
std::string cm_reason_name(unsigned reason);
// The reason with that name, with blanks or hyphens, or number; nullopt: there is none.
std::optional<uint16_t> cm_reason(const std::string &word);
std::vector<std::string> cm_reason_names();

// "3 PSNs 5..7".
std::string psns(uint32_t first, uint32_t count);

// Timer of an RNR NAK in milliseconds (IBA vol. 1, 9.7.5.2.8).
double rnr_timer_ms(uint8_t syndrome);

// gap, rewind, nak, rnr_nak, cnp, ce_run, stream_new, stream_forgotten.
std::string event_name(unsigned type);

// Texts of an event: "NAK", "new stream"; and the details: "PSN sequence error at PSN 7".
std::string event_heading(unsigned type);
std::string event_text(const roce_event &event);
// A line with all of these.
std::string event_line(uint64_t realtime_ns, const std::string &heading, const roce_key &key,
                       const std::string &text);

// From nanoseconds since 1970: "14:02:11.123456" in local time, "2025-11-21T13:02:11.123456789Z".
std::string local_time(uint64_t realtime_ns);
std::string utc_time(uint64_t realtime_ns);

} // namespace xr::names
