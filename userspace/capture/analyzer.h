// SPDX-License-Identifier: Apache-2.0
// Runs a capture through the native datapath and checks the iCRCs, which the datapath does not.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/capture_set.h"
#include "capture/connections.h"
#include "capture/microbursts.h"
#include "capture/native_datapath.h"
#include "latency/one_way.h"
#include "model/snapshot.h"
#include "packet/icrc.h"

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
    uint32_t quantum_ps = 0;      // 512 bits at the speed of the captured port; 0: not known
    uint32_t decap = 0;           // tunnels that are taken off: 1 << enum roce_tunnel
    latency::OneWayOptions latency = {};
    int tai_offset_s = 0; // CLOCK_TAI minus the capture's clock
    // Of the frames, only those of this share: all frames between the same two hosts are in one.
    struct {
      uint32_t index = 0, of = 1;
    } share = {};
  };

  explicit Analyzer(const Options &options);

  // The stream of a RoCE frame, with decap of the inner one, until the next call; nullptr: no RoCE.
  const roce_key *frame(const CapturedFrame &frame);
  void on_event(std::function<void(const roce_event &)> callback);
  // Fills all fields except name and truncated.
  void snapshot(Snapshot &into) const;
  LatencyReport latency() const; // of stamped frames whose iCRC is not wrong
  void episodes(Episodes &into); // with `episodes`; call once, at the end
  void passive_latency(PassiveLatency &into) const { accountant_.latency(into); }
  Microbursts microbursts() const { return microbursts_.result(); } // of all shares' frames
  const Connections &connections() const { return connections_.result(); }

  // Adds the iCRCs and latencies of another share; its snapshot and episodes are for the caller.
  void merge(const Analyzer &other);

private:
  static uint32_t share_of(roce_class class_, const roce_packet &packet, uint32_t shares);
  void read_stamp(const NativeDatapath::FrameView &frame, const roce_packet &packet);
  Icrc check(const NativeDatapath::FrameView &frame, const roce_packet &packet);

  Options options_;
  NativeDatapath accountant_;
  roce_packet packet_{}; // of the newest frame
  decltype(Snapshot::icrc) icrc_{};
  latency::OneWay latency_;
  ConnectionFollower connections_;
  MicroburstMeter microbursts_; // of the first share
  uint64_t frames_ = 0, first_ns_ = 0;
};

struct AnalyzeRun {
  Analyzer::Options options;
  const std::atomic<bool> *stop = nullptr; // set to true to end early with the result so far
  std::function<void(const roce_event &)> on_event;
  std::function<void(const Reader::Progress &)> on_progress;
  uint64_t progress_step = 64 << 20; // bytes of the file between two calls of on_progress
  // Gets each frame with its stream, see Analyzer::frame(). An error ends the run. For one job.
  std::function<Status(const CapturedFrame &, const roce_key *)> on_frame;
  // Threads, each with the frames of some pairs of hosts. More than one: files that can be read
  // twice, and no on_event.
  unsigned jobs = 1;
};

struct Analysis {
  Snapshot snapshot;
  LatencyReport latency;
  Episodes episodes;
  PassiveLatency passive;
  Microbursts microbursts;
  Connections connections;
  bool stopped = false;
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
