// SPDX-License-Identifier: Apache-2.0
#include "analysis/job_collector.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "analysis/job_pattern.h"

namespace xr {

namespace {

constexpr uint64_t kSampleNs = 1000; // less is not late

int32_t psn_diff(uint32_t a, uint32_t b) { return static_cast<int32_t>((a - b) << 8) >> 8; }

bool is_small_write(const roce_packet &packet, uint64_t properties) {
  return properties & ROCE_OP_WRITE && packet.info & ROCE_OP_ONLY &&
         packet.payload <= JobStreams::kCtsBytes;
}

} // namespace

uint32_t JobCollector::rank_of(const uint32_t (&address)[4], bool ipv4) {
  const Address key = ipv4 ? Address{0, 0, ROCE_MAPPED_PREFIX, address[3]}
                           : Address{address[0], address[1], address[2], address[3]};
  if (const auto known = rank_numbers_.find(key); known != rank_numbers_.end())
    return known->second;
  if (ranks_.size() == kJobRanks)
    return kNone;
  found_.ranks.push_back(key);
  ranks_.emplace_back();
  return rank_numbers_[key] = static_cast<uint32_t>(ranks_.size() - 1);
}

uint32_t JobCollector::edge_of(uint32_t from, uint32_t to) {
  const auto [at, fresh] = edge_numbers_.try_emplace(from * kJobRanks + to, kNone);
  if (!fresh)
    return at->second;
  const auto number = static_cast<uint32_t>(edges_.size());
  at->second = number;
  Edge &edge = edges_.emplace_back();
  edge.from = from;
  edge.to = to;
  ranks_[to].senders.push_back(number);
  if (const auto back = edge_numbers_.find(to * kJobRanks + from);
      back != edge_numbers_.end() && back->second < edges_.size()) {
    edge.reverse = back->second;
    edges_[back->second].reverse = number;
  }
  return number;
}

void JobCollector::make_room(uint32_t part, uint32_t stream) {
  if (part >= stream_edges_.size())
    stream_edges_.resize(part + size_t{1});
  std::vector<uint32_t> &edges = stream_edges_[part];
  edges.resize(std::max<size_t>(stream + size_t{1}, edges.size() * 2), kUnset);
}

void JobCollector::begin(uint32_t &edge, const roce_key &key) {
  edge = kNone;
  streams_++;
  const bool ipv4 = key.qp_kind & ROCE_KEY_IPV4;
  const uint32_t from = rank_of(key.src, ipv4), to = rank_of(key.dst, ipv4);
  if (from != kNone && to != kNone)
    edge = edge_of(from, to);
}

void JobCollector::rewind(uint32_t part, uint32_t stream) {
  if (rewinds_.size() < kRewinds)
    rewinds_.push_back({now_, uint64_t{part} << 32 | stream});
  else
    found_.rewinds_full++;
}

// RFC 4737, 4.2.1: packets that came since the first with a higher PSN, which is the one that
// skipped this.
void JobStreams::late_packet(Place &place, uint32_t psn) {
  if (place.gaps == kUnset) {
    extents_unknown_++;
    return;
  }
  Gaps &gaps = gaps_[place.gaps];
  for (const Gap &gap : gaps.gaps)
    if (gap.at && psn_diff(psn, gap.start) >= 0 && psn_diff(psn, gap.end) < 0) {
      const uint64_t extent = place.packets - gap.at;
      const auto bucket = static_cast<uint32_t>(std::bit_width(std::max<uint64_t>(extent, 1))) - 1;
      gaps.run_extent = std::min<uint32_t>(bucket, JobTraffic::kExtents - 1);
      reordered_[gaps.run_extent]++;
      return;
    }
  gaps.run_extent = UINT32_MAX;
  extents_unknown_++;
}

// A packet that is not simply the next one. Whether it is new data.
bool JobStreams::unusual(const NativeDatapath &datapath, Place &place, const roce_packet &packet,
                         JobPacket &found) {
  const roce_stream &stream = datapath.stream(found.stream);
  const int32_t ahead = psn_diff(packet.psn, place.next_psn);
  const uint64_t reordered = roce_stream_counter(&stream, ROCE_REORDERED),
                 rewinds = roce_stream_counter(&stream, ROCE_REWINDS);
  bool fresh = ahead >= 0;
  if (ahead > 0) {
    if (place.gaps == kUnset) {
      place.gaps = static_cast<uint32_t>(gaps_.size());
      gaps_.emplace_back();
    }
    Gaps &gaps = gaps_[place.gaps];
    gaps.gaps[gaps.next++ % kGaps] = {place.next_psn, packet.psn, place.packets};
  }
  if (rewinds > place.rewinds) {
    // What was taken for a late packet was the first of those sent again.
    if (reordered < place.reordered && place.gaps != kUnset) {
      uint32_t &extent = gaps_[place.gaps].run_extent;
      if (extent != UINT32_MAX)
        reordered_[extent]--;
      else if (extents_unknown_)
        extents_unknown_--;
      extent = UINT32_MAX;
    }
    found.what |= JobPacket::Rewind;
  } else if (reordered > place.reordered) {
    late_packet(place, packet.psn);
    fresh = true;
  }
  place.reordered = reordered;
  place.rewinds = rewinds;
  place.next_psn = static_cast<uint32_t>(stream.word & ROCE_WORD_PSN);
  return fresh;
}

JobPacket JobStreams::add(const NativeDatapath &datapath, const NativeDatapath::FrameView &frame,
                          const roce_packet &packet, uint32_t record) {
  JobPacket found{.what = 0, .bytes = 0, .stream = record};
  if (record == NativeDatapath::kNoStream || !(packet.info & ROCE_OP_REQUEST) || frame.damaged)
    return found;
  if (!frame.time_ns) {
    untimed_++;
    return found;
  }
  found.what = JobPacket::Timed;
  if (record >= places_.size())
    places_.resize(std::max<size_t>(record + size_t{1}, places_.size() * 2));
  Place &place = places_[record];
  const uint64_t properties = roce_opcode_properties[packet.opcode];
  const bool data = properties & (ROCE_OP_SEND | ROCE_OP_WRITE) && packet.payload;
  if (!place.begun) {
    if (!data)
      return found;
    place.begun = true;
    place.next_psn = packet.psn;
  }
  place.packets++;
  if (packet.psn == place.next_psn && !(packet.info & ROCE_OP_READ_REQUEST))
    place.next_psn = (packet.psn + 1) & ROCE_PSN_MASK;
  else if (!unusual(datapath, place, packet, found))
    return found;
  if (!data)
    return found;
  found.what |= JobPacket::Data;
  found.bytes = packet.payload;
  const bool small = is_small_write(packet, properties);
  place.large |= !small;
  if (small && !(place.large && packet.info & ROCE_HAS_IMMDT))
    found.what |= JobPacket::Cts;
  if (packet.info & (ROCE_OP_FIRST | ROCE_OP_ONLY))
    found.what |= JobPacket::Begins;
  if (packet.info & ROCE_OP_ENDS_MESSAGE)
    found.what |= JobPacket::Ends;
  return found;
}

void JobStreams::add_counts(JobTraffic &into) const {
  for (size_t i = 0; i < reordered_.size(); i++)
    into.reordered[i] += reordered_[i];
  into.extents_unknown += extents_unknown_;
  into.untimed += untimed_;
}

void JobCollector::sample(const JobSample &sample) {
  if (sample.ns - std::min(sample.ns, sample.ready_ns) < kSampleNs)
    return;
  if (samples_.size() < kSamples)
    samples_.push_back(sample);
  else
    found_.samples_full++;
}

void JobCollector::clear_to_send(uint32_t data_edge, uint64_t now) {
  Edge &edge = edges_[data_edge];
  edge.cts++;
  if (!edge.waiting) {
    const Rank &receiver = ranks_[edge.to];
    sample({std::max({edge.last_end, receiver.arrived, receiver.sent}), now, edge.to,
            JobCause::LateReceiver});
  }
  if (edge.waiting == kCtsAhead) { // its message was not captured
    edge.oldest++;
    edge.waiting--;
  }
  edge.cts_ns[(edge.oldest + edge.waiting++) % kCtsAhead] = now;
}

void JobCollector::message(Edge &edge, uint64_t now) {
  edge.messages++;
  uint64_t ready = std::max(edge.last_end, ranks_[edge.from].arrived);
  JobCause cause = JobCause::LateStart;
  if (edge.waiting) {
    ready = std::max(ready, edge.cts_ns[edge.oldest++ % kCtsAhead]);
    edge.waiting--;
    cause = JobCause::LateSender;
  }
  sample({ready, now, edge.from, cause});
}

// A sender that is new in the shortest window may make more of them than ever.
void JobCollector::incast(const Edge &edge, uint64_t now) {
  std::array<uint32_t, 3> senders{};
  for (const uint32_t number : ranks_[edge.to].senders)
    if (const uint64_t last = edges_[number].last_ns; last)
      for (size_t i = 0; i < senders.size(); i++)
        senders[i] += now - last < found_.incast[i].window_ns;
  for (size_t i = 0; i < senders.size(); i++)
    if (JobIncast &most = found_.incast[i]; senders[i] > most.senders)
      most = {most.window_ns, senders[i], edge.to, now};
}

void JobCollector::add(const JobPacket &packet, uint32_t part, const roce_key &key,
                       uint64_t time_ns) {
  now_ = std::max(now_, time_ns);
  if (packet.what & JobPacket::Rewind)
    rewind(part, packet.stream);
  if (!(packet.what & JobPacket::Data))
    return;
  uint32_t &number = edge_of_stream(part, packet.stream);
  if (number == kUnset)
    begin(number, key);
  if (number == kNone) {
    found_.ranks_full++;
    return;
  }
  Edge &edge = edges_[number];
  if (packet.what & JobPacket::Cts) {
    clear_to_send(edge.reverse < edges_.size() ? edge.reverse : edge_of(edge.to, edge.from), now_);
    return;
  }
  if (packet.what & JobPacket::Begins)
    message(edge, now_);
  const uint64_t before = edge.last_ns;
  edge.last_ns = now_;
  edge.bytes += packet.bytes;
  phases_.data(now_, edge.from, packet.bytes);
  if (now_ - before >= found_.incast[0].window_ns)
    incast(edge, now_);
  if (packet.what & JobPacket::Ends)
    edge.last_end = ranks_[edge.to].arrived = ranks_[edge.from].sent = now_;
}

void JobCollector::find_storms(JobTraffic &into) const {
  const uint64_t least = std::max<uint64_t>(kStormQps, (streams_ + 9) / 10);
  std::map<uint64_t, uint32_t> in; // go-backs in the window, by stream
  size_t tail = 0, counted = 0;
  std::set<uint64_t> qps;
  for (size_t i = 0; i < rewinds_.size(); i++) {
    in[rewinds_[i].stream]++;
    for (; rewinds_[i].ns - rewinds_[tail].ns >= kStormNs; tail++)
      if (!--in[rewinds_[tail].stream])
        in.erase(rewinds_[tail].stream);
    if (in.size() < least)
      continue;
    if (into.storms.empty() || rewinds_[tail].ns > into.storms.back().last_ns) {
      into.storms.push_back({rewinds_[tail].ns, 0, 0, 0});
      qps.clear();
      counted = tail;
    }
    JobStorm &storm = into.storms.back();
    for (; counted <= i; counted++) {
      qps.insert(rewinds_[counted].stream);
      storm.rewinds++;
    }
    storm.last_ns = rewinds_[i].ns;
    storm.qps = static_cast<uint32_t>(qps.size());
  }
}

JobTraffic JobCollector::result(uint64_t end_ns) const {
  JobTraffic job = found_;
  uint64_t messages = 0, cts = 0;
  for (const Edge &edge : edges_) {
    if (edge.bytes || edge.cts)
      job.edges.push_back({edge.from, edge.to, edge.bytes, edge.messages, edge.cts, false});
    messages += edge.messages;
    cts += std::min(edge.cts, edge.messages);
  }
  job.cts = messages && cts >= messages / 2 + messages % 2;
  std::ranges::stable_sort(job.edges,
                           [](const JobEdge &a, const JobEdge &b) { return a.bytes > b.bytes; });
  find_pattern(job);
  phases_.steps(job, end_ns);
  find_stragglers(samples_, job);
  find_storms(job);
  return job;
}

} // namespace xr
