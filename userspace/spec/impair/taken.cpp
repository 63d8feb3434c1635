// SPDX-License-Identifier: Apache-2.0
#include "impair/taken.h"

#include <algorithm>
#include <bit>

namespace xr::impair {

namespace {

constexpr uint32_t kPsns = 0xffffff;

bool changes_bytes(const Rule *rule) {
  return rule->compiled.action.act &
         (ROCE_ACTS_CORRUPT | ROCE_ACTS_REWRITE | ROCE_ACT_CE | ROCE_ACT_RED | ROCE_ACT_POLICE);
}

bool inside(const roce_range &inner, const roce_range &outer) {
  return inner.from >= outer.from && inner.to <= outer.to;
}
bool apart(const roce_range &a, const roce_range &b) { return a.to < b.from || b.to < a.from; }

bool inside(const roce_prefix &inner, const roce_prefix &outer) {
  for (int i = 0; i < 4; i++)
    if (outer.mask[i] & ~inner.mask[i] || (inner.address[i] ^ outer.address[i]) & outer.mask[i])
      return false;
  return true;
}
bool apart(const roce_prefix &a, const roce_prefix &b) {
  for (int i = 0; i < 4; i++)
    if ((a.address[i] ^ b.address[i]) & a.mask[i] & b.mask[i])
      return true;
  return false;
}

// PSNs wrap: ranges as distances from the start of one of them.
struct PsnRange {
  roce_range range;
};
uint32_t span(const roce_range &psn) { return (psn.to - psn.from) & kPsns; }
bool inside(const PsnRange &inner, const PsnRange &outer) {
  const uint32_t begin = (inner.range.from - outer.range.from) & kPsns;
  return begin <= span(outer.range) && span(inner.range) <= span(outer.range) - begin;
}
bool apart(const PsnRange &a, const PsnRange &b) {
  return ((a.range.from - b.range.from) & kPsns) > span(b.range) &&
         ((b.range.from - a.range.from) & kPsns) > span(a.range);
}

using Qps = std::span<const roce_range>;
bool inside(const Qps &inner, const Qps &outer) {
  for (const roce_range &range : inner) {
    bool found = false;
    for (const roce_range &in : outer)
      found |= inside(range, in);
    if (!found)
      return false;
  }
  return true;
}
bool apart(const Qps &a, const Qps &b) {
  for (const roce_range &range : a)
    for (const roce_range &other : b)
      if (!apart(range, other))
        return false;
  return true;
}

enum class Condition : uint8_t { None, Is, IsNot };

// Whether all that meets `later` also meets `earlier`.
template <typename T>
bool implies(Condition later_has, const T &later, Condition earlier_has, const T &earlier) {
  if (earlier_has == Condition::None)
    return true;
  if (earlier_has == Condition::Is)
    return later_has == Condition::Is && inside(later, earlier);
  return (later_has == Condition::IsNot && inside(earlier, later)) ||
         (later_has == Condition::Is && apart(later, earlier));
}

// `also`: the condition is there although the tables decide it alone, and so has no check.
Condition condition(const Rule &rule, uint32_t is, uint32_t is_not, bool also = false) {
  if (rule.compiled.checks & is_not)
    return Condition::IsNot;
  return rule.compiled.checks & is || also ? Condition::Is : Condition::None;
}

bool has_prefix(const roce_prefix &prefix) {
  return prefix.mask[0] | prefix.mask[1] | prefix.mask[2] | prefix.mask[3];
}

template <size_t N> bool subset(const std::bitset<N> &inner, const std::bitset<N> &outer) {
  return (inner & ~outer).none();
}

bool tables_imply(const Tables &later, const Tables &earlier) {
  if (!subset(later.what, earlier.what) || !subset(later.family, earlier.family))
    return false;
  for (size_t t = 0; t < kTables; t++)
    if (!subset(later.bytes[t], earlier.bytes[t]))
      return false;
  return true;
}

// The tables have the family of an address; that of `earlier` needs no check if they decide it.
bool addresses_imply(const Rule &later, const Rule &earlier) {
  const auto item = [&](roce_prefix roce_rule::*end, uint32_t is, uint32_t is_not) {
    const roce_prefix &l = later.compiled.*end, &e = earlier.compiled.*end;
    return implies(condition(later, is, is_not, has_prefix(l)), l, condition(earlier, is, is_not),
                   e);
  };
  return item(&roce_rule::src, ROCE_CHECK_SRC, ROCE_CHECK_NOT_SRC) &&
         item(&roce_rule::dst, ROCE_CHECK_DST, ROCE_CHECK_NOT_DST);
}

Qps qps_of(const Rule &rule) { return {rule.compiled.qp, rule.compiled.qps}; }

bool fields_imply(const Rule &later, const Rule &earlier) {
  const roce_rule &l = later.compiled, &e = earlier.compiled;
  const auto both = [&](const auto &of_later, const auto &of_earlier, uint32_t is, uint32_t is_not,
                        bool also = false) {
    return implies(condition(later, is, is_not, also), of_later, condition(earlier, is, is_not),
                   of_earlier);
  };
  const bool one_pkey =
      later.tables.bytes[kPkey].count() == 1 && later.tables.bytes[kPkey + 1].count() == 1;
  return both(qps_of(later), qps_of(earlier), ROCE_CHECK_QP, ROCE_CHECK_NOT_QP, l.qps > 0) &&
         both(PsnRange{l.psn}, PsnRange{e.psn}, ROCE_CHECK_PSN, ROCE_CHECK_NOT_PSN) &&
         both(l.size, e.size, ROCE_CHECK_SIZE, ROCE_CHECK_NOT_SIZE) &&
         both(l.vlan, e.vlan, ROCE_CHECK_VLAN, ROCE_CHECK_NOT_VLAN) &&
         both(l.pkey, e.pkey, ROCE_CHECK_PKEY, ROCE_CHECK_NOT_PKEY, one_pkey);
}

bool event_implies(const Rule &later, const Rule &earlier) {
  if (!(earlier.compiled.checks & ROCE_CHECK_EVENT))
    return true;
  const roce_event_match &l = later.compiled.event, &e = earlier.compiled.event;
  return later.compiled.checks & ROCE_CHECK_EVENT &&
         (e.qp_number == ROCE_QP_BY_NUMBER || e.qp_number == l.qp_number) &&
         inside(l.packet, e.packet) && (!e.iteration || e.iteration == l.iteration);
}

bool inside(const roce_raw_match &inner, const roce_raw_match &outer) {
  return inner.offset == outer.offset && inner.length == outer.length &&
         !(outer.mask & ~inner.mask) && !((inner.value ^ outer.value) & outer.mask);
}

bool outer_field_inside(uint32_t field, const roce_outer_match &inner,
                        const roce_outer_match &outer) {
  switch (field) {
  case ROCE_OUTER_SRC_MAC:
  case ROCE_OUTER_DST_MAC:
  case ROCE_OUTER_BYTES: {
    const auto which = static_cast<size_t>(std::countr_zero(field));
    return inside(inner.raw[which], outer.raw[which]);
  }
  case ROCE_OUTER_PCP:
    return !(inner.pcps & ~outer.pcps);
  case ROCE_OUTER_INNER_VLAN:
    return inside(inner.inner_vlan, outer.inner_vlan);
  case ROCE_OUTER_MPLS:
    return inside(inner.mpls, outer.mpls);
  case ROCE_OUTER_SRC_PORT:
    return inside(inner.src_port, outer.src_port);
  case ROCE_OUTER_DST_PORT:
    return inside(inner.dst_port, outer.dst_port);
  case ROCE_OUTER_VERSION:
    return inner.version == outer.version;
  default:
    return false;
  }
}

bool outer_implies(const Rule &later, const Rule &earlier) {
  const roce_outer_match &l = later.compiled.outer, &e = earlier.compiled.outer;
  if ((e.used & ~l.used) || ((l.inverted ^ e.inverted) & e.used))
    return false;
  for (uint32_t left = e.used; left; left &= left - 1) {
    const uint32_t field = left & -left;
    const bool inverted = e.inverted & field;
    if (!outer_field_inside(field, inverted ? e : l, inverted ? l : e))
      return false;
  }
  return true;
}

bool takes_all(const Rule &earlier, const Rule &later) {
  return tables_imply(later.tables, earlier.tables) && addresses_imply(later, earlier) &&
         fields_imply(later, earlier) && event_implies(later, earlier) &&
         outer_implies(later, earlier);
}

} // namespace

std::optional<size_t> taken_by(std::span<const Rule *const> rules, size_t index) {
  for (size_t i = 0; i < index; i++) {
    const Rule &earlier = *rules[i];
    if (earlier.disabled || earlier.compiled.action.next || !takes_all(earlier, *rules[index]))
      continue;
    // A rule in between may change bytes that both read.
    const auto between = rules.subspan(i + 1, index - i - 1);
    if (!earlier.compiled.outer.used || std::none_of(between.begin(), between.end(), changes_bytes))
      return i;
  }
  return {};
}

} // namespace xr::impair
