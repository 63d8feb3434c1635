// SPDX-License-Identifier: Apache-2.0
// Words for the packets that a rule matches.
#include <arpa/inet.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "impair/keywords.h"

#include "impair/opcodes.h"
#include "parse/address.h"
#include "parse/value.h"
#include <algorithm>

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint32_t kMost24 = 0xffffff;
constexpr uint32_t kMostVlan = 4095;
constexpr uint32_t kLongestFrame = UINT32_MAX - 1; // UINT32_MAX: unlimited

// src or dst: they differ in their tables only.
struct End {
  int table;
  roce_prefix roce_rule::*prefix;
  roce_rule_check check, check_not;
};
constexpr End kSrcEnd = {kSrc, &roce_rule::src, ROCE_CHECK_SRC, ROCE_CHECK_NOT_SRC};
constexpr End kDstEnd = {kDst, &roce_rule::dst, ROCE_CHECK_DST, ROCE_CHECK_NOT_DST};

// The tables decide IPv4 prefixes alone: only the byte in which the prefix ends has several values.
void narrow_to(Draft &draft, const Prefix &prefix, const End &end) {
  const roce_prefix &p = draft.rule.compiled.*end.prefix;
  draft.tables().family &= prefix.ipv4 ? 2 : 1;
  const uint32_t address = ntohl(p.address[3]), mask = ntohl(p.mask[3]);
  for (unsigned i = 0; i < 4; i++) {
    const unsigned shift = 24 - 8 * i;
    const uint32_t from = address >> shift & 255, to = from | (~mask >> shift & 255);
    draft.bytes(end.table + static_cast<int>(i)) &= cover(from, to, 0);
  }
}

Status parse_end(Draft &draft, WordReader &words, Slot slot, const End &end) {
  const auto parsed = prefix(words.take());
  if (!parsed)
    return parsed.error();
  const Prefix &p = parsed.get();
  if (draft.negated && p.holds_mapped() && !p.whole())
    return Error{
        fmt::format("'{}' after not: IPv4 addresses are in it, as ::ffff:0:0/96", p.text()),
        "not ::/0 is IPv4; two rules can say the rest"};
  draft.only_roce();
  draft.rule.compiled.*end.prefix = p.compiled();
  if (p.whole())
    draft.tables().family &= p.ipv4 != draft.negated ? 2 : 1;
  else if (!draft.negated)
    narrow_to(draft, p, end);
  if (!p.whole() && (draft.negated || !p.ipv4))
    draft.check(end.check, end.check_not);
  draft.say_match(slot, fmt::format("{} {}", slot == Slot::Src ? "src" : "dst", p.text()));
  return {};
}

Status parse_src(Draft &d, WordReader &w) { return parse_end(d, w, Slot::Src, kSrcEnd); }
Status parse_dst(Draft &d, WordReader &w) { return parse_end(d, w, Slot::Dst, kDstEnd); }

Status parse_dest_qp(Draft &draft, WordReader &words) {
  roce_rule &rule = draft.rule.compiled;
  if (draft.keyword[static_cast<size_t>(Slot::Event)] == "qp")
    return Error{"there is qp already", "qp 0x... psn ... has both conditions"};
  std::vector<std::string> texts;
  std::array<Bytes, 3> bytes;
  for (const std::string &part : parts(words.take())) {
    const auto one = range(part, 0, kMost24, "a QPN");
    if (!one)
      return one.error();
    if (rule.qps == ROCE_RULE_RANGES)
      return Error{fmt::format("'{}' is the ninth, eight are possible", part),
                   "another rule can have the rest"};
    rule.qp[rule.qps++] = one.get();
    for (unsigned i = 0; i < 3; i++)
      bytes[i] |= cover(one.get().from, one.get().to, 16 - 8 * i);
    texts.push_back(hex_range_text(one.get()));
  }
  draft.only_roce();
  for (size_t i = 0; i < 3; i++)
    draft.narrow_checked(kQp + static_cast<int>(i), bytes[i]);
  if (draft.negated || rule.qps > 1 || rule.qp[0].from != rule.qp[0].to)
    draft.check(ROCE_CHECK_QP, ROCE_CHECK_NOT_QP);
  draft.say_match(Slot::DestQp, fmt::format("dest-qp {}", fmt::join(texts, ",")));
  return {};
}

