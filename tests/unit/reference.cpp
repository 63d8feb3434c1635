// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <algorithm>

namespace xr::test {

namespace {

constexpr int64_t kSpace = 1 << 24;
constexpr int64_t kResync = 65536;
constexpr size_t kHoles = 16;

// Operations, include/roce/README.md 1.4.
enum Op {
  kSendFirst = 0x00,
  kSendMiddle = 0x01,
  kWriteFirst = 0x06,
  kWriteMiddle = 0x07,
  kReadRequest = 0x0c,
  kReadFirst = 0x0d,
  kReadMiddle = 0x0e,
  kReadLast = 0x0f,
  kReadOnly = 0x10,
  kAck = 0x11,
  kAtomicAck = 0x12,
};

int op(uint8_t opcode) { return opcode & 0x1f; }

// Signed 24-bit distance from b to a.
int64_t distance(int64_t a, int64_t b) {
  const int64_t d = ((a - b) % kSpace + kSpace) % kSpace;
  return d < kSpace / 2 ? d : d - kSpace;
}

int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }

bool first_or_middle(uint8_t opcode) {
  switch (op(opcode)) {
  case kSendFirst:
  case kSendMiddle:
  case kWriteFirst:
  case kWriteMiddle:
  case kReadFirst:
  case kReadMiddle:
    return true;
  default:
    return false;
  }
}

// "packets that end a message (LAST, ONLY, READ REQUEST, atomics, FLUSH, ATOMIC WRITE; in a
// response stream READ RESPONSE LAST/ONLY and ATOMIC ACK"
bool ends_message(uint8_t opcode) { return !first_or_middle(opcode) && op(opcode) != kAck; }

} // namespace

void PrintTo(const Counts &c, std::ostream *os) {
  *os << "packets " << c.packets << ", messages " << c.messages << ", gaps " << c.gaps
      << ", skipped " << c.skipped << ", filled " << c.filled << ", duplicates " << c.duplicates
      << ", rewinds " << c.rewinds << ", reordered " << c.reordered << ", resyncs " << c.resyncs
      << ", jumps " << c.jumps << ", jumped " << c.jumped << ", ce " << c.ce << ", cnps " << c.cnps
      << ", holes_forgotten " << c.holes_forgotten;
}

Reference::Kind Reference::kind(uint8_t opcode) {
  if (opcode == 0x81)
    return Kind::Response;
  switch (opcode & 0xe0) {
  case 0x40:
  case 0x60:
    return Kind::Datagram;
  case 0x00:
  case 0x20:
  case 0xa0:
    return op(opcode) >= kReadFirst && op(opcode) <= kAtomicAck ? Kind::Response : Kind::Request;
  default:
    return Kind::None;
  }
}

void Reference::packet(const Seen &p) {
  counts_.packets++;
  bytes_ += p.length;
  counts_.ce += p.ce;
  if (p.opcode == 0x81)
    counts_.cnps++;
  else if (kind(p.opcode) == Kind::Datagram)
    counts_.messages++;
  else if (op(p.opcode) != kAck)
    track(p);
}

void Reference::announce(uint32_t psn, uint32_t pmtu) {
  if (started_ && expected() != psn)
    counts_.resyncs++;
  started_ = true;
  first_psn_ = psn;
  expected_ = last_ = psn;
  holes_.clear();
  run_ = 0;
  unknown_read_ = 0;
  pmtu_ = pmtu;
  pmtu_told_ = pmtu != 0;
}

// PSNs of the packet. A READ that cannot be counted takes one for now: see after_unknown_read.
int64_t Reference::covers(const Seen &p) {
  if (op(p.opcode) != kReadRequest || p.dma_len <= 256)
    return 1;
  if (pmtu_)
    return ceiling(p.dma_len, pmtu_);
  unknown_read_ = p.dma_len;
  return 1;
}

