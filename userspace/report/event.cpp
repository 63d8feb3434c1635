// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "report/names.h"
#include "report/reports.h"

namespace xr::report {

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

Document event_report(const roce_event &e, uint64_t realtime_ns) {
  Document document;
  const auto add = [&document](const char *key, Value value) {
    document.sections.push_back({key, "", std::move(value), Where::Json});
  };
  add("schema", uint64_t{1});
  add("time", utc_time(realtime_ns));
  add("type", event_name(e.type));
  add("src", address(e.key.src));
  add("dst", address(e.key.dst));
  add("dest_qp", uint64_t{roce_key_qp(&e.key)});
  add("kind", kind_name(e.key));
  add("roce_version", uint64_t{e.key.qp_kind & ROCE_KEY_V1 ? 1u : 2u});
  add("opcode", uint64_t{e.opcode});
  add("name", opcode_name(e.opcode));
  add("psn", uint64_t{e.psn});
  if (e.type == ROCE_EVENT_GAP || e.type == ROCE_EVENT_REWIND)
    add("expected", uint64_t{e.expected});
  if (e.type == ROCE_EVENT_GAP)
    add("skipped", uint64_t{e.skipped});
  if (e.type == ROCE_EVENT_NAK || e.type == ROCE_EVENT_RNR_NAK)
    add("syndrome", uint64_t{e.syndrome});
  if (e.type == ROCE_EVENT_NAK)
    add("nak", nak_name(e.syndrome));
  if (e.type == ROCE_EVENT_RNR_NAK)
    add("rnr_timer_ms", rnr_timer_ms(e.syndrome));
  add("cpu", uint64_t{e.cpu});
  document.sections.push_back(
      {"", "", Value{event_line(realtime_ns, event_heading(e.type), e.key, event_text(e))},
       Where::Text});
  return document;
}

} // namespace xr::report
