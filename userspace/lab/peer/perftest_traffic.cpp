// SPDX-License-Identifier: Apache-2.0
#include "peer/perftest_traffic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace xr::peer {

namespace {

using packet::Verb;
using requester::Post;
using station::QpEvent;

// A server that does not know the test waits so long for more before it decides which one it is.
constexpr uint64_t kQuiet = 20'000'000;
// And so long where several came: the client of a test one way is busy with its end.
constexpr uint64_t kLongQuiet = 300'000'000;
// Between two WRITEs that look for the size of a latency test, and their first and further bytes: a
// client's buffer has a page at least, and is a multiple of a cache line.
constexpr uint64_t kProbe = 1'000'000, kPage = 4096, kLine = 64;
constexpr size_t kTimed = 20'000; // messages whose times are kept, for the peak

// What looks for the size of a latency test writes.
const uint8_t *ones() {
  static const std::vector<uint8_t> kOnes(kPage, 1);
  return kOnes.data();
}

} // namespace

double PerftestResult::bytes_per_second() const {
  const uint64_t bytes = std::max(sent_bytes, arrived_bytes);
  return ended_ns > begun_ns
             ? static_cast<double>(bytes) * 1e9 / static_cast<double>(ended_ns - begun_ns)
             : 0;
}

double percentile(const std::vector<double> &ascending, double share) {
  if (ascending.empty())
    return 0;
  const auto at = static_cast<size_t>(std::ceil(static_cast<double>(ascending.size()) * share));
  return ascending[std::min(at, ascending.size() - 1)];
}

void PerftestTraffic::use(const std::vector<uint32_t> &qps,
                          const std::vector<PerftestKey> &theirs) {
  ends_.clear();
  for (size_t i = 0; i < qps.size(); i++) {
    ends_.push_back({.qp = qps[i], .theirs = i < theirs.size() ? theirs[i] : PerftestKey{}});
    by_qp_[qps[i]] = i;
    if (qps_.has(qps[i]))
      qps_.set_rkey(qps[i], ends_.back().theirs.rkey);
  }
}

Verb PerftestTraffic::verb() const {
  using enum PerftestTest;
  switch (plan_.test.value_or(SendBw)) {
  case WriteBw:
  case WriteLat:
    return Verb::Write;
  case ReadBw:
  case ReadLat:
    return Verb::Read;
  case AtomicBw:
  case AtomicLat:
    return Verb::FetchAdd;
  default:
    return Verb::Send;
  }
}

bool PerftestTraffic::ping_pongs() const {
  return plan_.test == PerftestTest::SendLat || plan_.test == PerftestTest::WriteLat;
}

bool PerftestTraffic::lasts(uint64_t now) const {
  return !plan_.iterations && plan_.duration_ns && now < begun_ + plan_.duration_ns;
}

void PerftestTraffic::resize(uint64_t size) {
  plan_.size = size;
  const PerftestResult before = std::exchange(result_, {});
  result_.transport = before.transport;
  posted_ns_.clear();
  done_ns_.clear();
  for (End &end : ends_)
    end.posted = end.done = 0;
  begun_flag_ = over_ = false;
}

void PerftestTraffic::begin(uint64_t now, bool two_way) {
  two_way_ |= two_way;
  if (begun_flag_ && plan_.client)
    return;
  begun_flag_ = true;
  begun_ = now;
  size_ = plan_.size.value_or(0);
  if (plan_.client) {
    if (plan_.test == PerftestTest::WriteLat)
      look(now, ends_.front());
    else
      for (End &end : ends_)
        fill(now, end);
    finish_if_done(now);
    if (!over_ && plan_.duration_ns)
      wake_at_ = now + plan_.duration_ns;
    return;
  }
  if (plan_.test == PerftestTest::WriteLat && size_) {
    if (two_way && !ends_.front().posted)
      post(now, ends_.front());
    return;
  }
  if (plan_.both_ways && two_way && size_ && plan_.iterations) {
    for (End &end : ends_)
      fill(now, end);
    return;
  }
  quiet_since_ = now;
  wake_at_ = now + kQuiet;
}

// What a WRITE of a latency test has: its last byte, which its reader polls, is its number. The one
// before may still be on its way.
const uint8_t *PerftestTraffic::ending(uint64_t number) {
  std::vector<uint8_t> &bytes = endings_[number % endings_.size()];
  bytes.resize(size_);
  bytes.back() = static_cast<uint8_t>(number);
  return bytes.data();
}