// transport and opcode: the table decides alone.
Status parse_packets(Draft &draft, WordReader &words, Slot slot, const char *keyword,
                     Result<Packets> (*packets)(const std::string &)) {
  What what;
  std::vector<std::string> texts;
  for (const std::string &part : parts(words.take())) {
    const auto one = packets(part);
    if (!one)
      return one.error();
    what |= one.get().what;
    texts.push_back(one.get().text);
  }
  draft.tables().what &= draft.negated ? ~what : what;
  draft.only_roce();
  draft.say_match(slot, fmt::format("{} {}", keyword, fmt::join(texts, ",")));
  return {};
}

Status parse_transport(Draft &draft, WordReader &words) {
  return parse_packets(draft, words, Slot::Transport, "transport", transport_packets);
}

Status parse_opcode(Draft &draft, WordReader &words) {
  return parse_packets(draft, words, Slot::Opcode, "opcode", opcode_packets);
}

Status parse_psn(Draft &draft, WordReader &words) {
  const std::string word = words.take();
  if (word.starts_with('+'))
    return parse_psn_offset(draft, word.substr(1), words);
  const auto psn = range(word, 0, kMost24, "a PSN", Order::Wraps);
  if (!psn)
    return psn.error();
  const roce_range &r = draft.rule.compiled.psn = psn.get();
  const uint64_t to = r.to < r.from ? uint64_t{r.to} + kMost24 + 1 : r.to;
  draft.only_roce();
  draft.narrow_checked(kPsn, cover(r.from, to, 16));
  draft.narrow_checked(kPsn + 1, cover(r.from, to, 8));
  draft.check(ROCE_CHECK_PSN, ROCE_CHECK_NOT_PSN);
  draft.say_match(Slot::Psn, fmt::format("psn {}", range_text(r)));
  return {};
}

Status parse_ecn(Draft &draft, WordReader &words) {
  constexpr std::array<unsigned, 5> kPoints = {1U << 0, 1U << 2, 1U << 1, 1U << 1 | 1U << 2,
                                               1U << 3}; // one bit per codepoint
  const std::vector<std::string_view> names = {"not-ect", "ect0", "ect1", "ect", "ce"};
  unsigned points = 0;
  std::vector<std::string_view> texts;
  for (const std::string &part : parts(words.take())) {
    const auto at = choice(part, names, "an ECN codepoint");
    if (!at)
      return at.error();
    points |= kPoints[at.get()];
    texts.push_back(names[at.get()]);
  }
  Bytes tos;
  for (unsigned i = 0; i < 256; i++)
    tos[i] = points >> (i & 3) & 1;
  draft.only_roce();
  draft.narrow(kTos, tos);
  draft.say_match(Slot::Ecn, fmt::format("ecn {}", fmt::join(texts, ",")));
  return {};
}

Status parse_dscp(Draft &draft, WordReader &words) {
  constexpr uint32_t kMostDscp = 63;
  Bytes tos;
  std::vector<std::string> texts;
  for (const std::string &part : parts(words.take())) {
    const auto dscp = range(part, 0, kMostDscp, "a DSCP");
    if (!dscp)
      return dscp.error();
    tos |= cover(dscp.get().from << 2, dscp.get().to << 2 | 3, 0);
    texts.push_back(range_text(dscp.get()));
  }
  draft.only_roce();
  draft.narrow(kTos, tos);
  draft.say_match(Slot::Dscp, fmt::format("dscp {}", fmt::join(texts, ",")));
  return {};
}

// Frames with or without a tag: the tables decide alone.
void only_tagged(Draft &draft, bool tagged) {
  draft.bytes(tagged ? kVlan : kVlan + 1).reset();
  draft.say(Slot::Vlan, tagged ? "vlan any" : "vlan none");
}

Status parse_vlan(Draft &draft, WordReader &words) {
  const std::string word = words.take(), name = lower(word);
  if (name == "any" || name == "none") {
    only_tagged(draft, (name == "any") != draft.negated);
    return {};
  }
  const auto vlan = range(word, 0, kMostVlan, "a VLAN ID");
  if (!vlan)
    return Error{vlan.error().message + ", and not any or none", vlan.error().hint};
  const roce_range &r = draft.rule.compiled.vlan = vlan.get();
  draft.narrow_checked(kVlan, {});
  draft.narrow_checked(kVlan + 1, cover(r.from, r.to, 0));
  draft.check(ROCE_CHECK_VLAN, ROCE_CHECK_NOT_VLAN);
  draft.say_match(Slot::Vlan, fmt::format("vlan {}", range_text(r)));
  return {};
}

