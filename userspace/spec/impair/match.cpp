// SPDX-License-Identifier: Apache-2.0
// Words for the packets that a rule matches.
#include <algorithm>

#include <fmt/format.h>

#include "impair/draft.h"
#include "impair/fields.h"
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
  if (draft.taken.by(kEvent) == "qp")
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
// spec.h, compile_match.cpp, ruleset.cpp, taken.cpp (which rules leave others nothing);
// impair_parse_test, impair_ruleset_test, outer_test, tests/bpf.
constexpr RuleWord kMatch[] = {
    {{"src", "", "src PREFIX: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32", "PREFIX"}, parse_src},
    {{"dst", "", "dst PREFIX: 192.0.2.1, 192.0.2.0/24, 2001:db8::/32", "PREFIX"}, parse_dst},
    {{"dest-qp", "", "dest-qp 0x11,20-29: up to 8 QPNs and ranges", "LIST"}, parse_dest_qp},
    {{"transport", "", "transport rc,ud", "LIST"}, parse_transport},
    {{"opcode", "", "opcode data,nak,RC_SEND_ONLY,0x04", "LIST",
      "names, 0x04, `data ack nak rnr-nak cnp read atomic cm`"},
     parse_opcode},
    {{"psn", "", "psn 100, psn 100-200 or psn +100 from the stream's first", "A-B"}, parse_psn},
    {{"ecn", "", "ecn ect0,ce", "LIST"}, parse_ecn},
    {{"dscp", "", "dscp 26,40-47", "LIST"}, parse_dscp},
    {{"vlan", "", "vlan 5, vlan 5-9, vlan any or vlan none", "ID|any|none"}, parse_vlan},
    {{"size", "", "size 64, size 64-1500 or size 1500-", "A-B"}, parse_size},
    {{"roce", "", "roce", ""}, parse_roce},
    {{"non-roce", "roce", "non-roce", ""}, parse_non_roce},
    {{"ipv4", "", "ipv4", ""}, parse_ipv4},
    {{"ipv6", "ipv4", "ipv6", ""}, parse_ipv6},
};

constexpr RuleWord kBthMatch[] = {
    {{"se", "", "se 1", "0|1"}, parse_bits<0>},
    {{"migreq", "", "migreq 0", "0|1"}, parse_bits<1>},
    {{"padcnt", "", "padcnt 1-3", "LIST"}, parse_bits<2>},
    {{"tver", "", "tver 1-15", "LIST",
      "values above 0 also match frames that are malformed only because of their TVer"},
     parse_bits<3>},
    {{"fecn", "", "fecn 1", "0|1"}, parse_bits<4>},
    {{"becn", "", "becn 1", "0|1"}, parse_bits<5>},
    {{"resv6", "", "resv6 0x10", "LIST", "next to BECN"}, parse_bits<6>},
    {{"ack-req", "", "ack-req 1", "0|1"}, parse_bits<7>},
    {{"resv7", "", "resv7 1-127", "LIST", "next to AckReq"}, parse_bits<8>},
    {{"pkey", "", "pkey 0xffff or pkey 0x8000-0x8fff", "A-B"}, parse_pkey},
};

} // namespace

std::span<const RuleWord> match_words() { return kMatch; }
std::span<const RuleWord> bth_match_words() { return kBthMatch; }

} // namespace xr::impair