// One message. A server that sends first takes RC for what the client has.
void PerftestTraffic::post(uint64_t now, End &end) {
  if (!qps_.has(end.qp)) // the other side has disconnected it
    return;
  Post post{.verb = verb(), .bytes = size_, .va = end.theirs.va, .rkey = end.theirs.rkey};
  if (!plan_.test && end.theirs.rkey)
    post.verb = end.theirs.out_reads > 1 ? Verb::Read : Verb::Write;
  if (post.verb == Verb::Write && (found_size_ || plan_.test == PerftestTest::WriteLat))
    post.data = ending(end.posted + 1);
  if (post.verb == Verb::FetchAdd)
    post.bytes = 8;
  if (!qps_.ends(end.qp).transport)
    qps_.use_transport(plan_.transport);
  end.posted++;
  if (posted_ns_.size() < kTimed)
    posted_ns_.push_back(now);
  if (!result_.begun_ns)
    result_.begun_ns = now;
  qps_.post(now, end.qp, post);
}

// Posts until as many messages as allowed are outstanding.
void PerftestTraffic::fill(uint64_t now, End &end) {
  const uint64_t depth = is_latency(plan_.test.value_or(PerftestTest::SendBw)) ? 1 : plan_.depth;
  while (end.posted - end.done < depth && (end.posted < plan_.iterations || lasts(now)))
    post(now, end);
}

void PerftestTraffic::event(uint64_t now, const QpEvent &event) {
  const auto found = by_qp_.find(event.qp);
  if (found == by_qp_.end())
    return;
  End &end = ends_[found->second];
  switch (event.kind) {
  case QpEvent::Kind::Sent:
    return sent(now, end);
  case QpEvent::Kind::Arrived:
    return arrived(now, end, event.message);
  case QpEvent::Kind::Failed:
    result_.failed_qps++;
    result_.syndrome = event.syndrome;
    over_ = true;
    return;
  default:
    return;
  }
}

void PerftestTraffic::sent(uint64_t now, End &end) {
  end.done++;
  result_.sent++;
  result_.sent_bytes += size_;
  result_.size = plan_.client ? size_ : std::max(result_.size, size_);
  result_.ended_ns = now;
  if (done_ns_.size() < kTimed)
    done_ns_.push_back(now);
  if (!ping_pongs() && (plan_.client || (plan_.both_ways && plan_.iterations)))
    fill(now, end);
  finish_if_done(now);
}

void PerftestTraffic::arrived(uint64_t now, End &end, const responder::Arrived &message) {
  if (!result_.arrived)
    qps_.use_transport(message.transport);
  result_.transport = message.transport;
  result_.arrived++;
  result_.arrived_bytes += message.bytes;
  if (!plan_.client) {
    result_.begun_ns = result_.begun_ns ? result_.begun_ns : now;
    result_.size = message.bytes;
    result_.ended_ns = now;
  }
  if (plan_.client) {
    if (plan_.test == PerftestTest::WriteLat)
      look(now, end);
    else if (ping_pongs() && (end.posted < plan_.iterations || lasts(now)))
      post(now, end);
    return finish_if_done(now);
  }
  size_ = message.bytes;
  found_size_ |= probed_ > 0;
  probed_ = 0;
  sends_ |= message.send;
  writes_ |= message.write;
  reads_ |= message.read;
  if (plan_.test) {
    const bool as_many = !plan_.iterations; // as come
    if (ping_pongs() ? as_many || end.posted < plan_.iterations : plan_.both_ways && as_many)
      post(now, end);
    return;
  }
  if (mirrors_ || plan_.both_ways || (message.write && two_way_)) {
    mirrors_ = true;
    return post(now, end);
  }
  if (!message.send && !message.write)
    return;
  end.owed += message.send;
  most_owed_ = std::max(most_owed_, end.owed);
  quiet_since_ = now;
  if (wake_at_ == kNever)
    wake_at_ = now + kQuiet;
}

