// SPDX-License-Identifier: Apache-2.0
// The tables of a set of rules: each rule is one bit column.
#include <cassert>

#include "impair/action_table.h"
#include "impair/rule.h"
#include "roce/config.h"

namespace xr::impair {

namespace {

struct Place {
  __u64 *table;
  uint32_t use;
};

// The tables of enum Table in a rule set.
std::array<Place, kTables> places(roce_ruleset &set) {
  std::array<Place, kTables> result{};
  const auto put = [&result](size_t at, auto &tables, uint32_t use) {
    for (auto &table : tables)
      result[at++] = {table, use};
  };
  result[kTos] = {set.tos, ROCE_USES_TOS};
  put(kSrc, set.src, ROCE_USES_SRC);
  put(kDst, set.dst, ROCE_USES_DST);
  put(kQp, set.qp, ROCE_USES_QP);
  put(kPsn, set.psn, ROCE_USES_PSN);
  result[kSize] = {set.size, ROCE_USES_SIZE};
  put(kVlan, set.vlan, ROCE_USES_VLAN);
  result[kPacket] = {set.packet, ROCE_USES_PACKET};
  result[kBthFlags] = {set.bth_flags, ROCE_USES_BTH_FLAGS};
  result[kBthMarks] = {set.bth_marks, ROCE_USES_BTH_MARKS};
  result[kBthAck] = {set.bth_ack, ROCE_USES_BTH_ACK};
  put(kPkey, set.pkey, ROCE_USES_PKEY);
  return result;
}

template <size_t N> void add(const std::bitset<N> &values, uint64_t bit, __u64 *table) {
  for (size_t i = 0; i < N; i++)
    if (values[i])
      table[i] |= bit;
}

void add_rule(roce_ruleset &set, const std::array<Place, kTables> &places, const Rule &rule) {
  const uint64_t bit = 1ULL << set.count;
  set.slot[set.count] = static_cast<uint8_t>(rule.compiled.slot);
  if (rule.disabled) { // listed, but in no table: costs a packet nothing
    set.rule[set.count++] = rule.compiled;
    return;
  }
  if (roce_holds_all(&rule.compiled))
    set.holds |= bit;
  if (rule.compiled.action.next)
    set.next |= bit;
  add(rule.tables.what, bit, set.what);
  add(rule.tables.family, bit, set.family);
  for (size_t t = 0; t < kTables; t++) {
    add(rule.tables.bytes[t], bit, places[t].table);
    if (!rule.tables.bytes[t].all())
      set.used |= places[t].use;
  }
  // the datapath checks the family together with an address
  if (!rule.tables.family.all() && !(set.used & (ROCE_USES_SRC | ROCE_USES_DST)))
    set.used |= ROCE_USES_SRC;
  // the check reads the P_Key even if its tables accept every value
  if (rule.compiled.checks & (ROCE_CHECK_PKEY | ROCE_CHECK_NOT_PKEY))
    set.used |= ROCE_USES_PKEY;
  if (rule.compiled.checks & ROCE_CHECK_OUTER)
    set.used |= ROCE_USES_OUTER;
  // only the version in the BTH separates these frames from other ones
  if (rule.tables.what[ROCE_WHAT_VERSION] != rule.tables.what[ROCE_WHAT_OTHER])
    set.used |= ROCE_USES_BTH_FLAGS;
  set.rule[set.count++] = rule.compiled;
}

} // namespace

uint32_t needs(const Rule &rule, bool bridged) {
  const uint32_t act = rule.compiled.action.act;
  uint32_t features = ROCE_FEATURE_RULES;
  if (rule.compiled.checks & ROCE_CHECK_EVENT)
    features |= ROCE_FEATURE_EVENTS;
  if (rule.compiled.action.next)
    features |= ROCE_FEATURE_NEXT;
  for (const Action &action : actions()) {
    if (!(act & action.bit))
      continue;
    features |= action.feature;
    if (bridged && action.copies && !(act & ROCE_ACT_DROP))
      features |= ROCE_FEATURE_CLONE;
  }
  return features;
}

std::unique_ptr<roce_ruleset> make_ruleset(const std::vector<Rule> &rules) {
  assert(rules.size() <= ROCE_RULES);
  auto set = std::make_unique<roce_ruleset>();
  const auto where = places(*set);
  for (const Rule &rule : rules)
    add_rule(*set, where, rule);
  return set;
}

} // namespace xr::impair
