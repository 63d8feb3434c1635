// SPDX-License-Identifier: Apache-2.0
// A link as it is configured (the words of `link IF WORDS`), and what it counts. Times are in ns,
// sizes in bytes of frames without FCS, rates in bits per second.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <type_traits>

#include "base/histogram.h"

namespace xr {

inline constexpr unsigned kLinkClasses = 8; // also the number of PFC priorities

// Active queue management of one queue.
struct LinkAqm {
  enum class Kind : uint8_t { None, Red, Step, Blue };
  Kind kind = Kind::None;
  uint64_t low = 0;     // red: KMIN; step: K; blue: the queue length that counts as a loss, 0: none
  uint64_t high = 0;    // red: KMAX
  double most = 0;      // red: PMAX
  double weight = 1;    // red: of the newest queue length in the average; 1: no average
  double up = 0;        // blue: added to the probability at a loss
  double down = 0;      // blue: subtracted from it while the queue is empty
  uint64_t freeze = 0;  // blue: least time between two changes of the probability
  bool drop = false;    // drop instead of marking
  bool ce_only = false; // frames that cannot be marked pass
  bool at_enqueue = false; // decide when a frame enters; otherwise when it leaves
  bool operator==(const LinkAqm &) const = default;
};

// A class that the words name. All others share one queue of weight 1.
struct LinkClass {
  bool declared = false;
  bool strict = false;  // served before all weights; the higher number first
  uint32_t weight = 1;  // of its bytes, in DWRR
  uint32_t share = 100; // percent of the buffer that it may use
  // Percent of the buffer that other classes cannot use; kDefaultReserve: reserve_of() says.
  static constexpr uint32_t kDefaultReserve = UINT32_MAX;
  uint32_t reserve = kDefaultReserve;
  bool own_aqm = false; // `aqm` is valid; otherwise that of the link applies
  LinkAqm aqm = {};
  bool operator==(const LinkClass &) const = default;
};

// Generation of PFC, per ingress port and priority.
struct LinkPfc {
  bool on = false;
  uint64_t xoff = 0;         // pause above this length
  uint64_t xon = 0;          // resume at this length
  uint64_t headroom = 0;     // beyond the buffer, for what arrives after XOFF
  double alpha = 0;          // xoff is at most alpha x free buffer; 0: xoff alone
  uint8_t priorities = 0xff; // bit n: priority n is lossless
  bool operator==(const LinkPfc &) const = default;
};

// Down for `down` at the end of each `period`; the first period begins when the spec is applied.
struct LinkFlap {
  enum class Way : uint8_t { Any, Carrier, Drop };
  uint64_t down = 0; // 0: no flap
  uint64_t period = 0;
  uint32_t count = 0; // 0: without end
  // Any: by carrier where the port can. Carrier: also where the host would notice it. A simulated
  // link always drops.
  Way way = Way::Any;
  bool operator==(const LinkFlap &) const = default;
};

struct LinkSpec {
  static constexpr uint64_t kBuffer = 1'000'000;

  uint64_t rate = 0;      // 0: no limit of its own
  bool layer1 = false;    // `rate` includes FCS, preamble and gap; otherwise a frame's bytes alone
  std::string trace = {}; // file of delivery opportunities (Mahimahi), instead of `rate`
  uint64_t delay = 0;     // propagation
  uint32_t mtu = 0;       // bytes of the IP packet; 0: any
  uint64_t buffer = kBuffer; // shared by all classes
  LinkAqm aqm = {};
  bool by_dscp = false; // the map decides for tagged packets too; otherwise PCP does
  std::array<uint8_t, 64> map = default_map(); // class of each DSCP
  LinkPfc pfc = {};
  std::array<LinkClass, kLinkClasses> classes = {};
  LinkFlap flap = {};

  bool operator==(const LinkSpec &) const = default;