std::optional<std::string_view> PerftestTraffic::seen_test() const {
  using enum PerftestTest;
  if (plan_.test)
    return kPerftestTests[static_cast<size_t>(*plan_.test)];
  if (!result_.arrived)
    return {};
  const bool in_turn = mirrors_ && most_owed_ <= 1;
  const PerftestTest test = sends_     ? in_turn ? SendLat : SendBw
                            : writes_  ? found_size_ ? WriteLat : WriteBw
                            : reads_   ? two_way_ ? ReadLat : ReadBw
                            : two_way_ ? AtomicLat
                                       : AtomicBw;
  return kPerftestTests[static_cast<size_t>(test)];
}

// The client of a latency of WRITEs waits until the last byte is the number of the next one, as the
// server's may be there before it looks.
void PerftestTraffic::look(uint64_t now, End &end) {
  if (!begun_flag_)
    return;
  uint8_t last = 0;
  plan_.memory->read(plan_.memory->spec().va + size_ - 1, {&last, 1});
  if (last == static_cast<uint8_t>(end.posted + 1) && (end.posted < plan_.iterations || lasts(now)))
    post(now, end);
}

void PerftestTraffic::wake(uint64_t now) {
  if (plan_.client) {
    wake_at_ = kNever;
    return finish_if_done(now);
  }
  const uint64_t last = std::max(quiet_since_, qps_.last_request_ns());
  if (const uint64_t until = last + (most_owed_ > 1 ? kLongQuiet : kQuiet); now < until) {
    wake_at_ = until;
    return;
  }
  wake_at_ = kNever;
  bool owed = false;
  for (End &end : ends_)
    owed = owed || end.owed;
  if (owed) {
    // The client waits for messages of ours: of send_lat, or of send_bw -b.
    mirrors_ = true;
    for (End &end : ends_)
      for (; end.owed; end.owed--)
        post(now, end);
    return;
  }
  const PerftestKey &theirs = ends_.empty() ? PerftestKey{} : ends_.front().theirs;
  if (two_way_ && !result_.arrived && theirs.rkey && theirs.out_reads == 1)
    probe(now);
}

// A client of write_lat waits until the last byte of its buffer is 1, and does not say how long
// that is: WRITEs of ones go further each time. Its answer has the size.
void PerftestTraffic::probe(uint64_t now) {
  End &end = ends_.front();
  if (!qps_.has(end.qp))
    return;
  const uint64_t bytes = probed_ ? kLine : kPage;
  if (!qps_.ends(end.qp).transport)
    qps_.use_transport(plan_.transport);
  qps_.post(now, end.qp,
            {.verb = Verb::Write,
             .bytes = bytes,
             .va = end.theirs.va + probed_,
             .rkey = end.theirs.rkey,
             .data = ones()});
  if (!probed_)
    end.posted++; // the later ones belong to it
  probed_ += bytes;
  mirrors_ = true;
  quiet_since_ = 0;
  wake_at_ = now + kProbe;
}

void PerftestTraffic::finish_if_done(uint64_t now) {
  if (!plan_.client || over_ || lasts(now))
    return;
  for (const End &end : ends_)
    if (end.done < end.posted || end.posted < plan_.iterations)
      return;
  // When time is up, the last message of a ping-pong has no answer.
  const bool awaits =
      plan_.test == PerftestTest::SendLat || (plan_.both_ways && verb() == Verb::Send);
  if (awaits && plan_.iterations && result_.arrived < plan_.iterations * ends_.size())
    return;
  over_ = true;
}

PerftestResult PerftestTraffic::result() const {
  PerftestResult result = result_;
  if (is_latency(plan_.test.value_or(PerftestTest::SendBw)) && plan_.client) {
    const double factor = ping_pongs() ? 2000 : 1000;
    for (size_t i = 1; i < posted_ns_.size(); i++)
      result.latencies_us.push_back(static_cast<double>(posted_ns_[i] - posted_ns_[i - 1]) /
                                    factor);
    std::ranges::sort(result.latencies_us);
    return result;
  }
  // The least time for a message, over all runs of messages.
  double least = 0;
  const size_t timed = done_ns_.size() < kTimed ? std::min(posted_ns_.size(), done_ns_.size()) : 0;
  for (size_t i = 0; plan_.client && i < timed; i++)
    for (size_t j = i; j < timed; j++) {
      const double took =
          static_cast<double>(done_ns_[j] - posted_ns_[i]) / static_cast<double>(j - i + 1);
      if (took > 0 && (least == 0 || took < least))
        least = took;
    }
  result.peak_bytes = least > 0 ? static_cast<double>(result.size) * 1e9 / least : 0;
  return result;
}

} // namespace xr::peer