Status parse_size(Draft &draft, WordReader &words) {
  const std::string word = words.take();
  roce_range &size = draft.rule.compiled.size;
  const bool open = word.ends_with('-') && word.size() > 1;
  const auto bytes =
      range(open ? word.substr(0, word.size() - 1) : word, 0, kLongestFrame, "a number of bytes");
  if (!bytes)
    return bytes.error();
  size = {bytes.get().from, open ? UINT32_MAX : bytes.get().to};
  const uint64_t first = std::min<uint64_t>(size.from >> ROCE_SIZE_SHIFT, 255);
  const uint64_t last = std::min<uint64_t>(size.to >> ROCE_SIZE_SHIFT, 255);
  draft.narrow_checked(kSize, cover(first, last, 0));
  draft.check(ROCE_CHECK_SIZE, ROCE_CHECK_NOT_SIZE);
  draft.say_match(Slot::Size, open ? fmt::format("size {}-", size.from)
                                   : fmt::format("size {}", range_text(size)));
  return {};
}

Status only_frames(Draft &draft, bool roce) {
  draft.tables().what &= roce ? ~not_roce() : not_roce();
  draft.say(Slot::Roce, roce ? "roce" : "non-roce");
  return {};
}

Status parse_roce(Draft &draft, WordReader &) { return only_frames(draft, !draft.negated); }
Status parse_non_roce(Draft &draft, WordReader &) { return only_frames(draft, draft.negated); }

Status only_family(Draft &draft, bool ipv4) {
  draft.only_roce();
  draft.tables().family &= ipv4 ? 2 : 1;
  draft.say(Slot::Family, ipv4 ? "ipv4" : "ipv6");
  return {};
}

Status parse_ipv4(Draft &draft, WordReader &) { return only_family(draft, !draft.negated); }
Status parse_ipv6(Draft &draft, WordReader &) { return only_family(draft, draft.negated); }

// A field within a byte of the BTH: the table of that byte decides alone.
struct Field {
  const char *name;
  Slot slot;
  int table;
  unsigned shift, bits;
};
constexpr Field kFields[] = {
    {"se", Slot::Se, kBthFlags, 7, 1},         {"migreq", Slot::MigReq, kBthFlags, 6, 1},
    {"padcnt", Slot::PadCnt, kBthFlags, 4, 2}, {"tver", Slot::TVer, kBthFlags, 0, 4},
    {"fecn", Slot::Fecn, kBthMarks, 7, 1},     {"becn", Slot::Becn, kBthMarks, 6, 1},
    {"resv6", Slot::Resv6, kBthMarks, 0, 6},   {"ack-req", Slot::AckReq, kBthAck, 7, 1},
    {"resv7", Slot::Resv7, kBthAck, 0, 7},
};

// The values of the byte whose field has one of the listed values.
Result<Bytes> field_bytes(const Field &field, WordReader &words, std::vector<std::string> &texts) {
  const uint32_t most = (1U << field.bits) - 1;
  Bytes bytes;
  for (const std::string &part : parts(words.take())) {
    auto values = range(part, 0, most, "a value of this field");
    if (!values)
      return values.error();
    for (unsigned byte = 0; byte < 256; byte++) {
      const uint32_t value = byte >> field.shift & most;
      if (value >= values->from && value <= values->to)
        bytes.set(byte);
    }
    texts.push_back(range_text(values.get()));
  }
  return bytes;
}

// A packet with TVer other than 0 is classified as ROCE_WHAT_VERSION, not as RoCE.
void keep_versions(Draft &draft) {
  bool zero = false, others = false;
  for (unsigned byte = 0; byte < 256; byte++)
    if (draft.bytes(kBthFlags)[byte])
      (byte & 15 ? others : zero) = true;
  What &what = draft.tables().what;
  what.reset(ROCE_WHAT_OTHER);
  if (!others)
    what.reset(ROCE_WHAT_VERSION);
  if (!zero)
    what &= What().set(ROCE_WHAT_VERSION);
}

template <size_t index> Status parse_field(Draft &draft, WordReader &words) {
  constexpr const Field &kField = kFields[index];
  std::vector<std::string> texts;
  const auto bytes = field_bytes(kField, words, texts);
  if (!bytes)
    return bytes.error();
  draft.narrow(kField.table, bytes.get());
  if (kField.slot == Slot::TVer)
    keep_versions(draft);
  else
    draft.only_roce();
  draft.say_match(kField.slot, fmt::format("{} {}", kField.name, fmt::join(texts, ",")));
  return {};
}

