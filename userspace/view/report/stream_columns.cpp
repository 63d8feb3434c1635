// SPDX-License-Identifier: Apache-2.0
#include "report/stream_columns.h"

#include <algorithm>

#include "names/names.h"
#include "report/reports.h"

namespace xr::report {

namespace {

template <int counter> Value counter_of(const roce_stream &s) {
  return roce_stream_counter(&s, counter);
}

// Datagrams, and streams of only ACKs or CNPs, have no PSN sequence of their own.
Value psn(const roce_stream &s, uint64_t number) {
  return s.flags & ROCE_STREAM_STARTED ? Value{number} : Value{NotApplicable{number}};
}

Value transport(const roce_stream &s) {
  const unsigned code = s.flags >> ROCE_STREAM_TRANSPORT_SHIFT; // prefix / 0x20 + 1
  return names::transport_name(code ? (code - 1) << 5 : ROCE_OPCODE_CNP);
}

Value pmtu(const roce_stream &s) {
  const unsigned code = (s.word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT;
  return code ? Value{uint64_t{roce_pmtu_bytes(code)}} : Value{};
}

// A counter of errors; event() is a counter of neutral events.
StreamColumn trouble(const char *key, const char *heading, Value (*value)(const roce_stream &)) {
  return {{key, heading, Format::Count, Hide::Zero, Tone::Alarm}, value};
}
StreamColumn event(const char *key, const char *heading, Value (*value)(const roce_stream &)) {
  return {{key, heading, Format::Count, Hide::Zero}, value};
}

} // namespace

const std::vector<StreamColumn> &stream_columns() {
  using S = const roce_stream &;
  static const std::vector<StreamColumn> kColumns = {
      {{"src", "SOURCE"}, [](S s) -> Value { return names::address(s.key.src); }},
      {{"dst", "DESTINATION"}, [](S s) -> Value { return names::address(s.key.dst); }},
      {{"dest_qp", "DEST QP", Format::Qpn},
       [](S s) -> Value { return uint64_t{roce_key_qp(&s.key)}; }},
      {{"lost_before", "LOST\nBEFORE\nHERE", Format::Count, Hide::Never, Tone::Alarm},
       [](S s) -> Value { return lost_psns(s); }},
      {{"lost_unsure", "PERHAPS\nALSO", Format::Count, Hide::Zero},
       [](S s) -> Value { return lost_unsure_psns(s); }},
      {{"lost_after", "LOST\nAFTER\nHERE", Format::Count, Hide::Zero, Tone::Alarm},
       [](S s) -> Value { return lost_after(s); }},
      {{"sent_again", "SENT\nAGAIN", Format::Count}, [](S s) -> Value { return sent_again(s); }},
      {{kRecovery, "RECOVERY\nus", Format::Rate, Hide::Zero}, nullptr},
      {{kQpNumber, "QP\nNUMBER", Format::Number, Hide::Zero}, nullptr},
      {{"src_qp", "SRC QP", Format::Qpn, Hide::Zero},
       [](S s) -> Value {
         return s.flags & ROCE_STREAM_SRC_QP ? Value{uint64_t{s.src_qp}} : Value{};
       }},
      {{"kind", "KIND"}, [](S s) -> Value { return names::kind_name(s.key); }},
      {{"roce_version", "RoCE", Format::Number},
       [](S s) -> Value { return uint64_t{s.key.qp_kind & ROCE_KEY_V1 ? 1u : 2u}; }},
      {{"transport", "TRANS-\nPORT"}, transport},
      {{"packets", "PACKETS", Format::Count},
       [](S s) -> Value { return uint64_t{roce_stream_packets(&s)}; }},
      {{"bytes", "BYTES", Format::Count},
       [](S s) -> Value { return uint64_t{roce_stream_bytes(&s)}; }},
      {{"first_psn", "FIRST\nPSN", Format::Number},
       [](S s) -> Value { return psn(s, s.first_psn); }},
      {{"next_psn", "NEXT\nPSN", Format::Number},
       [](S s) -> Value { return psn(s, s.word & ROCE_WORD_PSN); }},
      {{"pmtu", "PMTU", Format::Number, Hide::Zero}, pmtu},
      event("messages", "MESSAGES", [](S s) -> Value { return uint64_t{s.messages}; }),
      trouble("gaps", "GAPS", counter_of<ROCE_GAPS>),
      event("skipped", "SKIPPED", counter_of<ROCE_SKIPPED>),
      event("filled", "FILLED", counter_of<ROCE_FILLED>),
      trouble("missing", "MISSING", [](S s) -> Value { return missing_psns(s); }),
      event("duplicates", "DUPLI-\nCATES", counter_of<ROCE_DUPLICATES>),
      trouble("rewinds", "REWINDS", counter_of<ROCE_REWINDS>),
      event("reordered", "RE-\nORDERED", [](S s) -> Value { return reordered_psns(s); }),
      event("resyncs", "RE-\nSYNCS", counter_of<ROCE_RESYNCS>),
      event("jumps", "JUMPS", counter_of<ROCE_JUMPS>),
      event("jumped", "JUMPED", counter_of<ROCE_JUMPED>),
      trouble("ce", "CE", counter_of<ROCE_STREAM_CE>),
      trouble("cnps", "CNPS", counter_of<ROCE_STREAM_CNPS>),
      trouble("holes_forgotten", "HOLES\nFORGOTTEN", counter_of<ROCE_HOLES_FORGOTTEN>),
  };
  return kColumns;
}

const StreamColumn *stream_column(std::string_view key) {
  for (const StreamColumn &column : stream_columns())
    if (column.column.key == key)
      return &column;
  return nullptr;
}

Trouble trouble_of(const roce_stream &s) {
  return {lost_psns(s), roce_stream_counter(&s, ROCE_REWINDS),
          roce_stream_counter(&s, ROCE_STREAM_CE)};
}

uint64_t number_of(const Value &value) {
  const uint64_t *n = std::get_if<uint64_t>(&value);
  return n ? *n : 0;
}

std::string_view key_bytes(const roce_key &key) {
  return {reinterpret_cast<const char *>(&key), sizeof(key)};
}

const roce_stream *StreamIndex::find(const roce_stream &stream, uint32_t place) const {
  const std::string_view key = key_bytes(stream.key);
  if (place < streams_.size() && key_bytes(streams_[place].key) == key)
    return &streams_[place];
  if (by_key_.empty()) {
    by_key_.reserve(streams_.size());
    for (uint32_t i = 0; i < streams_.size(); i++)
      by_key_.emplace(key_bytes(streams_[i].key), i);
  }
  const auto it = by_key_.find(key);
  return it == by_key_.end() ? nullptr : &streams_[it->second];
}

std::vector<std::string> stream_sort_keys() {
  std::vector<std::string> keys = {kTrouble};
  for (const StreamColumn &column : stream_columns())
    if (column.column.format != Format::Text && column.value)
      keys.push_back(column.column.key);
  return keys;
}

} // namespace xr::report
