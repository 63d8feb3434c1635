// SPDX-License-Identifier: Apache-2.0
// A second stream tracker, written only from the definitions in include/roce/README.md 7: PSNs are
// unwrapped to 64 bits, missing PSNs are kept in a set, and there is no fast path. Its counters are
// the expected values.
#pragma once

#include <cstdint>
#include <ostream>
#include <set>

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
  int64_t unknown_read_ = 0; // bytes of the READ before, when its PSNs could not be counted
};

} // namespace xr::test
