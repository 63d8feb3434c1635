// SPDX-License-Identifier: Apache-2.0
// An exact event: the P-th packet of a stream, in its K-th transmission; also as `psn +K`.
#include <fmt/format.h>

#include "impair/keywords.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint32_t kMostQps = 1024, kMostQpn = 0xffffff, kMostPacket = 0xffffff;
constexpr roce_range kAll = {0, UINT32_MAX};

// A decimal N is the N-th QP seen on the port; a hexadecimal N is a QPN.
Status parse_qp(Draft &draft, const std::string &word, std::string &text) {
  roce_rule &rule = draft.rule.compiled;
  const bool by_number = !lower(word).starts_with("0x");
  const auto qp = by_number ? integer(word, 1, kMostQps, "the number of a QP")
                            : integer(word, 0, kMostQpn, "a QPN");
  if (!qp)
    return Error{qp.error().message, "qp 1 is the first QP that the port saw, qp 0x11 QPN 17"};
  const auto value = static_cast<uint32_t>(qp.get());
  text = by_number ? fmt::format("qp {}", value) : fmt::format("qp {:#x}", value);
  rule.event.qp_number = by_number ? value : ROCE_QP_BY_NUMBER;
  if (by_number)
    return {};
  rule.qps = 1;
  rule.qp[0] = {value, value};
  for (unsigned i = 0; i < 3; i++)
    draft.bytes(kQp + static_cast<int>(i)) &= cover(value, value, 16 - 8 * i);
  return {};
}

Status parse_packet(Draft &draft, const std::string &word, std::string &text) {
  roce_range &packet = draft.rule.compiled.event.packet;
  if (lower(word) == "all") {
    packet = kAll;
    text += " psn all";
    return {};
  }
  const auto place = range(word, 1, kMostPacket, "a place in the stream");
  if (!place)
    return place.error();
  packet = place.get();
  draft.bytes(kPacket) &= cover(packet.from, packet.to, 0);
  text += fmt::format(" psn {}", range_text(packet));
  return {};
}

Status parse_iteration(roce_rule &rule, WordReader &words, std::string &text) {
  if (!words.take_if("iter"))
    return {};
  const auto iteration = integer(words.take(), 1, UINT32_MAX, "the number of a transmission");
  if (!iteration)
    return iteration.error();
  rule.event.iteration = static_cast<uint32_t>(iteration.get());
  text += fmt::format(" iter {}", rule.event.iteration);
  return {};
}

void finish_event(Draft &draft, Slot slot, const std::string &text) {
  draft.rule.compiled.checks |= ROCE_CHECK_EVENT;
  draft.only_roce();
  draft.say(slot, text);
}

} // namespace

// Matches, in every QP, the packets that `qp N psn P` matches with P = K + 1.
Status parse_psn_offset(Draft &draft, const std::string &offset, WordReader &words) {
  roce_rule &rule = draft.rule.compiled;
  if (draft.negated)
    return Error{fmt::format("'+{}' after not: a packet has one place in its stream", offset),
                 "psn +K-L says the others"};
  if (Status s = draft.claim(Slot::Event, "psn +K"); !s)
    return s;
  const auto from_first = range(offset, 0, kMostPacket - 1, "a distance from the first PSN");
  if (!from_first)
    return Error{from_first.error().message, "psn +0 is the first packet of its stream"};
  const roce_range &r = from_first.get();
  rule.event.qp_number = ROCE_QP_BY_NUMBER;
  rule.event.packet = {r.from + 1, r.to + 1};
  draft.bytes(kPacket) &= cover(rule.event.packet.from, rule.event.packet.to, 0);
  std::string text = "psn +" + range_text(r);
  if (Status s = parse_iteration(rule, words, text); !s)
    return s;
  finish_event(draft, Slot::Psn, text);
  return {};
}

Status parse_event(Draft &draft, WordReader &words) {
  std::string text;
  if (draft.has(Slot::DestQp))
    return Error{"there is dest-qp already", "qp 0x... psn ... has both conditions"};
  if (Status s = parse_qp(draft, words.take(), text); !s)
    return s;
  if (!words.take_if("psn"))
    return missing("psn", words.peek(), "like qp 1 psn 5; a QP without a place is dest-qp 0x11");
  if (Status s = parse_packet(draft, words.take(), text); !s)
    return s;
  if (Status s = parse_iteration(draft.rule.compiled, words, text); !s)
    return s;
  finish_event(draft, Slot::Event, text);
  return {};
}

} // namespace xr::impair
