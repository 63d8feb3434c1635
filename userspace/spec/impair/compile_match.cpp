// SPDX-License-Identifier: Apache-2.0
// The conditions of a rule as the datapath has them: tables of bytes, and checks of what tables
// cannot decide.
#include <algorithm>

#include <arpa/inet.h>

#include "impair/compile.h"
#include "impair/fields.h"
#include "impair/mac.h"
#include "impair/opcodes.h"

namespace xr::impair {

namespace {

// src or dst: they differ in their tables only.
struct End {
  int table;
  roce_prefix roce_rule::*prefix;
  roce_rule_check check, check_not;
};
constexpr End kSrcEnd = {kSrc, &roce_rule::src, ROCE_CHECK_SRC, ROCE_CHECK_NOT_SRC};
constexpr End kDstEnd = {kDst, &roce_rule::dst, ROCE_CHECK_DST, ROCE_CHECK_NOT_DST};

class Matches {
public:
  explicit Matches(Rule &rule) : rule_(rule.compiled), tables_(rule.tables) {}

  void add(Field field, const Condition &condition) {
    negated_ = condition.negated;
    switch (field) {
    case Field::Src:
      return prefix(std::get<parse::Prefix>(condition.is), kSrcEnd);
    case Field::Dst:
      return prefix(std::get<parse::Prefix>(condition.is), kDstEnd);
    case Field::DestQp:
      return qps(std::get<Condition::Ranges>(condition.is));
    case Field::Transport:
      return packets(std::get<Condition::Names>(condition.is), transport_packets);
    case Field::Opcode:
      return packets(std::get<Condition::Names>(condition.is), opcode_packets);
    case Field::Psn:
      return psn(std::get<Condition::Ranges>(condition.is)[0]);
    case Field::Ecn:
      return ecn(std::get<Condition::Names>(condition.is));
    case Field::Dscp:
      return dscp(std::get<Condition::Ranges>(condition.is));
    case Field::Vlan:
      return vlan(condition);
    case Field::Size:
      return size(std::get<Condition::Ranges>(condition.is)[0]);
    case Field::Roce:
      tables_.what &= std::get<bool>(condition.is) ? ~not_roce() : not_roce();
      return;
    case Field::Family:
      only_roce();
      tables_.family &= std::get<bool>(condition.is) ? 2 : 1;
      return;
    case Field::Pkey:
      return pkey(std::get<Condition::Ranges>(condition.is)[0]);
    default:
      if (const auto *ranges = std::get_if<Condition::Ranges>(&condition.is))
        return field_of_bth(field, *ranges) ? void() : outer(field, *ranges);
      return raw(field, condition);
    }
  }

  void add(const EventSpec &event) {
    rule_.checks |= ROCE_CHECK_EVENT;
    rule_.event.iteration = event.iteration;
    rule_.event.packet = event.packet;
    rule_.event.qp_number = event.by_number && !event.of_each_stream ? event.qp : ROCE_QP_BY_NUMBER;
    if (!event.by_number && !event.of_each_stream) {
      rule_.qps = 1;
      rule_.qp[0] = {event.qp, event.qp};
      for (unsigned i = 0; i < 3; i++)
        bytes(kQp + static_cast<int>(i)) &= cover(event.qp, event.qp, 16 - 8 * i);
    }
    if (event.packet != EventSpec::kAllPackets)
      bytes(kPacket) &= cover(event.packet.from, event.packet.to, 0);
    only_roce();
  }

private:
  Bytes &bytes(int table) { return tables_.bytes[static_cast<size_t>(table)]; }
  // For matches on fields that only RoCE frames have.
  void only_roce() { tables_.what &= ~not_roce(); }
  // For conditions that the table decides alone.
  void narrow(int table, const Bytes &to) { bytes(table) &= negated_ ? ~to : to; }
  // For conditions that the datapath checks again: the table is a first filter, unusable for a
  // negated condition.
  void narrow_checked(int table, const Bytes &to) {
    if (!negated_)
      bytes(table) &= to;
  }
  void check(roce_rule_check plain, roce_rule_check negation) {
    rule_.checks |= static_cast<uint32_t>(negated_ ? negation : plain);
  }

