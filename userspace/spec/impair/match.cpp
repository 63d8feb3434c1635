// SPDX-License-Identifier: Apache-2.0
// Words for the packets that a rule matches.
#include <algorithm>

#include <fmt/format.h>

#include "impair/fields.h"
#include "impair/keywords.h"
#include "impair/opcodes.h"
#include "parse/address.h"
#include "parse/value.h"

namespace xr::impair {

using namespace parse;

namespace {

constexpr uint32_t kMostVlan = 4095;
constexpr uint32_t kLongestFrame = UINT32_MAX - 1; // UINT32_MAX: unlimited

Status parse_end(Draft &draft, WordReader &words, Field end) {
  const auto p = XR_TRY(prefix(words.take()));
  if (draft.negated && p.holds_mapped() && !p.whole())
    return Error{
        fmt::format("'{}' after not: IPv4 addresses are in it, as ::ffff:0:0/96", p.text()),
        "not ::/0 is IPv4; two rules can say the rest"};
  draft.match(end, p);
  return {};
}

Status parse_src(Draft &d, WordReader &w) { return parse_end(d, w, Field::Src); }
Status parse_dst(Draft &d, WordReader &w) { return parse_end(d, w, Field::Dst); }

Status parse_dest_qp(Draft &draft, WordReader &words) {
  if (draft.keyword[static_cast<size_t>(Slot::Event)] == "qp")
    return Error{"there is qp already", "qp 0x... psn ... has both conditions"};
  Condition::Ranges qps;
  for (const std::string &part : parts(words.take())) {
    const auto qp = XR_TRY(range(part, 0, kMost24, "a QPN"));
    if (qps.size() == ROCE_RULE_RANGES)
      return Error{fmt::format("'{}' is the ninth, eight are possible", part),
                   "another rule can have the rest"};
    qps.push_back(qp);
  }
  draft.match(Field::DestQp, std::move(qps));
  return {};
}

Status parse_packets(Draft &draft, WordReader &words, Field field,
                     Result<Packets> (*packets)(const std::string &)) {
  Condition::Names names;
  for (const std::string &part : parts(words.take()))
    names.push_back(XR_TRY(packets(part)).text);
  draft.match(field, std::move(names));
  return {};
}

Status parse_transport(Draft &draft, WordReader &words) {
  return parse_packets(draft, words, Field::Transport, transport_packets);
}

Status parse_opcode(Draft &draft, WordReader &words) {
  return parse_packets(draft, words, Field::Opcode, opcode_packets);
}

Status parse_psn(Draft &draft, WordReader &words) {
  const std::string word = words.take();
  if (word.starts_with('+'))
    return parse_psn_offset(draft, word.substr(1), words);
  draft.match(Field::Psn,
              Condition::Ranges{XR_TRY(range(word, 0, kMost24, "a PSN", Order::Wraps))});
  return {};
}

Status parse_ecn(Draft &draft, WordReader &words) {
  Condition::Names names;
  for (const std::string &part : parts(words.take()))
    names.emplace_back(ecn_names()[XR_TRY(choice(part, ecn_names(), "an ECN codepoint"))]);
  draft.match(Field::Ecn, std::move(names));
  return {};
}

// `what`: what each value is.
Status parse_list(Draft &draft, WordReader &words, Field field, uint32_t most, const char *what) {
  Condition::Ranges ranges;
  for (const std::string &part : parts(words.take()))
    ranges.push_back(XR_TRY(range(part, 0, most, what)));
  draft.match(field, std::move(ranges));
  return {};
}

Status parse_dscp(Draft &draft, WordReader &words) {
  return parse_list(draft, words, Field::Dscp, 63, "a DSCP");
}

Status parse_flag(Draft &draft, Field field, bool is) {
  draft.match(field, is != draft.negated);
  draft.spec.match[field].negated = false;
  return {};
}

Status parse_vlan(Draft &draft, WordReader &words) {
  const std::string word = words.take(), name = lower(word);
  if (name == "any" || name == "none")
    return parse_flag(draft, Field::Vlan, name == "any");
  const auto vlan = range(word, 0, kMostVlan, "a VLAN ID");
  if (!vlan)
    return Error{vlan.error().message + ", and not any or none", vlan.error().hint};
  draft.match(Field::Vlan, Condition::Ranges{vlan.get()});
  return {};
}

Status parse_size(Draft &draft, WordReader &words) {
  const std::string word = words.take();
  const bool open = word.ends_with('-') && word.size() > 1;
  auto bytes = XR_TRY(
      range(open ? word.substr(0, word.size() - 1) : word, 0, kLongestFrame, "a number of bytes"));
  if (open)
    bytes.to = UINT32_MAX;
  draft.match(Field::Size, Condition::Ranges{bytes});
  return {};
}

Status parse_roce(Draft &draft, WordReader &) { return parse_flag(draft, Field::Roce, true); }
Status parse_non_roce(Draft &draft, WordReader &) { return parse_flag(draft, Field::Roce, false); }
Status parse_ipv4(Draft &draft, WordReader &) { return parse_flag(draft, Field::Family, true); }
Status parse_ipv6(Draft &draft, WordReader &) { return parse_flag(draft, Field::Family, false); }

template <size_t index> Status parse_bits(Draft &draft, WordReader &words) {
  const BthField &field = bth_fields()[index];
  return parse_list(draft, words, field.field, (1U << field.bits) - 1, "a value of this field");
}

Status parse_pkey(Draft &draft, WordReader &words) {
  draft.match(Field::Pkey, Condition::Ranges{XR_TRY(range(words.take(), 0, 0xffff, "a P_Key"))});
  return {};
}

// To add a condition: rule.h (roce_rule_check, tables), match.h, a row here (a field inside BTH
// byte 1, 4 or 8: in fields.cpp; of another header: include/roce/outer.h, outer.cpp), its Field in
// spec.h, compile_match.cpp, spec_text.cpp, ruleset.cpp, taken.cpp (which rules leave others
// nothing), help in cli/impair.cpp, docs/rules.md; impair_parse_test, impair_ruleset_test,
// outer_test, tests/bpf.
constexpr Keyword kMatch[] = {
    {"src", slot_of(Field::Src), parse_src, "src PREFIX: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32"},
    {"dst", slot_of(Field::Dst), parse_dst, "dst PREFIX: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32"},
    {"dest-qp", slot_of(Field::DestQp), parse_dest_qp,
     "dest-qp 0x11,20-29: up to 8 QPNs and ranges"},
    {"transport", slot_of(Field::Transport), parse_transport, "transport rc,ud"},
    {"opcode", slot_of(Field::Opcode), parse_opcode, "opcode data,nak,RC_SEND_ONLY,0x04"},
    {"psn", slot_of(Field::Psn), parse_psn,
     "psn 100, psn 100-200 or psn +100 from the stream's first"},
    {"ecn", slot_of(Field::Ecn), parse_ecn, "ecn ect0,ce"},
    {"dscp", slot_of(Field::Dscp), parse_dscp, "dscp 26,40-47"},
    {"vlan", slot_of(Field::Vlan), parse_vlan, "vlan 5, vlan 5-9, vlan any or vlan none"},
    {"size", slot_of(Field::Size), parse_size, "size 64, size 64-1500 or size 1500-"},
    {"roce", slot_of(Field::Roce), parse_roce, "roce"},
    {"non-roce", slot_of(Field::Roce), parse_non_roce, "non-roce"},
    {"ipv4", slot_of(Field::Family), parse_ipv4, "ipv4"},
    {"ipv6", slot_of(Field::Family), parse_ipv6, "ipv6"},
    {"se", slot_of(Field::Se), parse_bits<0>, "se 1"},
    {"migreq", slot_of(Field::MigReq), parse_bits<1>, "migreq 0"},
    {"padcnt", slot_of(Field::PadCnt), parse_bits<2>, "padcnt 1-3"},
    {"tver", slot_of(Field::TVer), parse_bits<3>, "tver 1-15"},
    {"fecn", slot_of(Field::Fecn), parse_bits<4>, "fecn 1"},
    {"becn", slot_of(Field::Becn), parse_bits<5>, "becn 1"},
    {"resv6", slot_of(Field::Resv6), parse_bits<6>, "resv6 0x10"},
    {"ack-req", slot_of(Field::AckReq), parse_bits<7>, "ack-req 1"},
    {"resv7", slot_of(Field::Resv7), parse_bits<8>, "resv7 1-127"},
    {"pkey", slot_of(Field::Pkey), parse_pkey, "pkey 0xffff or pkey 0x8000-0x8fff"},
    {"src-mac", slot_of(Field::SrcMac), parse_src_mac, "src-mac 02:00:00:00:00:01[/BITS or /MASK]"},
    {"dst-mac", slot_of(Field::DstMac), parse_dst_mac, "dst-mac 02:00:00:00:00:01[/BITS or /MASK]"},
    {"pcp", slot_of(Field::Pcp), parse_pcp, "pcp 3,5-7, of the outer tag"},
    {"inner-vlan", slot_of(Field::InnerVlan), parse_inner_vlan, "inner-vlan 5 or inner-vlan 5-9"},
    {"mpls", slot_of(Field::Mpls), parse_mpls, "mpls 16 or mpls 16-31: the first label"},
    {"src-port", slot_of(Field::SrcPort), parse_src_port, "src-port 80 or src-port 1024-65535"},
    {"dst-port", slot_of(Field::DstPort), parse_dst_port, "dst-port 80 or dst-port 1024-65535"},
    {"roce-version", slot_of(Field::RoceVersion), parse_roce_version, "roce-version 1"},
    {"bytes", slot_of(Field::RawBytes), parse_bytes,
     "bytes OFFSET HEX[/MASK], like bytes 12 0800/ff00"},
};

} // namespace

std::span<const Keyword> match_words() { return kMatch; }

} // namespace xr::impair
