// SPDX-License-Identifier: Apache-2.0
#include "watch/baseline.h"

#include <algorithm>
#include <type_traits>

#include "report/stream_columns.h"

namespace xr::watch {

namespace {

uint64_t difference(uint64_t now, uint64_t base) { return now > base ? now - base : 0; }

// T must consist of 64-bit counters only.
template <typename T> void subtract(T &from, const T &base) {
  static_assert(sizeof(T) % sizeof(__u64) == 0 && std::is_trivially_copyable_v<T>);
  auto *to = reinterpret_cast<__u64 *>(&from);
  const auto *what = reinterpret_cast<const __u64 *>(&base);
  for (size_t i = 0; i < sizeof(T) / sizeof(__u64); i++)
    to[i] = difference(to[i], what[i]);
}

void set_counter(roce_stream &s, int counter, uint64_t value) {
  s.counter_low[counter] = static_cast<__u32>(value);
  s.counter_high[counter] = static_cast<__u16>(value >> 32);
}

void subtract(roce_stream &s, const roce_stream &base) {
  const uint64_t packets = roce_stream_packets(&s), bytes = roce_stream_bytes(&s);
  if (packets < roce_stream_packets(&base)) // the record was reused for a new stream
    return;
  // `word` has packets and bytes that are not yet folded into these two. It stays unchanged.
  s.packets = packets - roce_stream_packets(&base) - (packets - s.packets);
  s.bytes = difference(bytes, roce_stream_bytes(&base)) - (bytes - s.bytes);
  s.messages = difference(s.messages, base.messages);
  for (int i = 0; i < ROCE_STREAM_COUNTERS; i++)
    set_counter(s, i, difference(roce_stream_counter(&s, i), roce_stream_counter(&base, i)));
  set_counter(
      s, ROCE_FILLED,
      std::min(roce_stream_counter(&s, ROCE_FILLED), roce_stream_counter(&s, ROCE_SKIPPED)));
}

} // namespace

Snapshot difference_since(const Snapshot &now, const Snapshot &base) {
  Snapshot out = now;
  subtract(out.opcodes, base.opcodes);
  subtract(out.totals, base.totals);
  const report::StreamIndex earlier(base);
  for (uint32_t i = 0; i < out.streams.size(); i++)
    if (const roce_stream *then = earlier.find(out.streams[i], i))
      subtract(out.streams[i], *then);
  return out;
}

std::vector<RuleRow> difference_since(const std::vector<RuleRow> &now,
                                      const std::vector<RuleRow> &base) {
  std::vector<RuleRow> out = now;
  for (RuleRow &rule : out) {
    const auto then = std::find_if(base.begin(), base.end(), [&rule](const RuleRow &rule_row) {
      return rule_row.id == rule.id && rule_row.matched <= rule.matched;
    });
    if (then == base.end())
      continue;
    rule.matched -= then->matched;
    for (const auto count :
         {&RuleRow::acted, &RuleRow::matched_bytes, &RuleRow::acted_bytes, &RuleRow::spared,
          &RuleRow::limited, &RuleRow::not_applicable, &RuleRow::refused, &RuleRow::not_held})
      rule.*count = difference(rule.*count, (*then).*count);
  }
  return out;
}

} // namespace xr::watch