Status parse_pkey(Draft &draft, WordReader &words) {
  constexpr uint32_t kMostPkey = 0xffff;
  const auto pkey = range(words.take(), 0, kMostPkey, "a P_Key");
  if (!pkey)
    return pkey.error();
  const roce_range &r = draft.rule.compiled.pkey = pkey.get();
  draft.only_roce();
  for (int i = 0; i < 2; i++)
    draft.narrow_checked(kPkey + i, cover(r.from, r.to, 8 - 8 * static_cast<unsigned>(i)));
  if (draft.negated || r.from != r.to)
    draft.check(ROCE_CHECK_PKEY, ROCE_CHECK_NOT_PKEY);
  draft.say_match(Slot::Pkey, fmt::format("pkey {}", hex_range_text(r)));
  return {};
}

// To add a condition: rule.h (roce_rule_check, tables), match.h, a row here (a field inside BTH
// byte 1, 4 or 8: in kFields; of another header: include/roce/outer.h, outer.cpp), its Slot in
// draft.h, ruleset.cpp, taken.cpp (which rules leave others nothing), help in cli/impair.cpp,
// docs/rules.md; impair_parse_test, impair_ruleset_test, outer_test, tests/bpf.
constexpr Keyword kMatch[] = {
    {"src", Slot::Src, parse_src, "src PREFIX: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32"},
    {"dst", Slot::Dst, parse_dst, "dst PREFIX: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32"},
    {"dest-qp", Slot::DestQp, parse_dest_qp, "dest-qp 0x11,20-29: up to 8 QPNs and ranges"},
    {"transport", Slot::Transport, parse_transport, "transport rc,ud"},
    {"opcode", Slot::Opcode, parse_opcode, "opcode data,nak,RC_SEND_ONLY,0x04"},
    {"psn", Slot::Psn, parse_psn, "psn 100, psn 100-200 or psn +100 from the stream's first"},
    {"ecn", Slot::Ecn, parse_ecn, "ecn ect0,ce"},
    {"dscp", Slot::Dscp, parse_dscp, "dscp 26,40-47"},
    {"vlan", Slot::Vlan, parse_vlan, "vlan 5, vlan 5-9, vlan any or vlan none"},
    {"size", Slot::Size, parse_size, "size 64, size 64-1500 or size 1500-"},
    {"roce", Slot::Roce, parse_roce, "roce"},
    {"non-roce", Slot::Roce, parse_non_roce, "non-roce"},
    {"ipv4", Slot::Family, parse_ipv4, "ipv4"},
    {"ipv6", Slot::Family, parse_ipv6, "ipv6"},
    {"se", Slot::Se, parse_field<0>, "se 1"},
    {"migreq", Slot::MigReq, parse_field<1>, "migreq 0"},
    {"padcnt", Slot::PadCnt, parse_field<2>, "padcnt 1-3"},
    {"tver", Slot::TVer, parse_field<3>, "tver 1-15"},
    {"fecn", Slot::Fecn, parse_field<4>, "fecn 1"},
    {"becn", Slot::Becn, parse_field<5>, "becn 1"},
    {"resv6", Slot::Resv6, parse_field<6>, "resv6 0x10"},
    {"ack-req", Slot::AckReq, parse_field<7>, "ack-req 1"},
    {"resv7", Slot::Resv7, parse_field<8>, "resv7 1-127"},
    {"pkey", Slot::Pkey, parse_pkey, "pkey 0xffff or pkey 0x8000-0x8fff"},
    {"src-mac", Slot::SrcMac, parse_src_mac, "src-mac 02:00:00:00:00:01[/BITS or /MASK]"},
    {"dst-mac", Slot::DstMac, parse_dst_mac, "dst-mac 02:00:00:00:00:01[/BITS or /MASK]"},
    {"pcp", Slot::Pcp, parse_pcp, "pcp 3,5-7, of the outer tag"},
    {"inner-vlan", Slot::InnerVlan, parse_inner_vlan, "inner-vlan 5 or inner-vlan 5-9"},
    {"mpls", Slot::Mpls, parse_mpls, "mpls 16 or mpls 16-31: the first label"},
    {"src-port", Slot::SrcPort, parse_src_port, "src-port 80 or src-port 1024-65535"},
    {"dst-port", Slot::DstPort, parse_dst_port, "dst-port 80 or dst-port 1024-65535"},
    {"roce-version", Slot::RoceVersion, parse_roce_version, "roce-version 1"},
    {"bytes", Slot::RawBytes, parse_bytes, "bytes OFFSET HEX[/MASK], like bytes 12 0800/ff00"},
};

} // namespace

std::span<const Keyword> match_words() { return kMatch; }

} // namespace xr::impair