  static constexpr std::array<uint8_t, 64> default_map() {
    std::array<uint8_t, 64> map{};
    for (unsigned dscp = 0; dscp < map.size(); dscp++)
      map[dscp] = static_cast<uint8_t>(dscp / 8);
    return map;
  }
};

// Percent of the buffer that is reserved for a class that the words name (0: they do not), and for
// all others together. By default a quarter of the buffer in equal parts, so that a class that is
// within its rate loses nothing where another one fills the buffer. Without named classes: 0.
uint32_t reserve_of(const LinkSpec &spec, unsigned number);
uint32_t reserve_of_rest(const LinkSpec &spec);

// Why a link lost a frame.
enum class LinkDrop : uint8_t {
  None,
  Buffer,   // the shared buffer was full
  Share,    // the class's share of the buffer was full
  Headroom, // of a lossless priority: buffer and headroom were full
  Aqm,
  Mtu,
  Down,
};
inline constexpr unsigned kLinkDrops = 7;
const char *link_drop_name(LinkDrop cause); // "buffer", as in reports

// How a port performs its link's flap, and why if not by carrier.
enum class FlapBy : uint8_t {
  None,      // no flap
  Carrier,   // the port is set down: its peer loses carrier
  Asked,     // the others: frames are dropped
  Short,     // the time down or up is too short for a port
  Addresses, // the port has IP addresses, which setting it down would disturb
  Stacked,   // the port is on top of another interface, whose carrier stays
  Keeps,     // the port was set down, and kept its carrier
  Refused,   // the kernel refused to set it down
};
const char *flap_by_name(FlapBy by);   // "carrier" or "drop", as in reports; "": no flap
const char *flap_by_reason(FlapBy by); // why frames are dropped; ""

// The counts of one class. Plain 64-bit values: a process maps them and another one reads them.
struct alignas(64) LinkClassCounts {
  // First what each frame changes: a cache line.
  uint64_t frames_in = 0, bytes_in = 0;   // offered, including those that were dropped
  uint64_t frames_out = 0, bytes_out = 0; // left the queue: serialising, propagating or delivered
  uint64_t backlog_frames = 0, backlog_bytes = 0; // now
  uint64_t backlog_most = 0;                      // bytes
  uint64_t marks = 0;
  uint64_t drops[kLinkDrops] = {}; // index: LinkDrop
  uint64_t dropped_bytes = 0;
  // PFC that the port received, as priority n
  uint64_t xoff_received = 0, xon_received = 0;
  uint64_t quanta_received = 0; // sum
  uint64_t paused_ns = 0;       // until `updated`
  // PFC that was generated because of frames of this class
  uint64_t xoff_sent = 0, xon_sent = 0; // refreshes are counted as XOFF

  uint64_t dropped() const; // frames, for any cause
};

struct alignas(64) LinkTotals {
  uint64_t started = 0, updated = 0;        // time of the first and of the last event
  uint64_t busy_ns = 0;                     // serialising
  uint64_t paused_ns = 0;                   // in which at least one class was paused
  uint64_t backlog_most = 0;                // bytes, of all classes
  uint64_t headroom_most = 0;               // bytes, of all ports and priorities
  uint64_t wire_frames = 0, wire_bytes = 0; // serialising or propagating now
  uint64_t changes = 0;                     // of the spec, while it ran
  LinkClassCounts classes[kLinkClasses] = {};
  uint64_t flaps = 0;          // that have begun
  uint64_t pause_received = 0; // 802.3 PAUSE frames
  uint64_t pfc_received = 0;   // 802.1Qbb frames
  uint64_t pause_refused = 0;  // of both: no rate is known to convert quanta
  uint64_t pfc_sent = 0;       // frames generated
  uint64_t opportunities = 0;  // of a trace, that have passed
  uint64_t wasted_bytes = 0;   // of those, bytes that no frame used
  uint64_t delay = 0;          // asked for now: LinkSpec::delay

  // Sums over the classes; but `paused_ns` is the time in which at least one of them was paused.
  LinkClassCounts total() const;
};

// And how long it took, and how much waited.
struct LinkCounts : LinkTotals {
  MappedHistogram sojourn = {}; // ns from entering to the last bit leaving
  // Given delay minus the one asked for, in ns: how late the driver was. Since `delay` has changed.
  ShortHistogram late = {};
  MappedHistogram backlog = {}; // bytes, weighted by the ns they lasted: mean() is that over time
};
static_assert(std::is_trivially_copyable_v<LinkCounts>); // it is mapped into memory

} // namespace xr
