// SPDX-License-Identifier: Apache-2.0
// What the captures of a run's two ports say frame by frame: which packet each rule changed, CNPs,
// and how many packets of each kind there were.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/address.h"
#include "capture/reader.h"
#include "model/run_answers.h"
#include "native/native_datapath.h"

namespace xr::run_analysis {

enum Port : uint8_t { kLeft, kRight, kPorts }; // the captures, in this order

// The packets to a QP.
struct QpKey {
  Address src{}, dst{};
  uint32_t dest_qp = 0;
  bool operator<(const QpKey &o) const {
    return std::tie(src, dst, dest_qp) < std::tie(o.src, o.dst, o.dest_qp);
  }
  bool operator==(const QpKey &o) const = default;
};
QpKey qp_key(const roce_key &key);
CaptureFrame frame_of(Port port, uint64_t number); // 0: none

// A packet that a rule changed.
struct Hit {
  Port port = kLeft;
  uint32_t rule = 0; // its id at the port
  std::string did;
  bool lost = false, marked = false; // lost: or damaged
  QpKey qp;
  uint32_t psn = 0;
  uint64_t packet = 0; // from 1; 0: no request
  bool again = false;  // the PSN had been sent before
  uint64_t ns = 0, frame = 0;
  // Lost: when its PSN was sent again, 0: it was not; the packet of its QP before that; its frame
  // and that frame's length; when its PSN passed, 0: it did not.
  uint64_t resent_ns = 0, before_ns = 0, resent_frame = 0, resent_bytes = 0, passed_ns = 0;
  std::optional<size_t> before = {}; // the hit by which the packet with its PSN before it was lost
};

struct Cnp {
  QpKey qp; // to which it went
  uint64_t ns = 0, frame = 0;
  Port port = kRight;
};

class Trace {
public:
  static constexpr size_t kMost = 1 << 16; // hits, and CNPs, that are kept; more are counted

  // What the port did to the frame afterwards. `frame.file` is a Port.
  struct Outcome {
    bool lost = false, marked = false;
  };
  Outcome add(const CapturedFrame &frame);

  struct Counts {
    uint64_t frames = 0, gone = 0;    // all frames, and those that were not forwarded
    uint64_t requests = 0, again = 0; // requests, and those sent again
    uint64_t lost = 0;                // requests that rules dropped
    uint64_t naks = 0, cnps = 0;      // that were forwarded
    uint64_t marked = 0;              // requests forwarded with CE
  };
  std::array<Counts, kPorts> counts{};
  std::array<std::map<uint32_t, uint64_t>, kPorts> by_rule; // frames on which it acted
  std::map<QpKey, uint64_t> marks;                          // requests forwarded with CE
  std::vector<Hit> hits;
  std::vector<Cnp> cnps;
  uint64_t first_ns = 0;
  uint64_t hits_dropped = 0, cnps_dropped = 0;
  uint64_t unknown = 0; // frames whose outcome was lost

private:
  struct Sent {
    uint32_t first = 0, next = 0;
    uint64_t last_ns = 0;
    std::map<uint32_t, size_t> lost; // PSN -> its hit
  };
  // The QP's packets that were sent.
  Sent &request(const roce_packet &packet, const CapturedFrame &frame, bool lost, Hit &hit,
                Counts &counts);

  NativeDatapath parser_{{.track = false}};
  std::map<QpKey, Sent> sent_;
};

// The first two CNPs from `src` with the same scope that are `ns` apart: returns the later one.
CaptureFrame cnp_within(const Trace &trace, const Address &src, uint64_t ns,
                        QpKey (*scope)(const QpKey &));

} // namespace xr::run_analysis
