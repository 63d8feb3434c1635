// SPDX-License-Identifier: Apache-2.0
// Runs a capture through the native datapath and checks the iCRCs, which the datapath does not.
//
// A frame goes through four steps. parse() takes frames in any order. admit() and finish() take all
// frames in the order of the capture. account() takes the frames of a shard in that order, between
// these two. So several threads can parse at once, and account for several shards.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/connections.h"
#include "analysis/division.h"
#include "analysis/hidden_tunnels.h"
#include "analysis/job_collector.h"
#include "analysis/microbursts.h"
#include "analysis/mirrored_copies.h"
#include "analysis/pfc_senders.h"
#include "analysis/series_collector.h"
#include "analysis/stamp_clock.h"
#include "analysis/traffic_collector.h"
#include "base/result.h"
#include "capture/capture_set.h"
#include "model/snapshot.h"
#include "native/native_datapath.h"
#include "packet/icrc.h"
#include "packet/stamp.h"
#include "stamps/one_way.h"

namespace xr {

class Analyzer {
public:
  struct Options {
    uint16_t udp_port = ROCE_UDP_PORT;
    bool track = true;
    bool check_icrc = true;
    bool drop_bad_icrc = false; // frames with a wrong iCRC are counted, but do not update a stream
    bool episodes = false;      // follow QP pairs
    bool passive_latency = false; // time QP pairs
    bool microbursts = false;     // of all frames
    bool connections = false;     // follow RDMA CM
    bool traffic = false;         // what headers say about the set-up: Snapshot::traffic
    bool job = false;             // the training job: JobTraffic
    bool series = false;          // for plots; times QP pairs too
    uint32_t quantum_ps = 0;      // 512 bits at the speed of the captured port; 0: not known
    uint32_t decap = 0;           // tunnels that are taken off: 1 << enum roce_tunnel
    stamps::OneWayOptions latency = {};
    FrameClock clock = FrameClock::Capture; // times of frames; Mirror: with `decap`
    uint64_t user_tick_ns = 0; // unit of ERSPAN's times where the user chose it; 0: not known
    int tai_offset_s = 0;      // CLOCK_TAI minus the capture's clock
    uint64_t copies_ns = 0;    // leave out what a mirror gives twice within that time; 0: keep it
    // What the captured port did to a frame afterwards. Streams and QP pairs are followed as if the
    // frame had been captured then.
    struct Outcome {
      bool lost = false;   // or damaged
      bool marked = false; // CE
    };
    std::function<Outcome(const CapturedFrame &)> outcome = {};
  };

  // What is found in a frame regardless of the frames before it.
  // Without trailer and tunnels that are taken off. Two lines of the cache.
  struct alignas(64) ParsedFrame : NativeDatapath::FrameView {
    Icrc icrc = Icrc::Absent; // or not checked
    roce_class class_ : 8 = {};
    uint16_t source_port = 0; // of UDP
    roce_packet packet;
  };
  static_assert(sizeof(ParsedFrame) == 128);

  // What the steps that take all frames in order need of most frames.
  struct Brief {
    enum : uint8_t {
      Stamped = 1,
      Sound = 2, // RoCE, not damaged
      Cnp = 4,   // of a stream
      Away = 8,  // frames are missing before it
      Copy = 16, // it is left out
    };
    uint64_t time_ns = 0;
    uint32_t length = 0;
    uint32_t aways = 0; // places so far where frames are missing
    JobPacket job = {};
    uint8_t shard = 0; // Division::kElsewhere: the division does not fit the capture
    uint8_t flags = 0;
  };
  static_assert(sizeof(Brief) == 32);

  explicit Analyzer(const Options &options, const Division &division = {});

