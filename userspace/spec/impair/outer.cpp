// SPDX-License-Identifier: Apache-2.0
// Words for what the rule tables do not have: MAC addresses, PCP, inner tag, MPLS label, ports, the
// version of RoCE, raw bytes. The datapath reads the frame again for them (roce/outer.h).
#include <algorithm>
#include <bit>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impair/keywords.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr unsigned kMacBytes = 6, kMacBits = 48;

void use(Draft &draft, uint32_t field) {
  roce_rule &rule = draft.rule.compiled;
  rule.checks |= ROCE_CHECK_OUTER;
  rule.outer.used |= field;
  if (draft.negated)
    rule.outer.inverted |= field;
}

// 02:00:00:00:00:01 as a number; dashes are accepted too.
Result<uint64_t> mac_value(const std::string &word) {
  uint64_t value = 0;
  const char *at = word.data(), *end = at + word.size();
  for (unsigned i = 0; i < kMacBytes; i++) {
    unsigned byte = 0;
    const auto [stop, error] = std::from_chars(at, std::min(at + 2, end), byte, 16);
    const bool last = i + 1 == kMacBytes;
    if (error != std::errc() || stop == at || (last ? stop != end : stop == end) ||
        (!last && *stop != ':' && *stop != '-'))
      return wrong(word, "a MAC address", "like 02:00:00:00:00:01");
    value = value << 8 | byte;
    at = stop + !last;
  }
  return value;
}

std::string mac_text(uint64_t value) {
  std::string text;
  for (unsigned i = 0; i < kMacBytes; i++)
    text += fmt::format("{}{:02x}", i ? ":" : "", value >> (kMacBits - 8 - 8 * i) & 0xff);
  return text;
}

uint64_t mac_mask(uint64_t length) {
  constexpr uint64_t kAll = (1ULL << kMacBits) - 1;
  return kAll & ~(kAll >> length);
}

// The part after the `/`: a number of bits or a mask.
Result<uint64_t> mask_value(const std::string &word) {
  if (word.find_first_of(":-") != std::string::npos)
    return mac_value(word);
  const auto length = integer(word, 0, kMacBits, "a number of bits from 0 to 48, or a mask");
  if (!length)
    return length.error();
  return mac_mask(length.get());
}

std::string mask_text(uint64_t mask) {
  const auto length = static_cast<uint64_t>(std::popcount(mask));
  if (length == kMacBits)
    return "";
  return mask == mac_mask(length) ? fmt::format("/{}", length) : "/" + mac_text(mask);
}

Status parse_mac(Draft &draft, WordReader &words, Slot slot, unsigned which) {
  const std::string word = words.take();
  const size_t slash = word.find('/');
  const auto value = mac_value(word.substr(0, slash));
  if (!value)
    return value.error();
  const auto mask =
      slash == std::string::npos ? mac_mask(kMacBits) : mask_value(word.substr(slash + 1));
  if (!mask)
    return mask.error();
  if (value.get() & ~mask.get())
    return Error{fmt::format("'{}' has bits that its mask leaves out", word),
                 mac_text(value.get() & mask.get()) + mask_text(mask.get())};
  const bool src = slot == Slot::SrcMac;
  draft.rule.compiled.outer.raw[which] = {value.get(), mask.get(), src ? kMacBytes : 0, kMacBytes};
  use(draft, 1U << which);
  draft.say_match(slot, fmt::format("{} {}{}", src ? "src-mac" : "dst-mac", mac_text(value.get()),
                                    mask_text(mask.get())));
  return {};
}

Result<uint64_t> hex_bytes(const std::string &word) {
  uint64_t value = 0;
  const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
  if (word.empty() || word.size() > 2UL * ROCE_RAW_BYTES || word.size() % 2 ||
      error != std::errc() || stop != word.data() + word.size())
    return wrong(word, "one to six bytes in hexadecimal", "like bytes 12 0800");
  return value;
}

Status parse_range(Draft &draft, WordReader &words, Slot slot, std::string_view name,
                   uint32_t field, roce_range roce_outer_match::*member, uint32_t most,
                   std::string_view what) {
  const auto given = range(words.take(), 0, most, what);
  if (!given)
    return given.error();
  draft.rule.compiled.outer.*member = given.get();
  use(draft, field);
  draft.say_match(slot, fmt::format("{} {}", name, range_text(given.get())));
  return {};
}

} // namespace

Status parse_src_mac(Draft &draft, WordReader &words) {
  return parse_mac(draft, words, Slot::SrcMac, ROCE_RAW_SRC_MAC);
}
Status parse_dst_mac(Draft &draft, WordReader &words) {
  return parse_mac(draft, words, Slot::DstMac, ROCE_RAW_DST_MAC);
}

