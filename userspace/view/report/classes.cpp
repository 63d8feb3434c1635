// SPDX-License-Identifier: Apache-2.0
// Packets by DSCP and PCP; what PFC and PAUSE frames paused.
#include "report/classes.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "model/episodes.h"
#include "report/cells.h"

namespace xr::report {

namespace {

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

std::string mac_text(const Mac &mac) { return fmt::format("{:02x}", fmt::join(mac, ":")); }

Section pfc_senders_of(const Snapshot &s) {
  Rows rows;
  const uint64_t begun = s.pfc_senders.begun_ns;
  const auto since = [begun](uint64_t ns) {
    const auto after = static_cast<int64_t>(ns - begun);
    return fmt::format("{:.6f}", static_cast<double>(after) / 1e9);
  };
  const auto us = [](const roce_pfc &pfc) { return static_cast<double>(pfc.paused_ns) / 1000; };
  for (const PfcSender &sender : s.pfc_senders.senders)
    for (uint64_t i = 0; i < ROCE_PFC_COUNTS; i++) {
      const PfcSender::Row &row = sender.rows[i];
      if (!row.xoff && !row.xon)
        continue;
      rows.push_back({mac_text(sender.source), i == ROCE_PFC_ALL ? Value{} : Value{i}, row.xoff,
                      row.xon, row.quanta, row.first_ns, row.last_ns, since(row.first_ns),
                      since(row.last_ns), s.quantum_ps ? Value{us(row.paused)} : Value{},
                      us(row.slow)});
    }
  const Where where = rows.empty() ? Where::Json : Where::Both;
  return {"pfc_senders", "",
          make_table({{"source", "SENDER OF PFC"},
                      {"priority", "PRIORITY", Format::Number},
                      {"xoff", "XOFF", Format::Count},
                      {"xon", "XON", Format::Count},
                      {"quanta", "QUANTA", Format::Count},
                      {"first_ns", "", Format::Number, Hide::Never, Tone::Plain, Where::Json},
                      {"last_ns", "", Format::Number, Hide::Never, Tone::Plain, Where::Json},
                      {"first", "FIRST s", Format::Number, Hide::Never, Tone::Plain, Where::Text},
                      {"last", "LAST s", Format::Number, Hide::Never, Tone::Plain, Where::Text},
                      {"paused_us", "PAUSED\nUS", Format::Rate, Hide::Zero},
                      {"paused_at_most_us", "PAUSED US\nAT MOST", Format::Rate}},
                     std::move(rows)),
          where};
}

struct FaultName {
  const char *key, *words;
};
constexpr std::array<FaultName, kPfcFaults> kFaultNames = {{
    {"destination", "destination is not 01:80:c2:00:00:01"},
    {"opcode", "reserved opcode"},
    {"short", "shorter than 60 bytes"},
    {"tagged", "VLAN tag"},
    {"reserved_bits", "reserved bits of the enabled classes are set"},
}};

Section pfc_faults_of(const Snapshot &s) {
  constexpr uint64_t kNumber = (uint64_t{1} << kFileShift) - 1;
  Rows rows;
  for (const PfcSender &sender : s.pfc_senders.senders)
    for (size_t i = 0; i < kPfcFaults; i++) {
      const PfcSender::Fault &fault = sender.faults[i];
      if (!fault.frames)
        continue;
      const uint64_t file = fault.first_frame >> kFileShift;
      rows.push_back({mac_text(sender.source), std::string(kFaultNames[i].key),
                      std::string(kFaultNames[i].words), fault.frames, fault.first_frame & kNumber,
                      file < s.files.size() ? Value{s.files[file]} : Value{}});
    }
  const Where where = rows.empty() ? Where::Json : Where::Both;
  return {"pfc_faults", "",
          make_table({{"source", "BROKEN PFC\nAND PAUSE OF"},
                      {"fault", "", Format::Text, Hide::Never, Tone::Plain, Where::Json},
                      {"words", "WHAT IS WRONG"},
                      {"frames", "FRAMES", Format::Count, Hide::Never, Tone::Alarm},
                      {"first_frame", "FIRST\nFRAME", Format::Number},
                      {"first_file", "OF", Format::Text, Hide::Zero}},
                     std::move(rows)),
          where};
}

} // namespace

void add_classes(Document &document, const Snapshot &snapshot) {
  document.sections.push_back(pfc_of(snapshot));
  if (snapshot.source == Snapshot::Source::Capture) {
    document.sections.push_back(pfc_senders_of(snapshot));
    document.sections.push_back(pfc_faults_of(snapshot));
  }
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
