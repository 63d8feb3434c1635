// SPDX-License-Identifier: Apache-2.0
#include "requester/replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <arpa/inet.h>

#include <fmt/format.h>

#include "packet/icrc.h"
#include "parse/address.h"
#include "parse/language.h"
#include "parse/value.h"
#include "roce/checksum.h"

namespace xr::requester {

using parse::wrong;

namespace {

using ReplayDraft = parse::Draft<Replay>;
using parse::WordReader;

Status parse_map(ReplayDraft &draft, WordReader &words) {
  const std::string word = words.take();
  const size_t sign = word.find('=');
  if (sign == std::string::npos)
    return wrong(word, "a pair of addresses", "map OLD=NEW, like 10.0.0.1=192.0.2.1");
  const auto from = XR_TRY(parse::address(word.substr(0, sign)));
  const auto to = XR_TRY(parse::address(word.substr(sign + 1)));
  if (packet::is_mapped(from) != packet::is_mapped(to))
    return Error{fmt::format("'{}' is of two families", word), "IPv4 becomes IPv4, IPv6 IPv6"};
  draft.spec.addresses[from] = to;
  return {};
}

template <std::optional<packet::Mac> Replay::*member>
Status parse_mac(ReplayDraft &draft, WordReader &words) {
  draft.spec.*member = XR_TRY(packet::parse_mac(words.take()));
  return {};
}

Status parse_rate_of(ReplayDraft &draft, WordReader &words) {
  draft.spec.rate = XR_TRY(flow::take_rate(words));
  draft.spec.speed = 0;
  return {};
}

Status parse_top(ReplayDraft &draft, WordReader &) {
  draft.spec.speed = 0;
  return {};
}

Status parse_speed(ReplayDraft &draft, WordReader &words) {
  draft.spec.speed = XR_TRY(parse::real(words.take(), 1e-6, 1e6));
  return {};
}

Status parse_loop(ReplayDraft &draft, WordReader &words) {
  auto loops = parse::integer(words.take(), 0, UINT32_MAX);
  if (!loops)
    return Error{loops.error().message, "loop 0 has no end"};
  draft.spec.loops = loops.get();
  return {};
}

Status parse_duration(ReplayDraft &draft, WordReader &words) {
  draft.spec.duration_ns = XR_TRY(parse::duration(words.take()));
  return {};
}

constexpr parse::Word<ReplayDraft> kReplayWords[] = {
    {{"speed", "pace", "", "X"}, parse_speed},
    {{"rate", "pace", "", "RATE"}, parse_rate_of},
    {{"top", "pace"}, parse_top},
    {{"loop", "", "", "N"}, parse_loop},
    {{"for", "", "", "DURATION"}, parse_duration},
    {{"map", parse::kMany, "", "OLD=NEW"}, parse_map},
    {{"src-mac", "", "", "MAC"}, parse_mac<&Replay::src_mac>},
    {{"dst-mac", "", "", "MAC"}, parse_mac<&Replay::dst_mac>},
};

const parse::Language<ReplayDraft> &replay_language() {
  static const parse::Language<ReplayDraft> kLanguage(
      {.thing = "replay", .example = "", .error = ""}, {{"", kReplayWords}});
  return kLanguage;
}

void mend_checksum(uint8_t *checksum, const uint8_t *before, const uint8_t *after, size_t length) {
  uint16_t sum = roce_be16(checksum);
  for (size_t i = 0; i < length; i += 2)
    sum = roce_checksum_after(sum, roce_be16(before + i), roce_be16(after + i));
  roce_put16(checksum, roce_swap16(sum));
}

packet::Address address_at(const uint8_t *wire, bool ipv4) {
  packet::Address address{0, 0, ROCE_MAPPED_PREFIX, 0};
  memcpy(ipv4 ? &address[3] : address.data(), wire, ipv4 ? 4 : 16);
  return address;
}

// Rewrites one address of a frame. `udp`: its UDP header or nullptr.
bool rewrite_address(uint8_t *l3, uint32_t offset, bool ipv4, uint8_t *udp, const Replay &how) {
  const auto found = how.addresses.find(address_at(l3 + offset, ipv4));
  if (found == how.addresses.end())
    return false;
  const size_t length = ipv4 ? 4 : 16;
  const auto *to =
      reinterpret_cast<const uint8_t *>(ipv4 ? &found->second[3] : found->second.data());
  if (ipv4)
    mend_checksum(l3 + 10, l3 + offset, to, length);
  if (udp && (udp[6] | udp[7]))
    mend_checksum(udp + 6, l3 + offset, to, length);
  memcpy(l3 + offset, to, length);
  return true;
}

} // namespace

std::string replay_usage() { return replay_language().usage(0); }

Result<Replay> parse_replay(const std::vector<std::string> &all) {
  ReplayDraft draft;
  WordReader words(all);
  words.take_if("replay");
  draft.spec.file = words.take();
  if (draft.spec.file.empty())
    return Error{"which file is missing", "replay FILE.pcap"};
  while (!words.done()) {
    if (words.left() == 1 && words.peek() != "top" && replay_language().find(words.peek()))
      return Error{fmt::format("{} needs a value", words.peek())};
    XR_TRY(replay_language().read_word(draft, words));
  }
  return std::move(draft.spec);
}

namespace {

// Writes the iCRC and updates a UDP checksum, which covers it. The checksum sums 16-bit words, so
// it needs an even offset.
void mend_icrc(uint8_t *frame, const roce_packet &packet, uint8_t *udp) {
  uint8_t *icrc = frame + packet.end - ROCE_ICRC_LEN;
  uint8_t *even = udp ? icrc - (icrc - udp) % 2 : icrc;
  std::array<uint8_t, 6> before{}, after{};
  const auto length = static_cast<size_t>(frame + packet.end - even);
  memcpy(before.data(), even, length);
  icrc_write(frame, packet);
  memcpy(after.data(), even, length);
  if (udp && (udp[6] | udp[7]))
    mend_checksum(udp + 6, before.data(), after.data(), before.size());
}

} // namespace

bool rewrite(std::span<uint8_t> frame, const Replay &how, uint16_t udp_port) {
  uint8_t *data = frame.data();
  if (frame.size() < ROCE_ETH_LEN)
    return false;
  if (how.dst_mac)
    memcpy(data, how.dst_mac->data(), how.dst_mac->size());
  if (how.src_mac)
    memcpy(data + 6, how.src_mac->data(), how.src_mac->size());
  roce_packet packet{};
  const int class_ = roce_parse(data, data + frame.size(), htons(udp_port), &packet);
  if (!roce_is_roce(class_) || packet.end > frame.size())
    return false;
  const bool sound = icrc_check(data, static_cast<uint32_t>(frame.size()), packet) == Icrc::Good;
  uint8_t *l3 = data + packet.l3;
  uint8_t *udp = class_ == ROCE_CLASS_V2 ? data + packet.bth - ROCE_UDP_LEN : nullptr;
  const bool ipv4 = l3[0] >> 4 == 4;
  const bool item = rewrite_address(l3, ipv4 ? 12 : 8, ipv4, udp, how);
  const bool other = rewrite_address(l3, ipv4 ? 16 : 24, ipv4, udp, how);
  if ((item || other) && sound)
    mend_icrc(data, packet, udp);
  return item || other;
}

namespace {

congestion::Pacing replay_pacing(const Replay &how) {
  congestion::Pacing pacing;
  if (how.speed == 0)
    pacing.rate = how.rate;
  return pacing;
}

} // namespace

ReplaySource::ReplaySource(std::vector<uint8_t> bytes, std::vector<Frame> frames, const Replay &how,
                           double line_bits)
    : bytes_(std::move(bytes)), frames_(std::move(frames)), speed_(how.speed), loops_(how.loops),
      duration_ns_(how.duration_ns), pacer_(replay_pacing(how), line_bits, 0) {
  // Captures of several interfaces are not always in order of time.
  uint64_t first = frames_.empty() ? 0 : frames_.front().time_ns, last = 0;
  for (Frame &frame : frames_) {
    frame.time_ns = last = std::max(last, frame.time_ns > first ? frame.time_ns - first : 0);
  }
  // The gap between two loops is the average gap between two frames.
  length_ns_ = frames_.size() > 1 ? last + last / (frames_.size() - 1) : last;
}

double ReplaySource::asked_pps() const {
  if (frames_.empty())
    return 0;
  if (speed_ > 0)
    return length_ns_ ? static_cast<double>(frames_.size()) * 1e9 * speed_ /
                            static_cast<double>(length_ns_)
                      : 0;
  return pacer_.asked_pps(static_cast<double>(bytes_.size()) / static_cast<double>(frames_.size()));
}

uint64_t ReplaySource::due() const {
  if (speed_ == 0)
    return pacer_.due();
  return start_ + static_cast<uint64_t>(static_cast<double>(frames_[at_].time_ns) / speed_);
}

void ReplaySource::advance(uint64_t now, uint32_t length) {
  counts_.packets++;
  counts_.bytes += length;
  if (speed_ == 0)
    pacer_.sent(now, length);
  counts_.slipped_ns = pacer_.slipped_ns();
  if (++at_ < frames_.size() || ++loop_ == loops_)
    return;
  at_ = 0;
  start_ += static_cast<uint64_t>(static_cast<double>(length_ns_) / std::max(speed_, 1e-9));
}

size_t ReplaySource::next(uint64_t now, std::span<packet::Outgoing> out) {
  if (!start_) {
    start_ = now;
    end_ = duration_ns_ ? now + duration_ns_ : kNever;
    pacer_.start(now);
    pacer_.end_at(end_);
  }
  size_t filled = 0;
  over_ = over_ || (at_ < frames_.size() && std::max(due(), now) >= end_);
  while (filled < out.size() && !done() && due() <= now) {
    const Frame &frame = frames_[at_];
    out[filled] = {};
    out[filled].raw = {bytes_.data() + frame.offset, frame.length};
    out[filled].due = speed_ == 0 && pacer_.top() ? 0 : due();
    filled++;
    advance(now, frame.length);
  }
  return filled;
}

uint64_t ReplaySource::wake_at() const {
  if (done())
    return kNever;
  return start_ ? std::min(due(), end_) : 0;
}

} // namespace xr::requester
