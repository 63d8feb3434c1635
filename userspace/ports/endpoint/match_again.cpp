// SPDX-License-Identifier: Apache-2.0
#include "endpoint/match_again.h"

#include <algorithm>

#include "roce/match.h"
#include "roce/outer.h"
#include "roce/parse.h"
#include "roce/select.h"

// The part of include/roce/env.h that matching and selecting need.
struct roce_env {
  const std::map<__u32, std::vector<__u32>> *points;
  __u64 now;
  __u32 uses;
};
struct roce_frame {
  const __u8 *data;
  __u32 captured, length;
};

static __u32 roce_rule_point(roce_env *env, __u32 slot, __u32 index) {
  const auto found = env->points->find(slot);
  return found != env->points->end() && index < found->second.size() ? found->second[index] : 0;
}
static __u64 roce_clock(roce_env *env) { return env->now; }
static __u32 roce_uses(roce_env *env) { return env->uses; }
static __u8 *roce_frame_data(roce_frame *frame) { return const_cast<__u8 *>(frame->data); }
static __u8 *roce_frame_end(roce_frame *frame) {
  return const_cast<__u8 *>(frame->data) + frame->captured;
}
static int roce_frame_load(roce_frame *frame, __u32 offset, __u8 *byte) {
  if (offset >= frame->captured)
    return -1;
  *byte = frame->data[offset];
  return 0;
}

namespace xr::endpoint {

namespace {

// Draws for one frame: as many frames in a row may have met several rules without being selected.
constexpr unsigned kDraws = 1000;

} // namespace

void MatchAgain::set_rules(const datapath::RulesInForce &rules) {
  set_ = rules.set;
  has_exact_ = set_ && std::any_of(set_->rule, set_->rule + set_->count, [](const roce_rule &rule) {
                 return rule.checks & ROCE_CHECK_EVENT && rule.action.act & ROCE_ACTS_HOLD;
               });
  std::array<uint32_t, ROCE_RULE_SLOTS> ids{};
  for (const datapath::RuleInForce &in_force : rules.rules) {
    if (in_force.slot >= ROCE_RULE_SLOTS)
      continue;
    ids[in_force.slot] = in_force.id;
    if (ids_[in_force.slot] == in_force.id && words_[in_force.slot] == in_force.words)
      continue;
    words_[in_force.slot] = in_force.words;
    states_[in_force.slot] = {};
    points_[in_force.slot] = in_force.rule.points;
  }
  ids_ = ids;
}

bool MatchAgain::meets(const roce_rule &rule, const roce_packet &packet, uint32_t length, bool roce,
                       std::span<const uint8_t> first) const {
  roce_env env{&points_, 0, set_->used};
  roce_frame frame{first.data(), static_cast<uint32_t>(first.size()), length};
  return !rule.checks || (roce_rule_holds(&rule, &packet, length, roce, ROCE_NULL, 0) &&
                          roce_check_outer(&frame, &env, &rule));
}

// Walks the rules like roce_meet_first and roce_meet_later. The place of a packet in its stream
// is not known here: rules with `psn` or `iter` are not met.
void MatchAgain::find(std::span<const uint8_t> first, uint32_t length, uint32_t tables) {
  candidates_.clear();
  roce_packet packet{};
  int class_ = roce_parse(first.data(), first.data() + first.size(), port_be_, &packet);
  class_ = roce_check_length(class_, length, &packet);
  roce_key_fill(&packet.key);
  const bool roce = roce_is_roce(class_);
  roce_facts facts = roce_facts_of(&packet, length, roce, ROCE_NULL);
  if (set_->used & ROCE_USES_BTH && packet.bth && packet.bth + ROCE_BTH_LEN <= first.size()) {
    roce_facts_read(&first[packet.bth], &facts);
    roce_facts_version(packet.bth, packet.end, class_, &facts);
    packet.pkey = static_cast<__u16>(facts.pkey);
  }
  for (uint64_t left = roce_match_tables(set_.get(), tables, &facts); left; left &= left - 1) {
    const unsigned bit = roce_lowest(left);
    const roce_rule &rule = set_->rule[bit];
    if (!meets(rule, packet, length, roce, first))
      continue;
    if (rule.action.act & ROCE_ACTS_HOLD && rule.slot < ROCE_RULE_SLOTS)
      candidates_.push_back({bit, &rule, false});
    if (!rule.action.next)
      break;
  }
}

// Draws for each candidate, as the program did. True: one of them selects the frame.
bool MatchAgain::draw(uint64_t now, uint32_t length) {
  roce_env env{&points_, now, set_->used};
  bool any = false;
  for (Candidate &candidate : candidates_) {
    roce_rule_state &state = states_[candidate.rule->slot];
    roce_rule_count count{};
    __u64 place = 0;
    __u32 period = 0;
    candidate.selected = roce_select(&env, candidate.rule, &state, &count, length, &place) &&
                         roce_within_limit(&env, candidate.rule, &state, &period);
    any |= candidate.selected;
  }
  return any;
}

// The program hands over every frame that meets the rule.
bool MatchAgain::brings_all(const roce_rule &rule) const {
  return rule.action.act & ROCE_ACT_REORDER ||
         (rule.select.kind == ROCE_SELECT_ALWAYS && rule.select.schedule == ROCE_CONTINUOUS &&
          !rule.select.limit);
}

// Frames that meet several rules, and that none selects, may not come here. As the selections
// depend on the number of frames only, drawing until one is selected gives what the program drew.
roce_held MatchAgain::match(uint64_t now, std::span<const uint8_t> first, uint32_t length,
                            bool all) {
  roce_held held{};
  if (!set_)
    return held;
  find(first, length, set_->used);
  if (candidates_.empty() && !all) // the program may have changed the TOS
    find(first, length, set_->used & ~uint32_t{ROCE_USES_TOS});
  if (candidates_.empty())
    return held;
  all = all ||
        std::any_of(candidates_.begin(), candidates_.end(),
                    [this](const Candidate &candidate) { return brings_all(*candidate.rule); });
  if (all) {
    draw(now, length);
  } else if (candidates_.size() == 1) {
    candidates_[0].selected = true;
  } else {
    unsigned draws = 0;
    while (!draw(now, length) && ++draws < kDraws)
      ;
    if (draws == kDraws)
      candidates_[0].selected = true;
  }
  held.generation = static_cast<__u16>(set_->generation);
  for (const Candidate &item : candidates_) {
    const uint64_t bit = uint64_t{1} << item.bit;
    if (item.selected || item.rule->action.act & ROCE_ACT_REORDER)
      held.rules |= bit;
    if (item.selected)
      held.selected |= bit;
  }
  return held;
}

} // namespace xr::endpoint
