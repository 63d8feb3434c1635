// SPDX-License-Identifier: Apache-2.0
// The notification point of DCQCN: decides when CE marks are answered with CNPs, for each stream,
// each pair of hosts, or the port (IBA vol. 1, annex A17.9.3). Virtual time, in nanoseconds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <queue>
#include <variant>
#include <vector>

#include "base/time.h"
#include "packet/peer_map.h"
#include "rate/dcqcn_parameters.h"

namespace xr::congestion {

// To pace in another way: decide, take_due and CnpPacing, options in cli/traffic_options.cpp,
// callers receive_ce in responder/responder.cpp, next in responder_send.cpp, and for READ responses
// notify in requester/reliable.cpp; notification_test, responder_test. CNPs of rules: roce_pace.
enum class CnpScope : uint8_t { Stream, Pair, Port };

// The readings of "one CNP in 50 us":
//   HoldOff  a CNP at once if none went within the interval
//   Window   a CNP at once after quiet; then one at the end of each interval in which CE came
//            (SIGCOMM'15)
//   Grid     a CNP at the next tick of a grid that began with the stream's first packet (ns3-rdma
//            CheckandSendQCN)
//   Echo     a CNP for each CE (HPCC, whose ACKs carry the mark)
struct CnpPacing {
  uint64_t interval_ns = 50'000;
  CnpScope scope = CnpScope::Stream;
  NpMode mode = NpMode::HoldOff;
};

// `Owed`: what the caller needs to send a CNP later.
template <typename Owed = std::monostate> class BasicNotificationPoint {
public:
  // `entries`: the maximum number of streams or pairs that are remembered.
  BasicNotificationPoint(const CnpPacing &pacing, size_t entries)
      : pacing_(pacing), streams_(entries) {
    pacing_.interval_ns = std::max<uint64_t>(pacing_.interval_ns, 1);
    if (!pacing.interval_ns && pacing.mode == NpMode::HoldOff)
      pacing_.mode = NpMode::Echo;
  }

  // Deferred: a CNP will be due later, see take_due(). Paced: this packet causes none of its own.
  enum class Verdict : uint8_t { Send, Deferred, Paced, NoRoom };
  // Decides whether a CNP is sent for this CE-marked packet.
  Verdict decide(uint64_t now, const roce_packet &packet, const Owed &owed = {}) {
    switch (pacing_.mode) {
    case NpMode::Echo:
      return Verdict::Send;
    case NpMode::HoldOff:
      return hold_off(now, key_of(packet));
    case NpMode::Window:
      return window(now, key_of(packet), owed);
    default:
      return grid(now, key_of(packet), owed);
    }
  }
  // decide(), counted. True: a CNP is to be sent now; a deferred one comes by take_due().
  bool answers(uint64_t now, const roce_packet &packet, const Owed &owed, uint64_t &paced,
               uint64_t &no_room) {
    const Verdict verdict = decide(now, packet, owed);
    paced += verdict == Verdict::Paced;
    no_room += verdict == Verdict::NoRoom;
    return verdict == Verdict::Send;
  }

  // Grid only: any packet of a stream. Others need not report it.
  bool wants_all() const { return pacing_.mode == NpMode::Grid; }
  void seen(uint64_t now, const roce_packet &packet) {
    if (const packet::PeerKey key = key_of(packet); !streams_.find(key))
      streams_.insert(key, {.at = now});
  }

  // When the next CNP may be due; kNever: none.
  uint64_t wake_at() const { return ends_.empty() ? kNever : ends_.top().time; }
  // A CNP that is due; false: there is none.
  bool take_due(uint64_t now, Owed &owed) {
    while (!ends_.empty() && ends_.top().time <= now) {
      const End end = ends_.top();
      ends_.pop();
      Stream *stream = streams_.find(end.key);
      if (!stream || stream->end != end.time)
        continue; // the window was renewed meanwhile
      if (stream->marked) {
        owed = stream->owed;
        stream->marked = false;
        stream->end = kNever;
        if (pacing_.mode == NpMode::Window)
          open(*stream, end.key, end.time);
        return true;
      }
      streams_.erase(end.key); // a window without CE: quiet
    }
    return false;
  }

private:
  struct Stream {
    uint64_t at = 0;       // HoldOff: the last CNP; Grid: its beginning
    uint64_t end = kNever; // Window, Grid: the time in `ends_` that counts
    bool marked = false;   // a CNP is due at `end`
    Owed owed{};
  };
  struct End {
    uint64_t time;
    packet::PeerKey key;
    bool operator>(const End &other) const { return time > other.time; }
  };

  Verdict hold_off(uint64_t now, const packet::PeerKey &key) {
    if (Stream *stream = streams_.find(key)) {
      if (now - stream->at < pacing_.interval_ns)
        return Verdict::Paced;
      stream->at = now;
      return Verdict::Send;
    }
    // An entry whose interval has passed is not needed. Cleaned once per interval: it scans the
    // map.
    if (streams_.full() && now - cleaned_ >= pacing_.interval_ns) {
      cleaned_ = now;
      streams_.erase_if([&](const packet::PeerKey &, const Stream &stream) {
        return now - stream.at >= pacing_.interval_ns;
      });
    }
    return streams_.insert(key, {.at = now}) ? Verdict::Send : Verdict::NoRoom;
  }

  Verdict window(uint64_t now, const packet::PeerKey &key, const Owed &owed) {
    Stream *stream = streams_.find(key);
    if (!stream) {
      stream = streams_.insert(key, {});
      if (!stream)
        return Verdict::NoRoom;
      open(*stream, key, now);
      return Verdict::Send;
    }
    if (now < stream->end) {
      const bool first = !stream->marked;
      stream->marked = true;
      stream->owed = owed;
      return first ? Verdict::Deferred : Verdict::Paced;
    }
    // The window is over, and nobody called take_due(): its CNP, if there is one, goes now, and
    // this CE is of the next window. A window without CE is quiet: this CE goes at once.
    const bool owing = stream->marked;
    open(*stream, key, owing && now - stream->end < pacing_.interval_ns ? stream->end : now);
    stream->marked = owing;
    stream->owed = owed;
    return Verdict::Send;
  }

  Verdict grid(uint64_t now, const packet::PeerKey &key, const Owed &owed) {
    Stream *stream = streams_.find(key);
    if (!stream)
      stream = streams_.insert(key, {.at = now});
    if (!stream)
      return Verdict::NoRoom;
    if (stream->marked)
      return Verdict::Paced;
    const uint64_t ticks = (now - stream->at) / pacing_.interval_ns + 1;
    stream->marked = true;
    stream->owed = owed;
    stream->end = stream->at + ticks * pacing_.interval_ns;
    ends_.push({stream->end, key});
    return Verdict::Deferred;
  }

  void open(Stream &stream, const packet::PeerKey &key, uint64_t from) {
    stream.end = from + pacing_.interval_ns;
    ends_.push({stream.end, key});
  }

  packet::PeerKey key_of(const roce_packet &packet) const {
    if (pacing_.scope == CnpScope::Port)
      return {};
    packet::PeerKey key{packet::source_of(packet), roce_key_qp(&packet.key)};
    if (pacing_.scope == CnpScope::Stream)
      return key;
    // A pair is hashed into one address, so that one map serves all scopes with one lookup.
    const packet::Address to = packet::destination_of(packet);
    for (unsigned i = 0; i < 4; i++)
      key.address[i] ^= to[i] * 0x9e3779b1U;
    key.number = 1U << 31;
    return key;
  }

  CnpPacing pacing_;
  packet::PeerMap<Stream> streams_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  uint64_t cleaned_ = 0;
};

using NotificationPoint = BasicNotificationPoint<>;

} // namespace xr::congestion
