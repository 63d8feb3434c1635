// SPDX-License-Identifier: Apache-2.0
// An exact event: the P-th packet of a stream, in its K-th transmission; also as `psn +K`.
#include <fmt/format.h>

#include "impair/draft.h"
#include "impair/fields.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint32_t kMostQps = 1024, kMostPacket = 0xffffff;

// A decimal N is the N-th QP seen on the port; a hexadecimal N is a QPN.
Status parse_qp(EventSpec &event, const std::string &word) {
  event.by_number = !lower(word).starts_with("0x");
  const auto qp = event.by_number ? integer(word, 1, kMostQps, "the number of a QP")
                                  : integer(word, 0, kMost24, "a QPN");
  if (!qp)
    return Error{qp.error().message, "qp 1 is the first QP that the port saw, qp 0x11 QPN 17"};
  event.qp = static_cast<uint32_t>(qp.get());
  return {};
}

Status parse_packet(EventSpec &event, const std::string &word) {
  if (lower(word) != "all")
    event.packet = XR_TRY(range(word, 1, kMostPacket, "a place in the stream"));
  return {};
}

Status parse_iteration(EventSpec &event, WordReader &words) {
  if (words.take_if("iter"))
    event.iteration = static_cast<uint32_t>(
        XR_TRY(integer(words.take(), 1, UINT32_MAX, "the number of a transmission")));
  return {};
}

} // namespace

// Matches, in every QP, the packets that `qp N psn P` matches with P = K + 1.
Status parse_psn_offset(Draft &draft, const std::string &offset, WordReader &words) {
  if (draft.negated)
    return Error{fmt::format("'+{}' after not: a packet has one place in its stream", offset),
                 "psn +K-L says the others"};
  XR_TRY(draft.taken.also(kEvent, "psn +K", "a rule has one of them"));
  const auto from_first = range(offset, 0, kMostPacket - 1, "a distance from the first PSN");
  if (!from_first)
    return Error{from_first.error().message, "psn +0 is the first packet of its stream"};
  EventSpec event{.of_each_stream = true,
                  .packet = {from_first.get().from + 1, from_first.get().to + 1}};
  XR_TRY(parse_iteration(event, words));
  draft.spec.event = event;
  return {};
}

namespace {

Status parse_event(Draft &draft, WordReader &words) {
  EventSpec event;
  if (draft.taken.has(field_name(Field::DestQp)))
    return Error{"there is dest-qp already", "qp 0x... psn ... has both conditions"};
  XR_TRY(parse_qp(event, words.take()));
  if (!words.take_if("psn"))
    return missing("psn", words.peek(), "like qp 1 psn 5; a QP without a place is dest-qp 0x11");
  XR_TRY(parse_packet(event, words.take()));
  XR_TRY(parse_iteration(event, words));
  draft.spec.event = event;
  return {};
}

constexpr RuleWord kEventWords[] = {
    {{"qp", kEvent, "qp N psn P|P-P|all [iter K], like qp 1 psn 5", "N psn P|P-P|all [iter K]",
      "the P-th packet of the N-th QP that the port saw since it was attached or since `impair IF "
      "zero` (0x.. is a QPN), in its K-th transmission (1 + the stream's rewinds). After a resync "
      "(another use of the QPN) P is 1 again, and K continues. `psn +K [iter K]`, or +K-L: the "
      "packets "
      "whose PSN is K (to L) after the first one that the port saw of their stream, or since its "
      "last resync, of every stream that the rule matches; `psn +0` is the first packet"},
     parse_event},
};

} // namespace

std::span<const RuleWord> event_words() { return kEventWords; }

} // namespace xr::impair
