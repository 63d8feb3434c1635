// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "names/names.h"

namespace xr::names {

std::string event_line(uint64_t realtime_ns, const std::string &heading, const roce_key &key,
                       const std::string &text) {
  std::string line =
      fmt::format("{}  {:<10}  {} -> {}  QP 0x{:06x} {:<8}  {}", local_time(realtime_ns), heading,
                  address(key.src), address(key.dst), roce_key_qp(&key), kind_name(key), text);
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string event_text(const roce_event &e) {
  switch (e.type) {
  case ROCE_EVENT_GAP:
    return psns(e.expected, e.skipped);
  case ROCE_EVENT_REWIND:
    return fmt::format("back at PSN {}, {} was expected", e.psn, e.expected);
  case ROCE_EVENT_NAK:
    return fmt::format("{} at PSN {}", nak_words(e.syndrome), e.psn);
  case ROCE_EVENT_RNR_NAK:
    return fmt::format("timer {} ms at PSN {}", rnr_timer_ms(e.syndrome), e.psn);
  case ROCE_EVENT_CNP:
    return "";
  case ROCE_EVENT_CE_RUN:
    return fmt::format("begins at PSN {}", e.psn);
  default:
    return fmt::format("PSN {}", e.psn);
  }
}

std::string event_heading(unsigned type) {
  switch (type) {
  case ROCE_EVENT_NAK:
    return "NAK";
  case ROCE_EVENT_RNR_NAK:
    return "RNR NAK";
  case ROCE_EVENT_CNP:
    return "CNP";
  case ROCE_EVENT_CE_RUN:
    return "CE run";
  case ROCE_EVENT_STREAM_NEW:
    return "new stream";
  case ROCE_EVENT_STREAM_FORGOTTEN:
    return "forgotten";
  default:
    return event_name(type);
  }
}

} // namespace xr::names