  // The tables decide IPv4 prefixes alone: only the byte in which the prefix ends has several
  // values.
  void narrow_to(const parse::Prefix &prefix, const End &end) {
    const roce_prefix &p = rule_.*end.prefix;
    tables_.family &= prefix.ipv4 ? 2 : 1;
    const uint32_t address = ntohl(p.address[3]), mask = ntohl(p.mask[3]);
    for (unsigned i = 0; i < 4; i++) {
      const unsigned shift = 24 - 8 * i;
      const uint32_t from = address >> shift & 255, to = from | (~mask >> shift & 255);
      bytes(end.table + static_cast<int>(i)) &= cover(from, to, 0);
    }
  }

  void prefix(const parse::Prefix &p, const End &end) {
    only_roce();
    rule_.*end.prefix = p.compiled();
    if (p.whole())
      tables_.family &= p.ipv4 != negated_ ? 2 : 1;
    else if (!negated_)
      narrow_to(p, end);
    if (!p.whole() && (negated_ || !p.ipv4))
      check(end.check, end.check_not);
  }

  void qps(const Condition::Ranges &list) {
    std::array<Bytes, 3> seen;
    for (const roce_range &range : list) {
      rule_.qp[rule_.qps++] = range;
      for (unsigned i = 0; i < 3; i++)
        seen[i] |= cover(range.from, range.to, 16 - 8 * i);
    }
    only_roce();
    for (size_t i = 0; i < 3; i++)
      narrow_checked(kQp + static_cast<int>(i), seen[i]);
    if (negated_ || rule_.qps > 1 || rule_.qp[0].from != rule_.qp[0].to)
      check(ROCE_CHECK_QP, ROCE_CHECK_NOT_QP);
  }

  // transport and opcode: the table decides alone.
  void packets(const Condition::Names &names, Result<Packets> (*of)(const std::string &)) {
    What what;
    for (const std::string &name : names)
      if (const auto named = of(name))
        what |= named.get().what;
    tables_.what &= negated_ ? ~what : what;
    only_roce();
  }

  void psn(const roce_range &r) {
    rule_.psn = r;
    const uint64_t to = r.to < r.from ? uint64_t{r.to} + kMost24 + 1 : r.to;
    only_roce();
    narrow_checked(kPsn, cover(r.from, to, 16));
    narrow_checked(kPsn + 1, cover(r.from, to, 8));
    check(ROCE_CHECK_PSN, ROCE_CHECK_NOT_PSN);
  }

  void ecn(const Condition::Names &names) {
    constexpr std::array<unsigned, 5> kPoints = {1U << 0, 1U << 2, 1U << 1, 1U << 1 | 1U << 2,
                                                 1U << 3}; // one bit per codepoint
    unsigned points = 0;
    for (const std::string &name : names)
      points |=
          kPoints[static_cast<size_t>(std::ranges::find(ecn_names(), name) - ecn_names().begin())];
    Bytes tos;
    for (unsigned i = 0; i < 256; i++)
      tos[i] = points >> (i & 3) & 1;
    only_roce();
    narrow(kTos, tos);
  }

  void dscp(const Condition::Ranges &list) {
    Bytes tos;
    for (const roce_range &item : list)
      tos |= cover(item.from << 2, item.to << 2 | 3, 0);
    only_roce();
    narrow(kTos, tos);
  }

  // With or without a tag: the tables decide alone.
  void vlan(const Condition &condition) {
    if (const bool *any = std::get_if<bool>(&condition.is)) {
      bytes(*any ? kVlan : kVlan + 1).reset();
      return;
    }
    rule_.vlan = std::get<Condition::Ranges>(condition.is)[0];
    narrow_checked(kVlan, {});
    narrow_checked(kVlan + 1, cover(rule_.vlan.from, rule_.vlan.to, 0));
    check(ROCE_CHECK_VLAN, ROCE_CHECK_NOT_VLAN);
  }

  void size(const roce_range &r) {
    rule_.size = r;
    const uint64_t first = std::min<uint64_t>(r.from >> ROCE_SIZE_SHIFT, 255);
    const uint64_t last = std::min<uint64_t>(r.to >> ROCE_SIZE_SHIFT, 255);
    narrow_checked(kSize, cover(first, last, 0));
    check(ROCE_CHECK_SIZE, ROCE_CHECK_NOT_SIZE);
  }

