// SPDX-License-Identifier: Apache-2.0
#include "peer/small_tools.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace xr::peer {

namespace {

using packet::Verb;
using station::QpEvent;

constexpr size_t kChecked = 4096; // of what a pingpong verifies
constexpr size_t kPlaceBytes = 16;
constexpr uint64_t kMostRead = 16 << 20;
constexpr size_t kMostTurns = 1'000'000;

} // namespace

Bytes pingpong_bytes(const PerftestKey &key) {
  const auto *gid = reinterpret_cast<const uint8_t *>(key.gid.data());
  const std::string text = fmt::format("{:04x}:{:06x}:{:06x}:{:02x}", key.lid, key.qp, key.psn,
                                       fmt::join(std::span(gid, sizeof(key.gid)), ""));
  Bytes bytes(text.begin(), text.end());
  bytes.push_back(0);
  return bytes;
}

// A line has fewer numbers than perftest's.
Result<PerftestKey> parse_pingpong(std::span<const uint8_t> bytes) {
  std::string key = "0000:0000:000000:000000:00000000:0000000000000000";
  const std::string text(bytes.begin(), bytes.end());
  const bool sound = text.size() == kPingpongBytes && text[4] == ':' && text[11] == ':' &&
                     text[18] == ':' && text.back() == 0;
  if (sound) {
    key.replace(0, 4, text, 0, 4);
    key.replace(10, 13, text, 5, 13);
    for (size_t i = 0; i < 16; i++)
      key += ':' + text.substr(19 + 2 * i, 2);
    key += ":00000000:";
    key.resize(kKeyBytes);
    const auto *data = reinterpret_cast<const uint8_t *>(key.data());
    if (auto parsed = parse_key({data, key.size()}, false))
      return *parsed;
  }
  return Error{"it does not speak as an ibv_..._pingpong: LID:QPN:PSN:GID was to come",
               "ibv_rc_pingpong -g 1"};
}

void ToolTraffic::failed(const QpEvent &event) {
  result_.failed_qps++;
  result_.syndrome = event.syndrome;
  over_ = true;
}

void ToolTraffic::count(uint64_t now) {
  result_.begun_ns = result_.begun_ns ? result_.begun_ns : now;
  result_.ended_ns = now;
}

void EchoTraffic::begin(uint64_t now, const std::vector<uint32_t> &qps) {
  for (const uint32_t qp : qps)
    open(now, qp);
  finish_if_done();
}

void EchoTraffic::open(uint64_t now, uint32_t qp) {
  open_++;
  qps_.keep(qp, plan_.checks ? std::max<uint64_t>(plan_.size, kChecked) : 0);
  if (plan_.first && !result_.begun_ns)
    count(now);
  for (uint64_t i = 0; i < plan_.first; i++)
    send(now, qp, plan_.size);
}

void EchoTraffic::send(uint64_t now, uint32_t qp, uint64_t bytes) {
  if (!qps_.has(qp) || (plan_.most && posted_ >= plan_.most))
    return;
  if (data_.size() < bytes) {
    data_.assign(bytes, plan_.fill);
    for (size_t i = 0; i < data_.size(); i += kChecked)
      data_[i] = 0;
  }
  posted_++;
  sent_at_[qp] = now;
  result_.size = bytes;
  qps_.post(now, qp, {.verb = Verb::Send, .bytes = bytes, .data = data_.data()});
}

// A side without -c has the fill in the first byte of a page, too.
bool EchoTraffic::is_right(std::span<const uint8_t> bytes) const {
  for (size_t i = 0; i < bytes.size(); i++)
    if (bytes[i] != plan_.fill && (i % kChecked || bytes[i]))
      return false;
  return true;
}

void EchoTraffic::event(uint64_t now, const QpEvent &event) {
  switch (event.kind) {
  case QpEvent::Kind::Connected:
    return open(now, event.qp);
  case QpEvent::Kind::Arrived: {
    if (!event.message.send)
      return;
    if (!result_.arrived)
      qps_.use_transport(event.message.transport);
    count(now);
    result_.arrived++;
    const auto kept = std::min<size_t>(event.bytes.size(), event.message.bytes);
    result_.bad_data += plan_.checks && !is_right(event.bytes.first(kept));
    if (plan_.client && result_.turns_us.size() < kMostTurns)
      result_.turns_us.push_back(static_cast<double>(now - sent_at_[event.qp]) / 1000);
    if (plan_.answers)
      send(now, event.qp, event.message.bytes);
    return finish_if_done();
  }
  case QpEvent::Kind::Sent:
    result_.sent++;
    count(now);
    return finish_if_done();
  case QpEvent::Kind::Failed:
    // The other side of a server is gone when it has what it wanted.
    if (plan_.client || event.syndrome || !result_.arrived)
      return failed(event);
    over_ = true;
    return;
  case QpEvent::Kind::Disconnected:
    over_ = --open_ == 0 || plan_.client;
    return;
  default:
    return;
  }
}

void EchoTraffic::finish_if_done() {
  if (plan_.client && result_.arrived >= plan_.awaits && result_.sent >= plan_.most)
    over_ = true;
}

