// SPDX-License-Identifier: Apache-2.0
// Packets by DSCP and PCP; what PFC and PAUSE frames paused.
#include "report/classes.h"

namespace xr::report {

namespace {

using Rows = std::vector<std::vector<Value>>;

// Without any tag, the text has no table of PCPs.
Section section_of(const char *key, const char *heading, Rows rows) {
  const bool named = !rows.empty() && !std::holds_alternative<std::monostate>(rows[0][0]);
  const Where where = named ? Where::Both : Where::Json;
  return {key, "",
          make_table({{key, heading, Format::Number},
                      {"packets", "PACKETS", Format::Count},
                      {"bytes", "BYTES", Format::Count}},
                     std::move(rows)),
          where};
}

void add_row(Rows &rows, Value name, const roce_class_count &count) {
  if (count.packets)
    rows.push_back({std::move(name), uint64_t{count.packets}, uint64_t{count.bytes}});
}

Section pfc_of(const Snapshot &s) {
  const roce_totals &t = s.totals;
  Rows rows;
  for (uint64_t i = 0; i < ROCE_PFC_COUNTS; i++)
    if (t.pfc_xoff[i] + t.pfc_xon[i])
      rows.push_back(
          {i == ROCE_PFC_ALL ? Value{} : Value{i}, uint64_t{t.pfc_xoff[i]}, uint64_t{t.pfc_xon[i]},
           uint64_t{t.pfc_quanta[i]},
           s.quantum_ps ? Value{static_cast<double>(s.pfc[i].paused_ns) / 1000} : Value{}});
  const Where where = rows.empty() ? Where::Json : Where::Both;
  return {"pfc", "",
          make_table({{"priority", "PAUSED\nPRIORITY", Format::Number},
                      {"xoff", "XOFF", Format::Count},
                      {"xon", "XON", Format::Count},
                      {"quanta", "QUANTA", Format::Count},
                      {"paused_us", "PAUSED\nUS", Format::Rate, Hide::Zero}},
                     std::move(rows)),
          where};
}

} // namespace

void add_classes(Document &document, const Snapshot &snapshot) {
  document.sections.push_back(pfc_of(snapshot));
  if (snapshot.classes.size() != ROCE_CLASS_COUNTS)
    return;
  Rows dscp, pcp;
  for (uint64_t i = 0; i < ROCE_CLASS_PCP; i++)
    add_row(dscp, i, snapshot.classes[i]);
  for (uint64_t i = ROCE_CLASS_PCP; i < ROCE_CLASS_UNTAGGED; i++)
    add_row(pcp, i - ROCE_CLASS_PCP, snapshot.classes[i]);
  add_row(pcp, Value{}, snapshot.classes[ROCE_CLASS_UNTAGGED]);
  document.sections.push_back(section_of("dscp", "DSCP", std::move(dscp)));
  document.sections.push_back(section_of("pcp", "PCP", std::move(pcp)));
}

} // namespace xr::report
