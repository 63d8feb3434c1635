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

// Takes `n`, or as much as there is, out of a count; how much.
uint64_t take(uint64_t &count, uint64_t n) {
  n = std::min(n, count);
  count -= n;
  return n;
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
      << ", holes_forgotten " << c.holes_forgotten << ", lost " << c.lost << ", unsure " << c.unsure
      << ", late " << c.late << ", go_backs " << c.go_backs;
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
  begin_losses(psn);
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
    const int64_t end = start + ceiling(bytes, pmtu_);
    for (int64_t *at : {&accepted_, &round_last_})
      if (*at == last_)
        *at = end;
    last_ = end;
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

bool Reference::near_late(int64_t psn) const {
  return was_late_ && std::abs(psn - late_psn_) < 128;
}

// PSNs of [psn, end) that were jumped over in this round; they are sent now. A packet within an
// interval leaves the part after it.
uint64_t Reference::sent_now(int64_t psn, int64_t end) {
  uint64_t n = 0;
  for (Interval &i : again_) {
    const int64_t from = std::max(i.from, psn), to = std::min(i.to, end);
    if (from >= to)
      continue;
    n += static_cast<uint64_t>(to - from);
    if (from > i.from && to == i.to)
      i.to = from;
    else
      i.from = to;
  }
  return n;
}

// [from, to) was sent before, and jumped over in this round.
void Reference::lost_again(int64_t from, int64_t to, bool apart) {
  if (from < to && (apart || from < accepted_)) {
    const int64_t acknowledged = apart ? to : std::min(to, accepted_);
    counts_.unsure += static_cast<uint64_t>(acknowledged - from);
    from = acknowledged;
  }
  if (from >= to)
    return;
  if (near_late(from)) {
    counts_.unsure += static_cast<uint64_t>(to - from);
    return;
  }
  counts_.lost += static_cast<uint64_t>(to - from);
  again_[again_next_++ % again_.size()] = {from, to};
}

// The receiver accepts [psn, end), if it is next.
void Reference::take_over(int64_t psn, int64_t end) {
  if (psn > accepted_ || end <= accepted_)
    return;
  accepted_ = end;
  (near_late(end) ? counts_.unsure : counts_.lost) += head_;
  head_ = 0;
}

// The waiting packets were the first of a round.
void Reference::decide_round(uint64_t missing) {
  waits_ = false;
  counts_.go_backs++;
  if (late_unsettled_ && waiting_.psn <= late_psn_) {
    counts_.late += late_unsettled_;
    take(counts_.lost, late_unsettled_ - take(counts_.unsure, late_unsettled_));
  }
  late_unsettled_ = 0;
  uint64_t gone = waiting_.missing + missing;
  for (Interval &i : again_) {
    gone += static_cast<uint64_t>(i.to - i.from);
    i = {};
  }
  if (gone) {
    if (!gone_ || waiting_.psn >= gone_to_) {
      gone_ = 0;
      gone_from_ = waiting_.psn;
      gone_to_ = waiting_.before;
    }
    gone_from_ = std::min(gone_from_, waiting_.psn);
    gone_to_ = std::max(gone_to_, waiting_.before);
    gone_ += gone;
  }
  if (!waiting_.begins && waiting_.psn > accepted_)
    head_ += static_cast<uint64_t>(waiting_.psn - accepted_);
  rounds_ = true;
  take_over(waiting_.psn, waiting_.in_order);
}

// They were late, or copies.
void Reference::decide_late() {
  waits_ = false;
  if (const uint64_t n = waiting_.missing) {
    was_late_ = true;
    late_psn_ = waiting_.psn;
    if (rounds_ && waiting_.before - waiting_.end > 2) {
      counts_.late += n;
      take(counts_.unsure, n - take(counts_.lost, n));
    } else {
      counts_.unsure += take(counts_.lost, n);
      late_unsettled_ = n;
    }
  } else if (head_ && waiting_.psn == accepted_) {
    head_--;
  } else if (gone_ && waiting_.psn >= gone_from_ && waiting_.psn < gone_to_) {
    gone_--;
    counts_.unsure += take(counts_.lost, 1);
  }
  take_over(waiting_.psn, waiting_.in_order);
}

// `expected`: before the packet, whose PSNs are [psn, psn + n).
void Reference::lose(const Seen &p, int64_t psn, int64_t n, bool legal, uint64_t skipped,
                     uint64_t filled, int64_t expected) {
  const int64_t end = psn + n;
  const int o = op(p.opcode);
  const bool begins =
      kind(p.opcode) == Kind::Response && (o == kReadFirst || o == kReadOnly || o == kAtomicAck);
  const bool apart = kind(p.opcode) == Kind::Response && (begins || !read_open_);
  legal = legal || (begins && !read_open_);
  const uint64_t missing = filled + sent_now(psn, end);
  int64_t last = round_last_;
  if (waits_) {
    last = std::max(waiting_.before, waiting_.end);
    if (psn < last && missing && (psn < waiting_.end || waiting_.missing)) {
      if (psn == waiting_.in_order)
        waiting_.in_order = end;
      waiting_.newest = end;
      waiting_.end = std::max(waiting_.end, end);
      waiting_.missing += missing;
      return;
    }
    if (psn < last && psn >= waiting_.end && psn - waiting_.newest <= 4) {
      decide_round(missing);
      for (size_t i = 0; i < waiting_.gaps.size(); i++) {
        lost_again(waiting_.gaps[i].first, waiting_.gaps[i].second);
        take_over(waiting_.gaps[i].second,
                  i + 1 < waiting_.gaps.size() ? waiting_.gaps[i + 1].first : waiting_.newest);
      }
      if (!legal)
        lost_again(waiting_.newest, psn, apart);
      take_over(psn, end);
      round_last_ = end;
      return;
    }
    if (psn < last && psn >= waiting_.end && (legal || apart || waiting_.gaps.size() < 2)) {
      if (!legal && !apart)
        waiting_.gaps.emplace_back(waiting_.newest, psn);
      else if (waiting_.in_order == waiting_.newest)
        waiting_.in_order = end;
      waiting_.newest = waiting_.end = end;
      waiting_.missing += missing;
      return;
    }
    decide_late();
  }
  if (psn < last) {
    waits_ = true;
    waiting_ = {psn, last, end, end, end, {}, missing, begins};
    return;
  }
  round_last_ = end;
  if (legal) {
    if (accepted_ == last)
      accepted_ = psn;
  } else {
    if (filled && psn != last && near_late(psn)) {
      counts_.unsure += take(counts_.lost, filled);
    }
    if (psn == waiting_.before && psn - last > 4) { // those before were late, and no round
      take(counts_.go_backs, 1);
      const int64_t head = waiting_.psn - accepted_;
      if (head > 0 && static_cast<int64_t>(head_) >= head)
        head_ -= static_cast<uint64_t>(head);
    } else {
      lost_again(last, std::min(psn, expected), apart);
    }
    const uint64_t sure = apart ? std::min<uint64_t>(skipped, 1) : skipped;
    counts_.lost += sure;
    counts_.unsure += skipped - sure;
    if (!skipped && psn != last && apart && !begins)
      counts_.lost += take(counts_.unsure, 1);
  }
  take_over(psn, end);
}

void Reference::begin_losses(int64_t psn) {
  accepted_ = round_last_ = psn;
  waits_ = rounds_ = was_late_ = false;
  waiting_ = {};
  waiting_.psn = waiting_.before = psn;
  late_unsettled_ = head_ = gone_ = 0;
  again_ = {};
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
    begin_losses(p.psn);
  }
  if (expected_ - accepted_ > 16384) { // nobody waits for it
    accepted_ = expected_;
    head_ = 0;
  }
  bool legal = after_unknown_read(p);
  const int64_t n = covers(p);
  const int64_t d = distance(p.psn, expected_), before = expected_;
  uint64_t skipped = 0;
  const uint64_t filled_before = counts_.filled;
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
      skipped = static_cast<uint64_t>(d);
      counts_.skipped += skipped;
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
  if (resync)
    begin_losses(psn + n);
  else if (p.opcode >> 5 != 1)
    lose(p, psn, n, legal, skipped, counts_.filled - filled_before, before);
  if (response && o != kAtomicAck)
    read_open_ = o == kReadFirst || o == kReadMiddle;
  last_ = psn + n; // rule 7
}

} // namespace xr::test
