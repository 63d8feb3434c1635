// SPDX-License-Identifier: Apache-2.0
#include "impair/action_table.h"

#include <bit>

#include <fmt/format.h>

#include "base/enum_bits.h"
#include "roce/config.h"

namespace xr::impair {

namespace {

constexpr uint32_t kBesideDrop = ROCE_ACT_DROP | ROCE_ACT_POLICE | ROCE_ACT_CNP | ROCE_ACT_FORCE;
constexpr uint32_t kHolds = ROCE_ACTS_HOLD;
constexpr const char *kOneHolds = "a rule holds a frame in one way: make two rules";
constexpr const char *kBothWriteEcn = "both write the ECN field: remove one";

constexpr Action kActions[] = {
    {.bit = ROCE_ACT_DROP,
     .word = "drop",
     .syntax = "drop",
     .did = "dropped",
     .counter = &roce_totals::dropped_programmed,
     .only_roce = false,
     .excludes = {{{~kBesideDrop, "a packet that is dropped can only have a cnp beside it"}}}},
    {.bit = ROCE_ACT_CE,
     .word = "ce",
     .syntax = "ce [force]",
     .did = "marked CE",
     .counter = &roce_totals::marked,
     .feature = ROCE_FEATURE_EDIT,
     .excludes = {{{ROCE_ACT_SET_ECN, kBothWriteEcn}}}},
    {.bit = ROCE_ACT_RED,
     .word = "red",
     .syntax = "red KMIN KMAX PMAX rate RATE [l1|l2] [max BYTES]",
     .example = "red 5k 200k 1% rate 10gbit",
     .feature = ROCE_FEATURE_EDIT,
     .excludes = {{{ROCE_ACT_CE, "red marks CE by itself"},
                   {ROCE_ACT_POLICE, "both decide which packets are hit: make two rules"},
                   {ROCE_ACT_SET_ECN, kBothWriteEcn}}}},
    {.bit = ROCE_ACT_CORRUPT_ICRC,
     .word = "corrupt",
     .object = "icrc",
     .among = ROCE_ACTS_CORRUPT,
     .syntax = "corrupt icrc|payload|bit [N]|header FIELD|ip-checksum|udp-checksum",
     .did = "corrupted the iCRC",
     .counter = &roce_totals::corrupted,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_CORRUPT_PAYLOAD,
     .word = "corrupt",
     .object = "payload",
     .among = ROCE_ACTS_CORRUPT,
     .did = "corrupted the payload",
     .counter = &roce_totals::corrupted,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_CORRUPT_HEADER,
     .word = "corrupt",
     .object = "header",
     .among = ROCE_ACTS_CORRUPT,
     .did = "corrupted a header",
     .counter = &roce_totals::corrupted,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_CORRUPT_BIT,
     .word = "corrupt",
     .object = "bit",
     .among = ROCE_ACTS_CORRUPT,
     .did = "corrupted a bit",
     .counter = &roce_totals::corrupted,
     .feature = ROCE_FEATURE_EDIT,
     .only_roce = false},
    {.bit = ROCE_ACT_CORRUPT_IP_CHECKSUM,
     .word = "corrupt",
     .object = "ip-checksum",
     .among = ROCE_ACTS_CORRUPT,
     .did = "corrupted the IP checksum",
     .counter = &roce_totals::corrupted,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_CORRUPT_UDP_CHECKSUM,
     .word = "corrupt",
     .object = "udp-checksum",
     .among = ROCE_ACTS_CORRUPT,
     .did = "corrupted the UDP checksum",
     .counter = &roce_totals::corrupted,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_SET_DSCP,
     .word = "set",
     .object = "dscp",
     .syntax = "set dscp|ecn|fecn|becn V",
     .example = "set dscp 26, set ecn ect0 or set becn 1",
     .did = "set DSCP",
     .counter = &roce_totals::rewritten,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_SET_ECN,
     .word = "set",
     .object = "ecn",
     .did = "set ECN",
     .counter = &roce_totals::rewritten,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_SET_FECN,
     .word = "set",
     .object = "fecn",
     .did = "set FECN",
     .counter = &roce_totals::rewritten,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_SET_BECN,
     .word = "set",
     .object = "becn",
     .did = "set BECN",
     .counter = &roce_totals::rewritten,
     .feature = ROCE_FEATURE_EDIT},
    {.bit = ROCE_ACT_POLICE,
     .word = "police",
     .syntax = "police RATE burst BYTES [l1|l2] [excess drop|ce]",
     .example = "police 1gbit burst 64k",
     .did = "in excess of its rate",
     .feature = ROCE_FEATURE_EDIT,
     .only_roce = false},
    {.bit = ROCE_ACT_CNP,
     .word = "cnp",
     .syntax = "cnp [interval TIME] [scope stream|pair|port] [dscp N]",
     .did = "answered by a CNP",
     .counter = &roce_totals::cnps_sent,
     .feature = ROCE_FEATURE_CNP,
     .streams = true,
     .copies = true,
     .alone = "without a bridge a packet can only become a CNP itself",
     .place = "bridge",
     .instead = "cnp drop",
     .in_skb = "in skb mode the kernel's copy, which is to be the CNP, shares its bytes with the "
               "packet that goes on",
     .skb_remedy = "cnp drop; or a bridge in native mode",
     .excludes = {{{ROCE_ACTS_CORRUPT, "the CNP is made of what was corrupted: make two rules"},
                   {ROCE_ACT_DUPLICATE, "the kernel makes one copy: remove one"}}}},
    {.bit = ROCE_ACT_DUPLICATE,
     .word = "duplicate",
     .syntax = "duplicate",
     .did = "duplicated",
     .counter = &roce_totals::duplicated,
     .only_roce = false,
     .copies = true,
     .alone = "duplicate needs a bridge, whose other port the copies leave by",
     .place = "bridge"},
    {.bit = ROCE_ACT_DELAY,
     .word = "delay",
     .syntax = "delay T [jitter DIST [unordered]]",
     .example = "delay 1ms or delay 1ms jitter gaussian 0s 100us",
     .did = "delayed",
     .feature = ROCE_FEATURE_HOLD,
     .only_roce = false,
     .alone = "delay needs a wire",
     .place = "wire",
     .excludes = {{{kHolds & ~ROCE_ACT_DELAY, kOneHolds}}}},
    {.bit = ROCE_ACT_ACCUMULATE,
     .word = "accumulate",
     .syntax = "accumulate N [timeout T] or accumulate T",
     .example = "accumulate 16 or accumulate 100us",
     .did = "accumulated",
     .feature = ROCE_FEATURE_HOLD,
     .only_roce = false,
     .alone = "accumulate needs a wire",
     .place = "wire",
     .excludes = {{{kHolds & ~ROCE_ACT_ACCUMULATE, kOneHolds}}}},
    {.bit = ROCE_ACT_REORDER,
     .word = "reorder",
     .syntax = "reorder depth N|skip S take N hold H [timeout T]",
     .example = "reorder depth 1 or reorder skip 100 take 2 hold 5",
     .did = "reordered",
     .feature = ROCE_FEATURE_HOLD,
     .only_roce = false,
     .alone = "reorder needs a wire",
     .place = "wire",
     .excludes = {{{kHolds & ~ROCE_ACT_REORDER, kOneHolds}}}},
    {.bit = ROCE_ACT_SHAPE,
     .word = "shape",
     .syntax = "shape RATE [l1|l2] burst BYTES queue BYTES",
     .example = "shape 1gbit burst 16k queue 1M",
     .did = "shaped",
     .feature = ROCE_FEATURE_HOLD,
     .only_roce = false,
     .alone = "shape needs a wire",
     .place = "wire",
     .excludes = {{{kHolds & ~ROCE_ACT_SHAPE, kOneHolds}}}},
};

// FORCE has no row: it modifies other actions.
constexpr bool has_all_bits() {
  uint32_t bits = ROCE_ACT_FORCE;
  for (const Action &action : kActions) {
    if (!std::has_single_bit(action.bit) || bits & action.bit)
      return false;
    bits |= action.bit;
  }
  return bits == named_bits<roce_action_bits>();
}
static_assert(has_all_bits(), "every bit of enum roce_action_bits has one row");

} // namespace

std::string Action::name() const {
  return among || object.empty() ? std::string(word) : fmt::format("{} {}", word, object);
}

std::span<const Action> actions() { return kActions; }

std::vector<const Action *> actions_of(std::string_view word) {
  std::vector<const Action *> found;
  for (const Action &action : kActions)
    if (action.word == word)
      found.push_back(&action);
  return found;
}

std::string action_name(uint32_t acts) {
  for (const Action &action : kActions)
    if (action.bit & acts)
      return action.name();
  return "";
}

std::string action_list(bool with_syntax) {
  std::string list;
  for (const Action &action : kActions)
    if (*action.syntax)
      list += fmt::format("{}{}", list.empty() ? "" : ", ",
                          with_syntax ? std::string_view(action.syntax) : action.word);
  return list;
}

} // namespace xr::impair