// The packet before was a READ of unknown length. By now the PMTU may be known; else this packet
// may jump, and the distance may show the PMTU. True when it may jump.
bool Reference::after_unknown_read(const Seen &p) {
  const int64_t bytes = unknown_read_;
  unknown_read_ = 0;
  if (!bytes)
    return false;
  const int64_t start = last_ - 1;
  if (pmtu_) {
    last_ = start + ceiling(bytes, pmtu_);
    expected_ = std::max(expected_, last_);
    return false;
  }
  const int64_t size = distance(p.psn, start);
  for (int64_t m = 256; m <= 4096; m *= 2)
    if (size > 1 && size == ceiling(bytes, m))
      pmtu_ = static_cast<uint32_t>(m);
  return true;
}

// Rule 5. True for a duplicate.
bool Reference::behind(int64_t psn, int64_t n, bool uc) {
  uint64_t filled = 0;
  for (auto it = holes_.lower_bound(psn); it != holes_.end() && *it < psn + n; filled++)
    it = holes_.erase(it);
  counts_.filled += filled;
  if (!filled)
    counts_.duplicates++;
  if (uc) {
    counts_.reordered += filled;
  } else if (run_ > 0 && psn >= last_) {
    run_++;
    if (run_ == 2) {
      counts_.rewinds++;
      counts_.reordered -= run_filled_;
    }
  } else {
    run_ = 1;
    run_filled_ = filled;
    counts_.reordered += filled;
  }
  expected_ = std::max(expected_, psn + n);
  return !filled;
}

// "Keep them as intervals, at least 16 a stream. When a 17th opens, the oldest is forgotten".
void Reference::forget_beyond_sixteen() {
  if (holes_.size() <= kHoles)
    return;
  size_t intervals = 0;
  int64_t previous = -2;
  for (int64_t psn : holes_) {
    intervals += psn != previous + 1;
    previous = psn;
  }
  if (intervals <= kHoles)
    return;
  counts_.holes_forgotten++;
  for (int64_t psn = *holes_.begin(); holes_.erase(psn); psn++) {
  }
}

void Reference::track(const Seen &p) {
  if (first_or_middle(p.opcode) && !pmtu_told_)
    for (uint32_t m = 256; m <= 4096; m *= 2)
      if (p.payload == m)
        pmtu_ = m;
  if (!started_) { // rule 1
    started_ = true;
    first_psn_ = p.psn;
    expected_ = last_ = p.psn;
  }
  bool legal = after_unknown_read(p);
  const int64_t n = covers(p);
  const int64_t d = distance(p.psn, expected_);
  const int64_t psn = expected_ + d;
  const int64_t e = psn - last_;
  bool duplicate = false, resync = false, holes_changed = false;

  const int o = op(p.opcode);
  const bool response = kind(p.opcode) == Kind::Response;
  if (response && d > 0 && !read_open_ && (o == kReadFirst || o == kReadOnly || o == kAtomicAck))
    legal = true;
  if (d >= kResync || d <= -kResync) { // rule 2
    resync = true;
    counts_.resyncs++;
    holes_.clear();
    run_ = 0;
    first_psn_ = p.psn;
    expected_ = psn + n;
  } else if (d >= 0) { // rules 3 and 4
    if (d > 0 && !legal) {
      counts_.gaps++;
      counts_.skipped += static_cast<uint64_t>(d);
      for (int64_t missing = expected_; missing < psn; missing++)
        holes_.insert(missing);
      holes_changed = true;
    }
    run_ = 0;
    expected_ = psn + n;
  } else {
    duplicate = behind(psn, n, p.opcode >> 5 == 1);
    holes_changed = !duplicate;
  }
  if (holes_changed)
    forget_beyond_sixteen();
  if (e > 0 && !resync && !legal) { // rule 6
    counts_.jumps++;
    counts_.jumped += static_cast<uint64_t>(e);
  }
  if (ends_message(p.opcode) && !duplicate)
    counts_.messages++;
  if (response && o != kAtomicAck)
    read_open_ = o == kReadFirst || o == kReadMiddle;
  last_ = psn + n; // rule 7
}

} // namespace xr::test