  void pkey(const roce_range &r) {
    rule_.pkey = r;
    only_roce();
    for (int i = 0; i < 2; i++)
      narrow_checked(kPkey + i, cover(r.from, r.to, 8 - 8 * static_cast<unsigned>(i)));
    if (negated_ || r.from != r.to)
      check(ROCE_CHECK_PKEY, ROCE_CHECK_NOT_PKEY);
  }

  // false: it is none.
  bool field_of_bth(Field field, const Condition::Ranges &list) {
    const auto found = std::ranges::find(bth_fields(), field, &BthField::field);
    if (found == bth_fields().end())
      return false;
    const uint32_t most = (1U << found->bits) - 1;
    Bytes values;
    for (unsigned byte = 0; byte < 256; byte++)
      values[byte] = std::ranges::any_of(list, [&](const roce_range &entry) {
        const uint32_t value = byte >> found->shift & most;
        return value >= entry.from && value <= entry.to;
      });
    narrow(found->table, values);
    if (field == Field::TVer)
      keep_versions();
    else
      only_roce();
    return true;
  }

  // A packet with TVer other than 0 is classified as ROCE_WHAT_VERSION, not as RoCE.
  void keep_versions() {
    bool zero = false, others = false;
    for (unsigned byte = 0; byte < 256; byte++)
      if (bytes(kBthFlags)[byte])
        (byte & 15 ? others : zero) = true;
    What &what = tables_.what;
    what.reset(ROCE_WHAT_OTHER);
    if (!others)
      what.reset(ROCE_WHAT_VERSION);
    if (!zero)
      what &= What().set(ROCE_WHAT_VERSION);
  }

  // Conditions that read the frame again.
  void use(uint32_t field) {
    rule_.checks |= ROCE_CHECK_OUTER;
    rule_.outer.used |= field;
    if (negated_)
      rule_.outer.inverted |= field;
  }

  void outer(Field field, const Condition::Ranges &list) {
    roce_outer_match &outer = rule_.outer;
    switch (field) {
    case Field::Pcp:
      return pcp(list);
    case Field::InnerVlan:
      outer.inner_vlan = list[0];
      return use(ROCE_OUTER_INNER_VLAN);
    case Field::Mpls:
      outer.mpls = list[0];
      return use(ROCE_OUTER_MPLS);
    case Field::SrcPort:
      outer.src_port = list[0];
      return use(ROCE_OUTER_SRC_PORT);
    case Field::DstPort:
      outer.dst_port = list[0];
      return use(ROCE_OUTER_DST_PORT);
    default: // the version
      outer.version = list[0].from;
      only_roce();
      return use(ROCE_OUTER_VERSION);
    }
  }

  // An untagged frame has none.
  void pcp(const Condition::Ranges &list) {
    constexpr uint32_t kAll = (1U << (ROCE_PCP_NONE + 1)) - 1;
    uint32_t pcps = 0;
    for (const roce_range &one : list)
      for (uint32_t i = one.from; i <= one.to; i++)
        pcps |= 1U << i;
    rule_.checks |= ROCE_CHECK_OUTER;
    rule_.outer.used |= ROCE_OUTER_PCP;
    rule_.outer.pcps = negated_ ? kAll & ~pcps : pcps;
  }

  void raw(Field field, const Condition &condition) {
    if (const auto *mac = std::get_if<Mac>(&condition.is)) {
      const bool src = field == Field::SrcMac;
      const unsigned which = src ? ROCE_RAW_SRC_MAC : ROCE_RAW_DST_MAC;
      rule_.outer.raw[which] = {mac->value, mac->mask, src ? kMacBytes : 0, kMacBytes};
      return use(1U << which);
    }
    const auto &given = std::get<RawBytes>(condition.is);
    const unsigned shift = 8 * (ROCE_RAW_BYTES - given.length);
    rule_.outer.raw[ROCE_RAW_ANY] = {given.value << shift, given.mask << shift, given.offset,
                                     given.length};
    use(ROCE_OUTER_BYTES);
  }

  roce_rule &rule_;
  Tables &tables_;
  bool negated_ = false;
};

} // namespace

void compile_match(const RuleSpec &spec, Rule &to) {
  Matches matches(to);
  for (const auto &[field, condition] : spec.match)
    matches.add(field, condition);
  if (spec.event)
    matches.add(*spec.event);
}

} // namespace xr::impair
