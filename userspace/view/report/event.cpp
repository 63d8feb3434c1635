// SPDX-License-Identifier: Apache-2.0
#include "report/reports.h"

#include "names/names.h"

namespace xr::report {

Document event_report(const roce_event &e, uint64_t realtime_ns) {
  Document document;
  const auto add = [&document](const char *key, Value value) {
    document.sections.push_back({key, "", std::move(value), Where::Json});
  };
  add("schema", uint64_t{1});
  add("time", names::utc_time(realtime_ns));
  add("type", names::event_name(e.type));
  add("src", names::address(e.key.src));
  add("dst", names::address(e.key.dst));
  add("dest_qp", uint64_t{roce_key_qp(&e.key)});
  add("kind", names::kind_name(e.key));
  add("roce_version", uint64_t{e.key.qp_kind & ROCE_KEY_V1 ? 1u : 2u});
  add("opcode", uint64_t{e.opcode});
  add("name", names::opcode_name(e.opcode));
  add("psn", uint64_t{e.psn});
  if (e.type == ROCE_EVENT_GAP || e.type == ROCE_EVENT_REWIND)
    add("expected", uint64_t{e.expected});
  if (e.type == ROCE_EVENT_GAP)
    add("skipped", uint64_t{e.skipped});
  if (e.type == ROCE_EVENT_NAK || e.type == ROCE_EVENT_RNR_NAK)
    add("syndrome", uint64_t{e.syndrome});
  if (e.type == ROCE_EVENT_NAK)
    add("nak", names::nak_name(e.syndrome));
  if (e.type == ROCE_EVENT_RNR_NAK)
    add("rnr_timer_ms", names::rnr_timer_ms(e.syndrome));
  add("cpu", uint64_t{e.cpu});
  document.sections.push_back({"", "",
                               Value{names::event_line(realtime_ns, names::event_heading(e.type),
                                                       e.key, names::event_text(e))},
                               Where::Text});
  return document;
}

} // namespace xr::report