  const Division &division() const { return division_; }
  void parse(const CapturedFrame &frame, ParsedFrame &parsed, Brief &brief) const;
  // `admits` is false: as long as no frame has the flag Away, admit() need not be called.
  bool admits() const { return copies_ || windows_ || in_order_; }
  void admit(const CapturedFrame &frame, ParsedFrame &parsed, Brief &brief);
  // `order`: the number of the frame among all, from 1.
  void account(const CapturedFrame &frame, ParsedFrame &parsed, Brief &brief, uint64_t order);
  void finish(const ParsedFrame &parsed, const Brief &brief);
  // All but parse(), of one shard. Returns the stream of a RoCE frame, with decap of the inner one,
  // which is in `parsed`; nullptr: no RoCE.
  const roce_key *take(const CapturedFrame &frame, ParsedFrame &parsed, Brief &brief,
                       uint64_t order);
  // All four. The result is valid until the next call.
  const roce_key *frame(const CapturedFrame &frame) {
    parse(frame, newest_, newest_brief_);
    return take(frame, newest_, newest_brief_, frames_ + 1);
  }
  void on_event(std::function<void(const roce_event &)> callback);
  // Fills all fields except name and truncated.
  void snapshot(Snapshot &into) const;
  LatencyReport latency() const; // of stamped frames whose iCRC is not wrong
  void episodes(Episodes &into); // with `episodes`; call once, at the end
  void passive_latency(PassiveLatency &into) { NativeDatapath::latency(datapaths(), into); }
  // Whether tables of which there is one a capture would have had room in one shard. Call it for a
  // shard that is not accounted for at the moment; the sum is of these calls.
  bool has_room(uint32_t shard);
  Microbursts microbursts() const { return microbursts_.result(); }
  FrameTimes frame_times() const { return stamp_clock_.result(); }
  CaptureSeries series(); // once, at the end
  JobTraffic job() const;
  uint64_t first_ns() const { return first_ns_; } // of the first frame
  uint64_t windows() const { return windows_; }   // places where the capture left frames out
  uint64_t copies() const { return copies_ ? copies_->copies() : 0; } // left out
  const Connections &connections() const { return connections_.result(); }

private:
  struct Shard {
    explicit Shard(const Options &options, bool alone);
    NativeDatapath datapath;
    TrafficCollector traffic;
    JobStreams job;
    HiddenTunnels hidden_tunnels;
    decltype(Snapshot::icrc) icrc{};
    NativeDatapath::Used reported{}; // to has_room()
  };
  using SharedUsed = std::array<std::atomic<uint64_t>, 5>;

  Shard &shard_at(uint32_t shard) {
    if (!shards_[shard]) [[unlikely]]
      make_shard(shard);
    return *shards_[shard];
  }
  void make_shard(uint32_t shard);
  std::vector<NativeDatapath *> datapaths() const;
  uint8_t shard_of_other(const CapturedFrame &frame, roce_class class_) const;
  void inspect(bool whole, ParsedFrame &parsed) const;
  void brief_of(const CapturedFrame &frame, const ParsedFrame &parsed, Brief &brief) const;
  void parse_in_order(const CapturedFrame &whole, ParsedFrame &parsed, Brief &brief);
  void look_at_others(const CapturedFrame &captured, const ParsedFrame &parsed, Shard &shard);
  void note_stamp(const ParsedFrame &parsed);

  Options options_;
  Division division_;
  bool in_order_; // parse() leaves its work to admit()
  NativeDatapath parser_;
  std::vector<std::unique_ptr<Shard>> shards_; // made by their first frames
  std::unique_ptr<SharedUsed> used_ = std::make_unique<SharedUsed>();
  ParsedFrame newest_; // of frame()
  Brief newest_brief_;
  stamps::OneWay latency_;
  StampClock stamp_clock_;
  PfcSenderTable pfc_senders_;
  std::optional<MirroredCopies> copies_;
  ConnectionFollower connections_;
  MicroburstMeter microbursts_;
  SeriesCollector series_; // of one shard
  JobCollector job_;
  uint32_t windows_ = 0;
  uint64_t frames_ = 0, first_ns_ = 0, last_ns_ = 0, newest_ns_ = 0;
};

struct AnalyzeRun {
  Analyzer::Options options;
  ReadOptions read;
  const std::atomic<bool> *stop = nullptr; // set to true to end early with the result so far
  std::function<void(const roce_event &)> on_event;
  std::function<void(const Reader::Progress &)> on_progress;
  uint64_t progress_step = 64 << 20; // bytes of the file between two calls of on_progress
  // Gets each frame with its stream, see Analyzer::account(). An error ends the run.
  std::function<Status(const CapturedFrame &, const roce_key *)> on_frame;
  // Threads. on_progress is called by the one that reads, on_event and on_frame by the one that
  // accounts: at any time one of them.
  unsigned jobs = 1;
  Copies copies = Copies::Keep; // Auto: sets options.copies_ns
  uint32_t block_frames = 1024; // at most; tests use small ones
  size_t range_bytes = 0;       // of a plain pcap, that a thread reads at a time; 0: what is fast
  uint64_t divide_from = 64 << 20; // bytes of files from which the streams are divided (Division)
};

struct Analysis {
  Snapshot snapshot;
  LatencyReport latency;
  Episodes episodes;
  PassiveLatency passive;
  Microbursts microbursts;
  FrameTimes frame_times;
  Connections connections;
  CaptureSeries series;  // with `series`
  JobTraffic job;        // with `job`
  uint64_t first_ns = 0; // time of the first frame
  bool stopped = false;
  std::vector<uint64_t> processor_ns; // of each thread
  // Captures that are truncated or damaged: `snapshot` covers the part before that.
  std::vector<Error> troubles;
  std::vector<std::string> files;
};

// The captures as one, in order of time (capture_paths()). Error: nothing could be analyzed.
Result<Analysis> analyze(std::vector<std::string> paths, const AnalyzeRun &run);
inline Result<Analysis> analyze(const std::string &path, const AnalyzeRun &run) {
  return analyze(std::vector<std::string>{path}, run);
}

} // namespace xr
