// SPDX-License-Identifier: Apache-2.0
// An exact event: the P-th packet of a stream, in its K-th transmission.
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

} // namespace

Status parse_event(Draft &draft, WordReader &words) {
  roce_rule &rule = draft.rule.compiled;
  std::string text;
  if (draft.has(Slot::DestQp))
    return Error{"there is dest-qp already", "qp 0x... psn ... has both conditions"};
  if (Status s = parse_qp(draft, words.take(), text); !s)
    return s;
  if (!words.take_if("psn"))
    return missing("psn", words.peek(), "like qp 1 psn 5; a QP without a place is dest-qp 0x11");
  if (Status s = parse_packet(draft, words.take(), text); !s)
    return s;
  if (words.take_if("iter")) {
    const auto iteration = integer(words.take(), 1, UINT32_MAX, "the number of a transmission");
    if (!iteration)
      return iteration.error();
    rule.event.iteration = static_cast<uint32_t>(iteration.get());
    text += fmt::format(" iter {}", rule.event.iteration);
  }
  rule.checks |= ROCE_CHECK_EVENT;
  draft.only_roce();
  draft.say(Slot::Event, text);
  return {};
}

} // namespace xr::impair
