// SPDX-License-Identifier: Apache-2.0
// Finds the training job in captured traffic, in one pass and bounded memory. How:
// - Data are packets with payload of WRITEs and SENDs. A clear-to-send (CTS) is an RDMA WRITE ONLY
// of
//   at most kCtsBytes: the receiver writes it into the sender's FIFO, as NCCL does. With immediate,
//   as NCCL's data have, only in a stream that has sent nothing larger; so a job of such small
//   messages only is not found. A CTS is of the pair of hosts; the next message takes the oldest.
// - A rank is late by the time from when it could continue until it did, and not before its step
//   began. A sender could continue when it had the CTS, its message before had left and the last
//   message to it had come: so what waits for a late rank is not late itself. A receiver, whose
//   next CTS is missing, when its last messages had come and left. Without CTS: when the last
//   message to it had come; this is weaker (JobCause::LateStart), as a packet can wait in the NIC.
// - Steps and stragglers: job_steps.h. Pattern: job_pattern.h.
// - Storm: at least kStormQps request streams, and a tenth of all, went back within kStormNs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "analysis/job_steps.h"
#include "model/job_traffic.h"
#include "native/native_datapath.h"

namespace xr {

class JobCollector {
public:
  static constexpr uint32_t kCtsBytes = 512;
  static constexpr size_t kSamples = 1 << 20, kRewinds = 1 << 16;
  static constexpr uint64_t kStormNs = 1'000'000;
  static constexpr uint32_t kStormQps = 4;

  // After the datapath has accounted for the frame: as SeriesCollector::add().
  void add(const NativeDatapath &datapath, const NativeDatapath::FrameView &frame,
           const roce_packet &packet, uint32_t record);
  JobTraffic result() const;

private:
  static constexpr uint32_t kUnset = UINT32_MAX, kNone = UINT32_MAX - 1;
  static constexpr size_t kCtsAhead = 16, kGaps = 8;

  struct Gap { // PSNs [start, end) were skipped by the stream's packet number `at`
    uint32_t start = 0, end = 0;
    uint64_t at = 0;
  };
  struct Gaps {
    std::array<Gap, kGaps> gaps;
    uint32_t next = 0;
    uint32_t run_extent = UINT32_MAX; // bucket of the last late packet
  };
  struct Place { // a request stream
    uint32_t edge = kUnset, next_psn = 0;
    uint64_t packets = 0;
    uint64_t reordered = 0, rewinds = 0; // the datapath's, after the packet before
    uint32_t gaps = kUnset;
    bool large = false; // it has sent messages larger than a CTS
  };
  struct Edge {
    uint32_t from = 0, to = 0, reverse = kUnset;
    uint64_t last_ns = 0, last_end = 0;
    uint64_t bytes = 0, messages = 0, cts = 0;
    uint32_t waiting = 0, oldest = 0; // CTS without their message, in `cts_ns`
    std::array<uint64_t, kCtsAhead> cts_ns{};
  };
  struct Rank {
    uint64_t arrived = 0, sent = 0; // the last message to and from it ended
    std::vector<uint32_t> senders;  // edges to it
  };
  struct Rewind {
    uint64_t ns = 0;
    uint32_t record = 0;
  };

  uint32_t rank_of(const uint32_t (&address)[4], bool ipv4);
  uint32_t edge_of(uint32_t from, uint32_t to);
  void begin(Place &place, const roce_packet &packet);
  bool unusual(const NativeDatapath &datapath, Place &place, const roce_packet &packet,
               uint32_t record, uint64_t now);
  void late_packet(Place &place, uint32_t psn);
  void clear_to_send(uint32_t data_edge, uint64_t now);
  void message(Edge &edge, uint64_t now);
  void sample(const JobSample &sample);
  void incast(const Edge &edge, uint64_t now);
  void find_storms(JobTraffic &into) const;

  JobTraffic found_; // what is counted while packets come
  std::map<Address, uint32_t> rank_numbers_;
  std::vector<Rank> ranks_;
  std::unordered_map<uint32_t, uint32_t> edge_numbers_;
  std::vector<Edge> edges_;
  std::vector<Place> places_; // by record
  std::vector<Gaps> gaps_;
  std::vector<JobSample> samples_;
  std::vector<Rewind> rewinds_;
  JobPhases phases_;
  uint64_t now_ = 0, end_ns_ = 0;
};

} // namespace xr
