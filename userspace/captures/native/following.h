// SPDX-License-Identifier: Apache-2.0
// The memory in which the native datapath follows QP pairs (include/roce/pair.h).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "model/episodes.h"
#include "roce/followed.h"

namespace xr {

// The times between the CNPs of each source.
class CnpTimes {
public:
  static constexpr size_t kQps = 1 << 16; // remembered; more are counted

  void add(const roce_key &key, uint64_t ns);
  void fill(Episodes &into) const;

private:
  struct Last {
    uint64_t ns = 0, least = UINT64_MAX;
    uint64_t count = 0, near = 0; // near: as often `least`, or a quarter more
    void add(uint64_t now);
    // Nine of ten times between two are the least one: that is a pace.
    bool is_steady() const { return count > 4 && 10 * near >= 9 * (count - 1); }
  };
  using Name = std::array<uint32_t, 9>; // source, destination and QP, or zeros
  std::map<Name, Last> qps_, destinations_, sources_;
  uint64_t forgotten_ = 0;
};

// Packets with a wrong iCRC, which their receivers drop, until they are sent again.
class DamagedPackets {
public:
  static constexpr size_t kPackets = 1 << 16; // more make way for newer ones

  void add(uint32_t stream, uint32_t psn, uint64_t ns);
  // Whether the loss of such a packet began the episode; those sent again in it are forgotten.
  bool explain(const roce_episode &episode);

private:
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> times_; // by stream and PSN: the latest
};

struct Following {
  static constexpr size_t kPairs = 1 << 18;    // 1.2 KiB each
  static constexpr size_t kEpisodes = 1 << 20; // 120 bytes each

  // With the order of the frame that gave it.
  template <typename Item> struct Found {
    Item item;
    uint64_t order;
  };

  std::vector<uint32_t> places; // of each stream: its record + 1
  std::deque<roce_follow> records;
  std::vector<uint64_t> orders; // of the frame that began each record
  std::vector<Found<roce_episode>> episodes;
  std::vector<Found<roce_finding>> findings, damaged_findings;
  uint64_t pairs_full = 0, episodes_dropped = 0, findings_dropped = 0, unpaired = 0;
  uint64_t order = 0; // of the current frame
  uint64_t damaged_packets = 0;

  CnpTimes cnps;
  DamagedPackets damaged;

  // Null: there is no room for its record.
  roce_follow *record(uint32_t stream);
  void add(roce_episode episode);
  void add(const roce_finding &finding);
  // A packet with a wrong iCRC of stream record `stream`.
  void add_damaged(const roce_packet &packet, uint32_t stream, uint64_t ns, uint64_t frame);

  // All requests have ended: what still waits is decided by the caller, record by record.
  void end(size_t record) { order = kEnd | orders[record]; }

private:
  static constexpr uint64_t kEnd = uint64_t{1} << 63; // after all frames
};

// What was followed of some of the QP pairs, and the streams that its records name.
struct FollowedPart {
  const Following *following;
  const std::vector<roce_stream> *streams;
};

// Names the streams and puts the episodes in order of time. Call after the end.
void fill_followed(Episodes &into, const std::vector<FollowedPart> &parts);

} // namespace xr
