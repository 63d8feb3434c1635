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
  // reordered_psns is a gauge: it decreases when a reordered PSN turns out to be the start of a
  // rewind. So are those that depend on it.
  static const std::vector<StreamMetric> kMetrics = {
      {"packets", "packets_total", true, false, "Packets"},
      {"bytes", "bytes_total", true, false, "Bytes of frames, without FCS"},
      {"lost_before", "lost_before_psns", false, true,
       "PSNs lost before this port, again for each time; what is certain"},
      {"lost_unsure", "lost_unsure_psns", false, true,
       "PSNs that may be lost before this port, too, or came late"},
      {"lost_after", "lost_after_total", true, true,
       "NAKs for PSNs that had passed here: lost after this port"},
      {"sent_again", "sent_again_packets", false, true, "Packets whose PSN had passed"},
      {"messages", "messages_total", true, true, "Packets that end a message"},
      {"gaps", "gaps_total", true, true, "Packets ahead of the expected PSN"},
      {"skipped", "skipped_psns_total", true, true, "PSNs skipped by gaps"},
      {"filled", "filled_psns_total", true, true, "Skipped PSNs that arrived later"},
      {"missing", "missing_psns", false, true, "Skipped PSNs that have not arrived yet"},
      {"duplicates", "duplicate_packets_total", true, true, "Packets whose PSN was seen before"},
      {"rewinds", "rewinds_total", true, true,
       "Times a stream went back to an earlier PSN and continued from there"},
      {"reordered", "reordered_psns", false, true, "Filled PSNs that arrived without a rewind"},
      {"resyncs", "resyncs_total", true, true,
       "PSN differences too large for a gap: the QPN was reused, or packets took another path"},
      {"jumps", "jumps_total", true, true, "Packets ahead of the end of the previous one"},
      {"jumped", "jumped_psns_total", true, true,
       "PSNs between the previous packet and one ahead of it, retransmissions included"},
      {"ce", "ce_packets_total", true, true, "Packets marked CE"},
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
  const report::StreamIndex earlier(before_);
  for (uint32_t place = 0; place < now.streams.size(); place++) {
    const roce_stream &stream = now.streams[place];
    const roce_stream *before = earlier.find(stream, place);
    for (size_t i = 0; i < metrics.size(); i++) {
      if (!columns[i])
        continue;
      const uint64_t is = value_of(*columns[i], &stream);
      const uint64_t was = metrics[i].counter ? value_of(*columns[i], before) : 0;
      sums_[i] += is >= was ? is - was : is; // less: the stream was forgotten and is new
    }
  }
  before_.streams = now.streams;
  return sums_;
}

} // namespace xr::metrics