// An untagged frame has none.
Status parse_pcp(Draft &draft, WordReader &words) {
  constexpr uint32_t kMostPcp = 7, kAll = (1U << (ROCE_PCP_NONE + 1)) - 1;
  uint32_t pcps = 0;
  std::vector<std::string> texts;
  for (const std::string &part : parts(words.take())) {
    const auto pcp = range(part, 0, kMostPcp, "a PCP");
    if (!pcp)
      return pcp.error();
    for (uint32_t i = pcp.get().from; i <= pcp.get().to; i++)
      pcps |= 1U << i;
    texts.push_back(range_text(pcp.get()));
  }
  roce_rule &rule = draft.rule.compiled;
  rule.checks |= ROCE_CHECK_OUTER;
  rule.outer.used |= ROCE_OUTER_PCP;
  rule.outer.pcps = draft.negated ? kAll & ~pcps : pcps;
  draft.say_match(Slot::Pcp, fmt::format("pcp {}", fmt::join(texts, ",")));
  return {};
}

Status parse_inner_vlan(Draft &draft, WordReader &words) {
  return parse_range(draft, words, Slot::InnerVlan, "inner-vlan", ROCE_OUTER_INNER_VLAN,
                     &roce_outer_match::inner_vlan, 4095, "a VLAN ID");
}

Status parse_mpls(Draft &draft, WordReader &words) {
  constexpr uint32_t kMostLabel = 0xfffff;
  words.take_if("label");
  return parse_range(draft, words, Slot::Mpls, "mpls", ROCE_OUTER_MPLS, &roce_outer_match::mpls,
                     kMostLabel, "an MPLS label");
}

Status parse_src_port(Draft &draft, WordReader &words) {
  return parse_range(draft, words, Slot::SrcPort, "src-port", ROCE_OUTER_SRC_PORT,
                     &roce_outer_match::src_port, UINT16_MAX, "a port of TCP, UDP or SCTP");
}
Status parse_dst_port(Draft &draft, WordReader &words) {
  return parse_range(draft, words, Slot::DstPort, "dst-port", ROCE_OUTER_DST_PORT,
                     &roce_outer_match::dst_port, UINT16_MAX, "a port of TCP, UDP or SCTP");
}

Status parse_roce_version(Draft &draft, WordReader &words) {
  const auto version = integer(words.take(), 1, 2, "a version of RoCE: 1 or 2");
  if (!version)
    return version.error();
  roce_rule &rule = draft.rule.compiled;
  rule.checks |= ROCE_CHECK_OUTER;
  rule.outer.used |= ROCE_OUTER_VERSION;
  rule.outer.version = static_cast<uint32_t>(draft.negated ? 3 - version.get() : version.get());
  draft.only_roce();
  draft.say(Slot::RoceVersion, fmt::format("roce-version {}", rule.outer.version));
  return {};
}

Status parse_bytes(Draft &draft, WordReader &words) {
  constexpr uint64_t kFarthest = 0x3fff - ROCE_RAW_BYTES; // the datapath's farthest byte
  const auto offset = integer(words.take(), 0, kFarthest, "an offset from the start of the frame");
  if (!offset)
    return offset.error();
  const std::string word = words.take();
  const size_t slash = word.find('/');
  const std::string hex = word.substr(0, slash);
  const auto value = hex_bytes(hex);
  if (!value)
    return value.error();
  const bool masked = slash != std::string::npos;
  const std::string mask_word = masked ? word.substr(slash + 1) : std::string(hex.size(), 'f');
  const auto mask = hex_bytes(mask_word);
  if (!mask || mask_word.size() != hex.size())
    return wrong(mask_word, fmt::format("a mask of {} hexadecimal digits", hex.size()),
                 "like bytes 12 0800/ff00");
  if (value.get() & ~mask.get())
    return Error{fmt::format("'{}' has bits that its mask leaves out", word),
                 fmt::format("{:0{}x}/{}", value.get() & mask.get(), hex.size(), mask_word)};
  const auto length = static_cast<uint32_t>(hex.size() / 2);
  const unsigned shift = 8 * (ROCE_RAW_BYTES - length);
  draft.rule.compiled.outer.raw[ROCE_RAW_ANY] = {value.get() << shift, mask.get() << shift,
                                                 static_cast<uint32_t>(offset.get()), length};
  use(draft, ROCE_OUTER_BYTES);
  draft.say_match(Slot::RawBytes, fmt::format("bytes {} {}{}", offset.get(), lower(hex),
                                              masked ? "/" + lower(mask_word) : ""));
  return {};
}

} // namespace xr::impair
