// SPDX-License-Identifier: Apache-2.0
// Words for what the rule tables do not have: MAC addresses, PCP, inner tag, MPLS label, ports, the
// version of RoCE, raw bytes. The datapath reads the frame again for them (roce/outer.h).
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "impair/draft.h"
#include "impair/mac.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

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

// The part after the `/`: a number of bits or a mask.
Result<uint64_t> mask_value(const std::string &word) {
  if (word.find_first_of(":-") != std::string::npos)
    return mac_value(word);
  const auto length =
      XR_TRY(integer(word, 0, kMacBits, "a number of bits from 0 to 48, or a mask"));
  return mac_mask(length);
}

Status parse_mac(Draft &draft, WordReader &words, Field field) {
  const std::string word = words.take();
  const size_t slash = word.find('/');
  const auto value = XR_TRY(mac_value(word.substr(0, slash)));
  const auto mask =
      slash == std::string::npos ? mac_mask(kMacBits) : XR_TRY(mask_value(word.substr(slash + 1)));
  if (value & ~mask)
    return Error{fmt::format("'{}' has bits that its mask leaves out", word),
                 mac_text({value & mask, mask})};
  draft.match(field, Mac{value, mask});
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

Status parse_range(Draft &draft, WordReader &words, Field field, uint32_t most,
                   std::string_view what) {
  draft.match(field, Condition::Ranges{XR_TRY(range(words.take(), 0, most, what))});
  return {};
}

Status parse_src_mac(Draft &draft, WordReader &words) {
  return parse_mac(draft, words, Field::SrcMac);
}
Status parse_dst_mac(Draft &draft, WordReader &words) {
  return parse_mac(draft, words, Field::DstMac);
}

// An untagged frame has none.
Status parse_pcp(Draft &draft, WordReader &words) {
  Condition::Ranges pcps;
  for (const std::string &part : parts(words.take()))
    pcps.push_back(XR_TRY(range(part, 0, 7, "a PCP")));
  draft.match(Field::Pcp, std::move(pcps));
  return {};
}

Status parse_inner_vlan(Draft &draft, WordReader &words) {
  return parse_range(draft, words, Field::InnerVlan, 4095, "a VLAN ID");
}

Status parse_mpls(Draft &draft, WordReader &words) {
  constexpr uint32_t kMostLabel = 0xfffff;
  words.take_if("label");
  return parse_range(draft, words, Field::Mpls, kMostLabel, "an MPLS label");
}

Status parse_src_port(Draft &draft, WordReader &words) {
  return parse_range(draft, words, Field::SrcPort, UINT16_MAX, "a port of TCP, UDP or SCTP");
}
Status parse_dst_port(Draft &draft, WordReader &words) {
  return parse_range(draft, words, Field::DstPort, UINT16_MAX, "a port of TCP, UDP or SCTP");
}

Status parse_roce_version(Draft &draft, WordReader &words) {
  const auto given = XR_TRY(integer(words.take(), 1, 2, "a version of RoCE: 1 or 2"));
  const auto version = static_cast<uint32_t>(draft.negated ? 3 - given : given);
  draft.negated = false;
  draft.match(Field::RoceVersion, Condition::Ranges{{version, version}});
  return {};
}

Status parse_bytes(Draft &draft, WordReader &words) {
  constexpr uint64_t kFarthest = 0x3fff - ROCE_RAW_BYTES; // the datapath's farthest byte
  const auto offset =
      XR_TRY(integer(words.take(), 0, kFarthest, "an offset from the start of the frame"));
  const std::string word = words.take();
  const size_t slash = word.find('/');
  const std::string hex = word.substr(0, slash);
  const auto value = XR_TRY(hex_bytes(hex));
  const bool masked = slash != std::string::npos;
  const std::string mask_word = masked ? word.substr(slash + 1) : std::string(hex.size(), 'f');
  const auto mask = hex_bytes(mask_word);
  if (!mask || mask_word.size() != hex.size())
    return wrong(mask_word, fmt::format("a mask of {} hexadecimal digits", hex.size()),
                 "like bytes 12 0800/ff00");
  if (value & ~mask.get())
    return Error{fmt::format("'{}' has bits that its mask leaves out", word),
                 fmt::format("{:0{}x}/{}", value & mask.get(), hex.size(), mask_word)};
  draft.match(Field::RawBytes,
              RawBytes{static_cast<uint32_t>(offset), static_cast<uint32_t>(hex.size() / 2), value,
                       mask.get(), masked});
  return {};
}

constexpr RuleWord kOuter[] = {
    {{"src-mac", "", "src-mac 02:00:00:00:00:01[/BITS or /MASK]", "MAC[/BITS|/MASK]"},
     parse_src_mac},
    {{"dst-mac", "", "dst-mac 02:00:00:00:00:01[/BITS or /MASK]", "MAC[/BITS|/MASK]"},
     parse_dst_mac},
    {{"pcp", "", "pcp 3,5-7, of the outer tag", "LIST", "of the outer tag"}, parse_pcp},
    {{"inner-vlan", "", "inner-vlan 5 or inner-vlan 5-9", "A-B", "the second tag"},
     parse_inner_vlan},
    {{"mpls", "", "mpls 16 or mpls 16-31: the first label", "A-B", "the first label"}, parse_mpls},
    {{"src-port", "", "src-port 80 or src-port 1024-65535", "A-B"}, parse_src_port},
    {{"dst-port", "", "dst-port 80 or dst-port 1024-65535", "A-B",
      "of TCP, UDP or SCTP, also after MPLS; fragments after the first have none"},
     parse_dst_port},
    {{"roce-version", "", "roce-version 1", "1|2"}, parse_roce_version},
    {{"bytes", "", "bytes OFFSET HEX[/MASK], like bytes 12 0800/ff00", "OFFSET HEX[/MASK]",
      "up to six bytes from the frame's first byte on, like `bytes 12 0800/ff00`. For these words "
      "the frame is read again, by rules that have such a condition and whose other conditions are "
      "met"},
     parse_bytes},
};

} // namespace

std::span<const RuleWord> outer_words() { return kOuter; }

} // namespace xr::impair
