// SPDX-License-Identifier: Apache-2.0
// Runs a capture through the native datapath and checks the iCRCs, which the datapath does not.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/connections.h"
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
  struct ParsedFrame {
    roce_class class_{};
    Icrc icrc = Icrc::Absent; // or not checked
    std::optional<packet::Stamp> stamp = {};
    roce_packet packet;
  };

  explicit Analyzer(const Options &options);

  // Step one, which several threads may do at once.
  void parse(const CapturedFrame &frame, ParsedFrame &parsed) const;
  // Step two, frame by frame. Returns the stream of a RoCE frame, with decap of the inner one,
  // which is in `parsed`; nullptr: no RoCE.
  const roce_key *account(const CapturedFrame &frame, ParsedFrame &parsed);
  // Both. The result is valid until the next call.
  const roce_key *frame(const CapturedFrame &frame) {
    parse(frame, newest_);
    return account(frame, newest_);
  }
  void on_event(std::function<void(const roce_event &)> callback);
  // Fills all fields except name and truncated.
  void snapshot(Snapshot &into) const;
  LatencyReport latency() const; // of stamped frames whose iCRC is not wrong
  void episodes(Episodes &into); // with `episodes`; call once, at the end
  void passive_latency(PassiveLatency &into) const { accountant_.latency(into); }
  Microbursts microbursts() const { return microbursts_.result(); }
  FrameTimes frame_times() const { return stamp_clock_.result(); }
  CaptureSeries series() { return series_.result(accountant_, last_ns_); } // once, at the end
  JobTraffic job() const { return job_.result(); }
  uint64_t first_ns() const { return first_ns_; } // of the first frame
  uint64_t windows() const { return windows_; }   // places where the capture left frames out
  uint64_t copies() const { return copies_ ? copies_->copies() : 0; } // left out
  const Connections &connections() const { return connections_.result(); }

private:
  void inspect(const NativeDatapath::FrameView &frame, bool whole, ParsedFrame &parsed) const;
  void parse_in_order(CapturedFrame &captured, NativeDatapath::FrameView &frame,
                      ParsedFrame &parsed);
  void note_stamp(const NativeDatapath::FrameView &frame, const ParsedFrame &parsed);

  Options options_;
  NativeDatapath accountant_;
  bool in_order_;      // parse() leaves its work to account()
  ParsedFrame newest_; // of frame()
  decltype(Snapshot::icrc) icrc_{};
  stamps::OneWay latency_;
  StampClock stamp_clock_;
  HiddenTunnels hidden_tunnels_;
  PfcSenderTable pfc_senders_;
  std::optional<MirroredCopies> copies_;
  ConnectionFollower connections_;
  MicroburstMeter microbursts_;
  TrafficCollector traffic_;
  SeriesCollector series_;
  JobCollector job_;
  uint64_t windows_ = 0;
  uint64_t frames_ = 0, first_ns_ = 0, last_ns_ = 0;
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
  uint32_t block_frames = 1024; // of several jobs, at most; tests use small ones
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