RpingTraffic::RpingTraffic(station::QueuePairs &qps, const RpingPlan &plan)
    : ToolTraffic(qps), plan_(plan) {
  result_.size = plan.size;
}

// What the client's message number `round` has.
std::string RpingTraffic::text(uint64_t round) const {
  std::string text = fmt::format("rdma-ping-{}: ", round);
  text.resize(std::min<size_t>(text.size(), plan_.size));
  constexpr char kFirst = 'A', kLast = 'z';
  auto c = static_cast<char>(kFirst + static_cast<char>(round % (kLast - kFirst + 1)));
  while (text.size() < plan_.size) {
    text += c;
    c = c == kLast ? kFirst : static_cast<char>(c + 1);
  }
  text.back() = 0;
  return text;
}

void RpingTraffic::say(uint64_t now, uint32_t qp, const Place &place) {
  std::vector<uint8_t> &said = said_[next_said_++ % 2];
  said.clear();
  put(said, place.va, 8);
  put(said, place.rkey, 4);
  put(said, place.size, 4);
  qps_.post(now, qp, {.verb = Verb::Send, .bytes = said.size(), .data = said.data()});
}

void RpingTraffic::begin(uint64_t now, const std::vector<uint32_t> &qps) {
  qp_ = qps.front();
  qps_.keep(qp_, kPlaceBytes);
  count(now);
  round(now);
}

void RpingTraffic::round(uint64_t now) {
  const std::string data = text(round_);
  const auto *bytes = reinterpret_cast<const uint8_t *>(data.data());
  const responder::MemorySpec &spec = plan_.memory->spec();
  plan_.memory->write(spec.va, {bytes, data.size()});
  round_at_ = now;
  stage_ = Stage::Source;
  say(now, qp_, {spec.va, spec.rkey, static_cast<uint32_t>(plan_.size)});
}

void RpingTraffic::event(uint64_t now, const QpEvent &event) {
  if (event.kind == QpEvent::Kind::Failed)
    return failed(event);
  if (event.kind == QpEvent::Kind::Disconnected) {
    over_ = true;
    return;
  }
  plan_.client ? client(now, event) : server(now, event);
}

void RpingTraffic::client(uint64_t now, const QpEvent &event) {
  if (event.kind != QpEvent::Kind::Arrived || !event.message.send)
    return;
  const responder::MemorySpec &spec = plan_.memory->spec();
  const uint64_t sink = spec.va + plan_.size;
  if (stage_ == Stage::Source) { // it was READ
    stage_ = Stage::Sink;
    return say(now, qp_, {sink, spec.rkey, static_cast<uint32_t>(plan_.size)});
  }
  count(now);
  result_.sent++;
  result_.arrived++;
  if (result_.turns_us.size() < kMostTurns)
    result_.turns_us.push_back(static_cast<double>(now - round_at_) / 1000);
  std::vector<uint8_t> back(plan_.size);
  plan_.memory->read(sink, back);
  result_.bad_data += memcmp(back.data(), text(round_).data(), back.size()) != 0;
  if (++round_ == plan_.rounds)
    over_ = true;
  else
    round(now);
}

void RpingTraffic::server(uint64_t now, const QpEvent &event) {
  if (event.kind == QpEvent::Kind::Connected)
    return qps_.keep(event.qp, kPlaceBytes);
  // The READ is the newest of its requests.
  if (event.kind == QpEvent::Kind::Sent && stage_ == Stage::Reading &&
      !qps_.outstanding(event.qp)) {
    const std::string_view read(reinterpret_cast<const char *>(data_.data()), data_.size());
    result_.bad_data += read != text(round_);
    round_++;
    stage_ = Stage::Sink;
    return say(now, event.qp, {});
  }
  if (event.kind != QpEvent::Kind::Arrived || !event.message.send)
    return;
  count(now);
  if (event.message.bytes != kPlaceBytes || event.bytes.size() < kPlaceBytes) {
    result_.bad_data++;
    return;
  }
  const Place place{get(event.bytes, 0, 8), static_cast<uint32_t>(get(event.bytes, 8, 4)),
                    static_cast<uint32_t>(get(event.bytes, 12, 4))};
  if (!place.size || place.size > kMostRead) {
    result_.bad_data++;
    return;
  }
  if (stage_ == Stage::Source) {
    plan_.size = result_.size = place.size;
    data_.resize(place.size);
    stage_ = Stage::Reading;
    return qps_.post(now, event.qp,
                     {.verb = Verb::Read,
                      .bytes = place.size,
                      .va = place.va,
                      .rkey = place.rkey,
                      .into = data_.data()});
  }
  if (stage_ != Stage::Sink)
    return;
  stage_ = Stage::Source;
  result_.arrived++;
  result_.sent++;
  qps_.post(now, event.qp,
            {.verb = Verb::Write,
             .bytes = std::min<uint64_t>(place.size, data_.size()),
             .va = place.va,
             .rkey = place.rkey,
             .data = data_.data()});
  say(now, event.qp, {});
}

} // namespace xr::peer
