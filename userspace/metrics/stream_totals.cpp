// SPDX-License-Identifier: Apache-2.0
#include "metrics/stream_totals.h"

#include "report/stream_columns.h"

namespace xr::metrics {

namespace {

uint64_t value_of(const report::StreamColumn &column, const roce_stream *stream) {
  return stream ? report::number_of(column.value(*stream)) : 0;
}

} // namespace

const std::vector<StreamMetric> &stream_metrics() {
  // A reordered PSN is taken back when it turns out to be the begin of a rewind.
  static const std::vector<StreamMetric> kMetrics = {
      {"packets", "packets_total", true, false, "Packets"},
      {"bytes", "bytes_total", true, false, "Bytes of frames, without FCS"},
      {"messages", "messages_total", true, true, "Packets that end a message"},
      {"gaps", "gaps_total", true, true, "Packets ahead of the expected PSN"},
      {"skipped", "skipped_psns_total", true, true, "PSNs that gaps jumped over"},
      {"filled", "filled_psns_total", true, true, "Skipped PSNs that came later"},
      {"missing", "missing_psns", false, true, "Skipped PSNs that have not come so far"},
      {"duplicates", "duplicate_packets_total", true, true,
       "Packets whose PSN had been seen before"},
      {"rewinds", "rewinds_total", true, true, "Times a stream went back and on from there"},
      {"reordered", "reordered_psns", false, true, "Filled PSNs that came alone, with no rewind"},
      {"resyncs", "resyncs_total", true, true,
       "Leaps too far to be a gap: a QPN used again, or packets that passed elsewhere"},
      {"jumps", "jumps_total", true, true, "Packets ahead of the end of the previous one"},
      {"jumped", "jumped_psns_total", true, true,
       "PSNs between the previous packet and one ahead of it, retransmissions included"},
      {"ce", "ce_packets_total", true, true, "Packets that were marked CE"},
      {"cnps", "cnps_total", true, false, "CNPs"},
      {"holes_forgotten", "holes_forgotten_total", true, true,
       "Holes forgotten because a stream had too many"},
  };
  return kMetrics;
}

const std::vector<uint64_t> &StreamTotals::update(const Snapshot &now, uint64_t since_ns) {
  if (since_ns != since_ns_)
    *this = {};
  since_ns_ = since_ns;
  const auto &metrics = stream_metrics();
  sums_.resize(metrics.size());
  std::vector<const report::StreamColumn *> columns;
  for (size_t i = 0; i < metrics.size(); i++) {
    columns.push_back(metrics[i].summed ? report::stream_column(metrics[i].key) : nullptr);
    if (!metrics[i].counter)
      sums_[i] = 0;
  }
  const report::Earlier earlier(before_);
  for (uint32_t place = 0; place < now.streams.size(); place++) {
    const roce_stream &stream = now.streams[place];
    const roce_stream *before = earlier.find(stream, place);
    for (size_t i = 0; i < metrics.size(); i++) {
      if (!columns[i])
        continue;
      const uint64_t is = value_of(*columns[i], &stream);
      const uint64_t was = metrics[i].counter ? value_of(*columns[i], before) : 0;
      sums_[i] += is >= was ? is - was : is; // less: forgotten, and there again
    }
  }
  before_.streams = now.streams;
  return sums_;
}

} // namespace xr::metrics
