// SPDX-License-Identifier: Apache-2.0
// A second stream tracker, written only from the definitions in include/roce/README.md 7: PSNs are
// unwrapped to 64 bits, missing PSNs are kept in a set, and there is no fast path. Its counters are
// the expected values.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <set>
#include <utility>
#include <vector>

namespace xr::test {

struct Counts {
  uint64_t packets = 0;
  uint64_t messages = 0;
  uint64_t gaps = 0;
  uint64_t skipped = 0;
  uint64_t filled = 0;
  uint64_t duplicates = 0;
  uint64_t rewinds = 0;
  uint64_t reordered = 0;
  uint64_t resyncs = 0;
  uint64_t jumps = 0;
  uint64_t jumped = 0;
  uint64_t ce = 0;
  uint64_t cnps = 0;
  uint64_t holes_forgotten = 0;
  uint64_t lost = 0, unsure = 0, late = 0, go_backs = 0;

  bool operator==(const Counts &) const = default;
};
void PrintTo(const Counts &c, std::ostream *os);

// What the reference wants to know of a packet, read off the wire.
struct Seen {
  uint8_t opcode = 0;
  uint32_t psn = 0;
  uint32_t dma_len = 0; // READ REQUEST
  uint32_t payload = 0;
  bool ce = false;
  uint32_t length = 0; // of the frame
};

class Reference {
public:
  enum class Kind { None, Request, Response, Datagram };
  static Kind kind(uint8_t opcode);

  void packet(const Seen &p);
  // RDMA CM announced how the stream begins; `pmtu` 0 if unknown.
  void announce(uint32_t psn, uint32_t pmtu);

  const Counts &counts() const { return counts_; }
  uint64_t bytes() const { return bytes_; }
  uint32_t expected() const { return static_cast<uint32_t>(expected_ & 0xffffff); }
  uint32_t first_psn() const { return first_psn_; }
  uint32_t pmtu() const { return pmtu_; }

private:
  void track(const Seen &p);
  int64_t covers(const Seen &p);
  bool after_unknown_read(const Seen &p);
  bool behind(int64_t psn, int64_t n, bool uc);
  void forget_beyond_sixteen();
  void lose(const Seen &p, int64_t psn, int64_t n, bool legal, uint64_t skipped, uint64_t filled,
            int64_t expected);
  void begin_losses(int64_t psn);
  void lost_again(int64_t from, int64_t to, bool apart = false);
  void take_over(int64_t psn, int64_t end);
  void decide_round(uint64_t missing);
  void decide_late();
  uint64_t sent_now(int64_t psn, int64_t end);
  bool near_late(int64_t psn) const;

  Counts counts_;
  uint64_t bytes_ = 0;
  bool started_ = false;
  uint32_t first_psn_ = 0;
  int64_t expected_ = 0, last_ = 0;
  std::set<int64_t> holes_;
  int run_ = 0;
  uint64_t run_filled_ = 0;
  bool read_open_ = false;
  uint32_t pmtu_ = 0;
  bool pmtu_told_ = false;
  // Losses. The waiting packets came before the end of the previous one.
  struct Waiting {
    int64_t psn = 0, before = 0, in_order = 0, end = 0, newest = 0; // newest: its end
    std::vector<std::pair<int64_t, int64_t>> gaps;                  // between them, at most two
    uint64_t missing = 0;
    bool begins = false;
  };
  bool waits_ = false;
  Waiting waiting_;
  int64_t accepted_ = 0, round_last_ = 0;
  bool rounds_ = false;   // it has gone back
  bool was_late_ = false; // late_psn_ is valid
  int64_t late_psn_ = 0;
  uint64_t late_unsettled_ = 0; // PSNs from there
  uint64_t head_ = 0;
  int64_t gone_from_ = 0, gone_to_ = 0;
  uint64_t gone_ = 0;
  struct Interval {
    int64_t from = 0, to = 0;
  };
  std::array<Interval, 4> again_{}; // not sent again in this round
  size_t again_next_ = 0;
  int64_t unknown_read_ = 0; // bytes of the READ before, when its PSNs could not be counted
};

} // namespace xr::test
