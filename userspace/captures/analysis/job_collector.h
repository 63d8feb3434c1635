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

// What a packet means for the job: what is found in its stream alone.
struct JobPacket {
  enum : uint8_t {
    Data = 1,   // new payload; else there is none
    Cts = 2,    // a clear-to-send
    Begins = 4, // of a message
    Ends = 8,
    Rewind = 16, // its stream went back
    Timed = 32,  // a request with a time
  };
  uint8_t what = 0;
  uint32_t bytes = 0;
  uint32_t stream = 0; // the datapath's record
};

// The job's packets in the streams of one datapath.
class JobStreams {
public:
  static constexpr uint32_t kCtsBytes = 512;

  // After the datapath has accounted for the frame: as SeriesCollector::add().
  JobPacket add(const NativeDatapath &datapath, const NativeDatapath::FrameView &frame,
                const roce_packet &packet, uint32_t record);
  void add_counts(JobTraffic &into) const; // extents and frames without a time

private:
  static constexpr uint32_t kUnset = UINT32_MAX;
  static constexpr size_t kGaps = 8;

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
    uint32_t next_psn = 0;
    bool begun = false;
    bool large = false; // it has sent messages larger than a CTS
    uint64_t packets = 0;
    uint64_t reordered = 0, rewinds = 0; // the datapath's, after the packet before
    uint32_t gaps = kUnset;
  };

  bool unusual(const NativeDatapath &datapath, Place &place, const roce_packet &packet,
               JobPacket &found);
  void late_packet(Place &place, uint32_t psn);

  std::vector<Place> places_; // by record
  std::vector<Gaps> gaps_;
  std::array<uint64_t, JobTraffic::kExtents> reordered_{};
  uint64_t extents_unknown_ = 0, untimed_ = 0;
};

class JobCollector {
public:
  static constexpr size_t kSamples = 1 << 20, kRewinds = 1 << 16;
  static constexpr uint64_t kStormNs = 1'000'000;
  static constexpr uint32_t kStormQps = 4;

  // The packets of all streams, in the order of the capture. `part`: of which datapath the stream
  // is. `key`: its key, complete or not.
  void add(const JobPacket &packet, uint32_t part, const roce_key &key, uint64_t time_ns);
  // The capture ends at `end_ns`.
  JobTraffic result(uint64_t end_ns) const;

private:
  static constexpr uint32_t kUnset = UINT32_MAX, kNone = UINT32_MAX - 1;
  static constexpr size_t kCtsAhead = 16;

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
    uint64_t stream = 0; // with its part
  };

  uint32_t rank_of(const uint32_t (&address)[4], bool ipv4);
  uint32_t edge_of(uint32_t from, uint32_t to);
  uint32_t &edge_of_stream(uint32_t part, uint32_t stream) {
    if (part >= stream_edges_.size() || stream >= stream_edges_[part].size()) [[unlikely]]
      make_room(part, stream);
    return stream_edges_[part][stream];
  }
  void make_room(uint32_t part, uint32_t stream);
  void begin(uint32_t &edge, const roce_key &key);
  void rewind(uint32_t part, uint32_t stream);
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
  std::vector<std::vector<uint32_t>> stream_edges_; // by part and stream
  uint64_t streams_ = 0;                            // with an edge, or for which there is no room
  std::vector<JobSample> samples_;
  std::vector<Rewind> rewinds_;
  JobPhases phases_;
  uint64_t now_ = 0;
};

} // namespace xr
