// SPDX-License-Identifier: Apache-2.0
// A capture through the datapath's accounting, and the iCRCs that the datapath does not check.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "capture/native_datapath.h"
#include "capture/reader.h"
#include "model/snapshot.h"
#include "packet/icrc.h"

namespace xr {

class Analyzer {
public:
  struct Options {
    uint16_t udp_port = ROCE_UDP_PORT;
    bool track = true;
    bool check_icrc = true;
    bool drop_bad_icrc = false; // frames with a wrong one are counted, but move no stream
  };

  explicit Analyzer(const Options &options);

  void frame(const CapturedFrame &frame);
  void on_event(std::function<void(const roce_event &)> callback);
  // Fills all but name and truncated.
  void snapshot(Snapshot &into) const;

private:
  Icrc check(const CapturedFrame &frame, const roce_packet &packet);

  Options options_;
  NativeDatapath accountant_;
  decltype(Snapshot::icrc) icrc_{};
};

struct AnalyzeRun {
  Analyzer::Options options;
  const std::atomic<bool> *stop = nullptr; // true: end with what there is so far
  std::function<void(const roce_event &)> on_event;
  std::function<void(const Reader::Progress &)> on_progress;
  uint64_t progress_step = 64 << 20; // bytes of the file between two calls
};

struct Analysis {
  Snapshot snapshot;
  bool stopped = false;
  // Why the end of the capture was not reached, other than a stop: truncated or damaged. The
  // snapshot holds what came before.
  std::optional<Error> trouble;
};

// `path` may be "-". An error: there is nothing to report on.
Result<Analysis> analyze(const std::string &path, const AnalyzeRun &run);

} // namespace xr
