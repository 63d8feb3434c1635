/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Applies a port's rules to a packet: match, select, plan, act. */
#ifndef ROCE_IMPAIR_H
#define ROCE_IMPAIR_H

#include "account.h"
#include "act.h"
#include "cnp.h"
#include "hold.h"
#include "match.h"
#include "outer.h"

#define ROCE_BTH_FARTHEST 0x3fff /* largest offset; the verifier needs a bound of 2^n - 1 */

/*
 * The packet data that rules need before one of them selects the packet. Most packets match no rule
 * or are not selected: they are never copied to a struct roce_passing.
 */
struct roce_noted {
  struct roce_facts facts;
  __u32 l3; /* offsets of the IP header, the BTH and the first byte after the iCRC; 0: none */
  __u32 bth;
  __u32 end;
  __u32 stream;   /* record id, or ROCE_NO_STREAM */
  __s16 class_;   /* enum roce_class */
  __u16 loaded;   /* 1: the packet is in this CPU's roce_passing */
  __u64 left;     /* with ROCE_FEATURE_NEXT: rules that may still apply */
  __u64 hold;     /* with ROCE_FEATURE_HOLD: rules that hold the frame, or only count it */
  __u64 selected; /* of these: that selected it */
};

/*
 * A packet that rules are applied to. `packet` is complete, except for the key of an IPv4 packet.
 */
struct roce_passing {
  struct roce_noted noted; /* of the current frame, whether `packet` is its packet or not */
  struct roce_packet packet;
  __u32 length; /* of the frame, without FCS */
  __s32 class_; /* enum roce_class */
  __u32 stream; /* record id, or ROCE_NO_STREAM */
  __u32 linear; /* bytes of the frame in its first buffer */
  __u64 place;  /* its place among the packets that the rule matched; 0: not needed */
  __u64 now;    /* when its rule selected it; 0: the clock was not read */
  __u32 copied; /* what earlier rules made: 0, ROCE_TWICE or ROCE_GO_ON_WITH_CNP */
  __u32 cnp_qp; /* of the CNP that a rule asked for */
  __u32 cnp_tos;
  __u32 reserved;
  struct roce_held held; /* with ROCE_FEATURE_HOLD: rules and selected are valid */
  __u64 also;            /* of held.selected: rules that did something else too */
  struct roce_verdict verdict;
  struct roce_cnp cnp;
};

/* Records, for capture, the rule that the packet matched and the action taken (0: none). */
static ROCE_INLINE void roce_trace_rule(struct roce_env *env, const struct roce_rule *rule,
                                        __u32 act) {
  struct roce_scratch *scratch;

  if (!(roce_features(env) & ROCE_FEATURE_CAPTURE))
    return;
  scratch = roce_scratch_of(env);
  if (!scratch)
    return;
  scratch->trace.rule = rule->id;
  scratch->trace.act = act ? act | (rule->action.act & (ROCE_ACT_RED | ROCE_ACT_POLICE)) : 0;
}

/* The number of the stream's QP, in the order seen by the port, from 1; 0: none. */
static ROCE_INLINE __u32 roce_number_of(struct roce_env *env, const struct roce_key *key,
                                        __u32 id) {
  const struct roce_aside *aside = roce_aside_at(env, id & (ROCE_ASIDES - 1));

  return aside ? roce_number_in(aside, id, roce_numbers_before(env, key)) : 0;
}

/* 1 when a rule's conditions that the tables do not decide are met. */
ROCE_OUTLINE int roce_check_rule(struct roce_env *env, const struct roce_rule *rule,
                                 struct roce_passing *passing) {
  const struct roce_packet *p;
  const struct roce_stream *s;

  if (!rule || !passing)
    return 0;
  p = &passing->packet;
  roce_key_fill(&passing->packet.key);
  s = rule->checks & ROCE_CHECK_EVENT ? roce_stream_at(env, passing->stream) : ROCE_NULL;
  return roce_rule_holds(rule, p, passing->length, roce_is_roce(passing->class_), s,
                         s ? roce_number_of(env, &p->key, passing->stream) : 0);
}

/* QPN of the packet's sender, for a CNP, or ROCE_QPN_UNKNOWN. */
static ROCE_INLINE __u32 roce_sender_qp(struct roce_env *env, const struct roce_packet *p,
                                        __u32 id) {
  const struct roce_stream *s = roce_stream_at(env, id);
  struct roce_peer peer = {};

  if (roce_key_qp(&p->key) == ROCE_QPN_MULTICAST) /* a CNP cannot have a multicast source address */
    return ROCE_QPN_UNKNOWN;
  if (p->info & ROCE_HAS_DETH) /* 0: not parsed (RD READ REQUEST) */
    return p->cut || !p->src_qp ? ROCE_QPN_UNKNOWN : p->src_qp;
  for (int i = 0; i < 4; i++)
    peer.src[i] = p->key.src[i];
  peer.dest_qp = roce_key_qp(&p->key);
  if (s && s->flags & ROCE_STREAM_SRC_QP)
    return s->src_qp;
  return roce_peer_qp(env, &peer);
}

/* 1 once per interval for the stream, its address pair or the port (cnp_scope). */
static ROCE_INLINE int roce_pace(struct roce_env *env, const struct roce_action *action,
                                 const struct roce_packet *p) {
  __u64 now = roce_moment_now(env), seen, hash = 0, check;
  int ipv4 = (p->key.qp_kind & ROCE_KEY_IPV4) != 0;
  __u64 *word;

  if (action->cnp_scope == ROCE_CNP_STREAM)
    hash = roce_key_hash(&p->key, roce_hash_seed(env));
  else if (action->cnp_scope == ROCE_CNP_PAIR)
    hash = roce_mix(roce_hash_pair(p->key.src, p->key.dst, ipv4, roce_hash_seed(env)));
  word = roce_pace_at(env, (__u32)hash & (ROCE_PACES - 1));
  if (!word)
    return 0;
  check = (hash >> 40 | 1) << 40; /* not 0, which is the check of an unused word */
  seen = ROCE_LOAD(word);
  if (!((seen ^ check) >> 40) &&
      ((now - seen) & ROCE_PACE_TIME) < action->cnp_interval_ns >> ROCE_PACE_SHIFT)
    return 0;
  return ROCE_CAS(word, seen, check | now);
}

/*
 * Decides whether a CNP is sent. If not, clears the request and counts the reason; otherwise fills
 * in its destination.
 */
ROCE_OUTLINE int roce_plan_cnp(struct roce_env *env, const struct roce_action *action,
                               struct roce_passing *passing) {
  struct roce_totals *t = roce_totals_of(env);
  struct roce_aside *aside;
  struct roce_verdict *v;
  __u32 qp;

  if (!action || !passing || !t)
    return 0;
  v = &passing->verdict;
  roce_key_fill(&passing->packet.key);
  qp = roce_sender_qp(env, &passing->packet, passing->stream);
  v->act &= ~(__u32)ROCE_ACT_CNP;
  if (qp == ROCE_QPN_UNKNOWN) {
    t->cnps_unknown_peer++;
    return 0;
  }
  if (!roce_pace(env, action, &passing->packet)) {
    t->cnps_paced++;
    return 0;
  }
  v->act |= ROCE_ACT_CNP;
  passing->cnp_qp = v->cnp_qp = qp;
  v->cnp_tos = (__u8)(action->cnp_dscp << 2);
  passing->cnp_tos = v->cnp_tos;
  aside = roce_aside_at(env, passing->stream & (ROCE_ASIDES - 1));
  if (aside)
    ROCE_STORE(&aside->cnp,
               (__u64)(passing->stream + 1) << 40 | (__u64)action->cnp_dscp << 26 | qp);
  return 0;
}

/* Counts the verdict's actions, except those whose success is known only later. */
static ROCE_INLINE void roce_count_verdict(struct roce_totals *t, const struct roce_verdict *v) {
  if (v->act & ROCE_ACT_DROP) {
    if (v->excess)
      t->dropped_policed++;
    else
      t->dropped_programmed++;
  }
  if (v->act & ROCE_ACT_CE)
    t->marked++;
  if (v->act & ROCE_ACTS_CORRUPT)
    t->corrupted++;
  if (v->act & ROCE_ACTS_REWRITE)
    t->rewritten++;
}

/* Turns the current frame into the CNP that answers it, to QP `qp`. 1 when done. */
ROCE_OUTLINE int roce_become_cnp(struct roce_frame *frame, struct roce_env *env, __u32 length,
                                 __u32 qp, __u32 tos) {
  struct roce_passing *passing = roce_passing_of(env);
  __u8 high = 0, low = 0;
  __u32 udp;

  if (!passing)
    return 0;
  udp = passing->packet.bth - ROCE_UDP_LEN;
  if (roce_frame_load(frame, udp, &high) || roce_frame_load(frame, udp + 1, &low))
    return 0;
  roce_key_fill(&passing->packet.key);
  passing->packet.ipv4 = roce_frame_is_ipv4(frame, passing->packet.l3);
  roce_cnp_build(&passing->cnp, &passing->packet, qp, (__u16)(low << 8 | high), roce_port_be(env),
                 (__u8)tos);
  if (roce_frame_resize(frame, (__s32)(passing->packet.l3 + passing->cnp.length - length)))
    return 0;
  return roce_cnp_write(roce_frame_data(frame), roce_frame_end(frame),
                        roce_frame_l3(frame, passing->packet.l3), &passing->cnp);
}

/* Copies require a bridge and a frame that the kernel can clone, which makes one copy of it. */
static ROCE_INLINE int roce_copy(struct roce_env *env, const struct roce_passing *passing,
                                 struct roce_verdict *v, struct roce_totals *t) {
  if (!(v->act & (ROCE_ACT_CNP | ROCE_ACT_DUPLICATE)))
    return ROCE_GO_ON;
  if (!(roce_features(env) & ROCE_FEATURE_CLONE) || passing->length > passing->linear ||
      passing->length > ROCE_CLONE_MAX ||
      (roce_features(env) & ROCE_FEATURE_NEXT && passing->copied)) {
    t->not_cloned++;
    v->act &= ~(__u32)(ROCE_ACT_CNP | ROCE_ACT_DUPLICATE);
    return ROCE_GO_ON;
  }
  if (v->act & ROCE_ACT_CNP)
    return ROCE_GO_ON_WITH_CNP;
  t->duplicated++;
  return ROCE_TWICE;
}

/*
 * The packet is dropped after an earlier rule asked for a copy: a duplicate is not made, and the
 * CNP is made of the packet itself.
 */
static ROCE_INLINE void roce_drop_copy(struct roce_passing *passing, struct roce_verdict *v,
                                       struct roce_totals *t) {
  if (passing->copied == ROCE_TWICE)
    t->duplicated--;
  else if (!(v->act & ROCE_ACT_CNP)) {
    v->act |= ROCE_ACT_CNP;
    v->cnp_qp = passing->cnp_qp;
    v->cnp_tos = (__u8)passing->cnp_tos;
  }
  passing->copied = 0;
}

/* Applies the rule that selected the current frame. Returns enum roce_fate. */
ROCE_OUTLINE int roce_act(struct roce_frame *frame, struct roce_env *env,
                          const struct roce_rule *rule) {
  struct roce_passing *passing = roce_passing_of(env);
  struct roce_totals *t = roce_totals_of(env);
  struct roce_rule_state *state;
  struct roce_rule_count *count;
  struct roce_verdict *v;
  int fate;

  if (!passing || !t || !rule)
    return ROCE_GO_ON;
  state = roce_rule_state_at(env, rule->slot);
  count = roce_rule_count_at(env, rule->slot);
  if (!state || !count)
    return ROCE_GO_ON;
  v = &passing->verdict;
  passing->packet.ipv4 = roce_frame_is_ipv4(frame, passing->packet.l3);
  roce_plan(env, rule, state, &passing->packet, passing->class_, passing->length, passing->place,
            v);
  ROCE_STAGE();
  if (!v->act) {
    count->limited += v->limited;
    count->not_applicable += !v->limited;
    return ROCE_GO_ON;
  }
  if (roce_features(env) & ROCE_FEATURE_CNP && v->act & ROCE_ACT_CNP)
    roce_plan_cnp(env, &rule->action, passing);
  ROCE_STAGE();
  roce_count_verdict(t, v);
  count->acted++;
  count->acted_bytes += passing->length;
  if (v->act & ROCE_ACT_DROP) {
    fate = ROCE_GONE;
    if (roce_features(env) & ROCE_FEATURE_NEXT && passing->copied)
      roce_drop_copy(passing, v, t);
    if (roce_features(env) & ROCE_FEATURE_CNP && v->act & ROCE_ACT_CNP &&
        roce_become_cnp(frame, env, passing->length, v->cnp_qp, v->cnp_tos)) {
      t->cnps_sent++;
      fate = ROCE_BACK_AS_CNP;
    }
    if (fate == ROCE_GONE) /* no CNP could be built */
      v->act &= ~(__u32)ROCE_ACT_CNP;
    roce_trace_rule(env, rule, v->act);
    return fate;
  }
  if (roce_features(env) & ROCE_FEATURE_EDIT) {
    roce_rewrite(frame, &passing->packet, passing->class_, v);
    if (passing->class_ == ROCE_CLASS_V2 && v->tos != passing->packet.tos &&
        (v->tos & 3) == ROCE_ECN_CE) /* by CE or `set ecn ce` */
      roce_remember_ce(env, passing->stream, passing->now);
  }
  fate = roce_copy(env, passing, v, t);
  if (roce_features(env) & ROCE_FEATURE_NEXT) { /* for later rules */
    passing->packet.tos = v->tos;
    passing->packet.ecn = v->tos & 3;
    if (fate != ROCE_GO_ON)
      passing->copied = (__u32)fate;
  }
  roce_trace_rule(env, rule, v->act);
  if (!v->act) { /* no action was possible */
    count->acted--;
    count->acted_bytes -= passing->length;
    count->refused++;
    roce_limit_return(rule, state, v->period);
  }
  return fate;
}

/* Reads the BTH fields that only rules use, at `offset` of the frame. 0: not available. */
static ROCE_INLINE int roce_read_bth(struct roce_frame *frame, __u32 offset,
                                     struct roce_facts *facts) {
  __u64 at = offset;
  const __u8 *bth;

  ROCE_BOUND(at, ROCE_BTH_FARTHEST);
  bth = roce_frame_data(frame) + at;
  if (offset > ROCE_BTH_FARTHEST || bth + ROCE_BTH_LEN > roce_frame_end(frame))
    return 0;
  roce_facts_read(bth, facts);
  return 1;
}

/* Parses the current frame again into roce_passing: rules need all of it for few packets. */
ROCE_OUTLINE int roce_load_passing(struct roce_frame *frame, struct roce_env *env, __u32 length,
                                   __u32 stream) {
  const __u8 *data = roce_frame_data(frame), *end = roce_frame_end(frame);
  struct roce_passing *passing = roce_passing_of(env);
  struct roce_packet *p;

  if (!passing)
    return 0;
  p = &passing->packet;
  __builtin_memset(p, 0, sizeof(*p));
  passing->class_ = roce_parse(data, end, roce_port_be(env), p);
  p->key.qp_kind |= roce_side(env);
  passing->length = length;
  passing->linear = (__u32)(end - data);
  passing->stream = stream;
  passing->copied = 0;
  passing->also = 0;
  return 1;
}

static ROCE_INLINE struct roce_passing *roce_loaded(struct roce_frame *frame, struct roce_env *env,
                                                    struct roce_noted *noted) {
  if (!noted->loaded)
    roce_load_passing(frame, env, noted->facts.length, noted->stream);
  noted->loaded = 1;
  return roce_passing_of(env);
}

/* The first rule in `left` whose conditions are met, or NULL; `left` then begins with it. */
static ROCE_INLINE const struct roce_rule *roce_find_rule(struct roce_frame *frame,
                                                          struct roce_env *env,
                                                          const struct roce_ruleset *set,
                                                          __u64 *left, struct roce_noted *noted) {
  struct roce_passing *passing = roce_loaded(frame, env, noted);

  if (!passing)
    return ROCE_NULL;
  passing->packet.pkey = (__u16)noted->facts.pkey;
  ROCE_ROLLED
  for (int i = 0; i < ROCE_RULES && *left; i++) {
    const struct roce_rule *rule = roce_first_rule(set, *left);

    if (!rule->checks ||
        (roce_check_rule(env, rule, passing) && roce_check_outer(frame, env, rule)))
      return rule;
    *left &= *left - 1;
  }
  return ROCE_NULL;
}

/* A rule that only marks CE needs no plan. 1 when the rule is such a rule and was applied. */
static ROCE_INLINE int roce_mark_only(struct roce_frame *frame, struct roce_env *env,
                                      const struct roce_rule *rule, struct roce_rule_count *count,
                                      struct roce_noted *noted, __u64 now) {
  __u32 act = rule->action.act, tos = noted->facts.tos;
  struct roce_totals *t;

  if (act & ~(__u32)(ROCE_ACT_CE | ROCE_ACT_RED | ROCE_ACT_FORCE) || rule->select.limit)
    return 0;
  if (roce_features(env) & ROCE_FEATURE_NEXT && noted->loaded)
    return 0; /* an earlier rule may have changed the TOS */
  t = roce_totals_of(env);
  if (!t || !roce_can_mark(tos & 3, noted->class_, act)) {
    count->not_applicable++;
    return 1;
  }
  count->acted++;
  count->acted_bytes += noted->facts.length;
  t->marked++;
  roce_trace_rule(env, rule, ROCE_ACT_CE);
  roce_remember_ce(env, noted->stream, now);
  roce_set_tos(roce_frame_l3(frame, noted->l3), roce_frame_end(frame),
               (noted->facts.qp_kind & ROCE_KEY_IPV4) != 0, (__u8)(tos | ROCE_ECN_CE));
  if (roce_features(env) & ROCE_FEATURE_NEXT)
    noted->facts.tos = tos | ROCE_ECN_CE;
  return 1;
}

/* A rule holds the frame, or counts it only. */
static ROCE_INLINE void roce_hold_by(struct roce_noted *noted, __u64 rule, __u64 selected) {
  noted->hold |= rule;
  noted->selected |= selected;
}

/* Nor does a rule that only holds. 1 when the rule is such a rule and was applied. */
static ROCE_INLINE int roce_hold_only(struct roce_env *env, const struct roce_rule *rule,
                                      struct roce_rule_count *count, struct roce_noted *noted,
                                      __u64 bit) {
  if (rule->action.act & ~(__u32)ROCE_ACTS_HOLD || rule->select.limit)
    return 0;
  count->acted++;
  count->acted_bytes += noted->facts.length;
  roce_trace_rule(env, rule, rule->action.act);
  roce_hold_by(noted, bit, bit);
  return 1;
}

/* Applies a rule whose conditions the frame meets. `bit`: the rule's. Returns enum roce_fate. */
static ROCE_INLINE int roce_meet_rule(struct roce_frame *frame, struct roce_env *env,
                                      const struct roce_rule *rule, struct roce_noted *noted,
                                      __u64 bit) {
  struct roce_rule_state *state;
  struct roce_rule_count *count;
  struct roce_passing *passing;
  __u64 place, now;
  int fate, selected;

  roce_trace_rule(env, rule, 0);
  state = roce_rule_state_at(env, rule->slot);
  count = roce_rule_count_at(env, rule->slot);
  if (!state || !count)
    return ROCE_GO_ON;
  selected = roce_select(env, rule, state, count, noted->facts.length, &place);
  if (selected && !roce_gate(env, rule, state, noted->facts.length, place, &now)) {
    count->spared++;
    selected = 0;
  }
  if (!selected) {
    if (roce_features(env) & ROCE_FEATURE_HOLD && rule->action.act & ROCE_ACT_REORDER)
      roce_hold_by(noted, bit, 0); /* the held packets wait for it */
    return ROCE_GO_ON;
  }
  if (roce_features(env) & ROCE_FEATURE_EDIT && roce_mark_only(frame, env, rule, count, noted, now))
    return ROCE_GO_ON;
  if (roce_features(env) & ROCE_FEATURE_HOLD && roce_hold_only(env, rule, count, noted, bit))
    return ROCE_GO_ON;
  passing = roce_loaded(frame, env, noted);
  if (!passing)
    return ROCE_GO_ON;
  passing->place = place;
  passing->now = now;
  fate = roce_act(frame, env, rule);
  if (roce_features(env) & ROCE_FEATURE_HOLD) {
    if (passing->verdict.act & ROCE_ACTS_HOLD) {
      roce_hold_by(noted, bit, bit);
      passing->also |= passing->verdict.act & ~(__u32)ROCE_ACTS_HOLD ? bit : 0;
    } else if (rule->action.act & ROCE_ACT_REORDER) /* beyond its limit */
      roce_hold_by(noted, bit, 0);
  }
  return fate;
}

/*
 * With ROCE_FEATURE_HOLD: counts the rules in `left` that only hold the packet, up to the first
 * other one. Returns what is left.
 */
static ROCE_INLINE __u64 roce_meet_holding(struct roce_env *env, const struct roce_ruleset *set,
                                           struct roce_noted *noted, __u64 left) {
  __u64 held = 0;

  ROCE_ROLLED
  for (int i = 0; i < ROCE_RULES && left & -left & set->holds; i++) {
    __u64 index = roce_lowest(left), bit = left & -left;
    struct roce_rule_count *count;

    ROCE_BOUND(index, ROCE_RULES - 1);
    count = roce_rule_count_at(env, set->slot[index]);
    if (!count)
      break;
    count->matched++;
    count->matched_bytes += noted->facts.length;
    count->acted++;
    count->acted_bytes += noted->facts.length;
    if (roce_features(env) & ROCE_FEATURE_CAPTURE)
      roce_trace_rule(env, roce_first_rule(set, left), set->rule[index].action.act);
    held |= bit;
    left = roce_features(env) & ROCE_FEATURE_NEXT && bit & set->next ? left & (left - 1) : 0;
  }
  roce_hold_by(noted, held, held);
  return left;
}

/*
 * Applies the first of the rules in `left`, of which those after it are left in noted->left if it
 * ends with `next`. Returns enum roce_fate.
 */
static ROCE_INLINE int roce_meet_one(struct roce_frame *frame, struct roce_env *env,
                                     const struct roce_ruleset *set, struct roce_noted *noted,
                                     __u64 left) {
  const struct roce_rule *rule;

  if (roce_features(env) & ROCE_FEATURE_HOLD)
    left = roce_meet_holding(env, set, noted, left);
  if (roce_features(env) & ROCE_FEATURE_NEXT)
    noted->left = 0;
  if (!left)
    return ROCE_GO_ON;
  rule = roce_first_rule(set, left);
  if (rule->checks) {
    rule = roce_find_rule(frame, env, set, &left, noted);
    if (!rule)
      return ROCE_GO_ON;
  }
  if (roce_features(env) & ROCE_FEATURE_NEXT && rule->action.next)
    noted->left = left & (left - 1);
  return roce_meet_rule(frame, env, rule, noted, left & -left);
}

/* Applies the first of the rules that are left. Returns enum roce_fate. */
ROCE_OUTLINE int roce_meet_next(struct roce_frame *frame, struct roce_env *env,
                                const struct roce_ruleset *set, struct roce_noted *noted) {
  if (!set || !noted)
    return ROCE_GO_ON;
  return roce_meet_one(frame, env, set, noted, noted->left);
}

/*
 * With ROCE_FEATURE_NEXT, after roce_meet_first returned `fate`: applies the rules that it left.
 * Returns enum roce_fate. Each is a call, as a loop around all that a rule does is too long for a
 * verifier.
 */
static ROCE_INLINE int roce_meet_later(struct roce_frame *frame, struct roce_env *env,
                                       const struct roce_ruleset *set, struct roce_noted *noted,
                                       int fate) {
  int one;

  ROCE_ROLLED
  for (int i = 0; i < ROCE_RULES && noted->left; i++) {
    if (fate == ROCE_GONE || fate == ROCE_BACK_AS_CNP)
      return fate;
    one = roce_meet_next(frame, env, set, noted);
    if (one != ROCE_GO_ON)
      fate = one;
  }
  return fate;
}

/* With ROCE_FEATURE_HOLD: adds ROCE_HELD for a frame that rules hold. */
static ROCE_INLINE int roce_hold(struct roce_env *env, const struct roce_ruleset *set,
                                 const struct roce_noted *noted, int fate) {
  struct roce_passing *passing = roce_passing_of(env);

  if (!passing || !noted->hold || fate == ROCE_GONE || fate == ROCE_BACK_AS_CNP)
    return fate;
  if (!noted->loaded)
    passing->also = 0;
  passing->held.rules = noted->hold;
  passing->held.selected = noted->selected;
  passing->held.generation = (__u16)set->generation;
  return fate | ROCE_HELD;
}

/* A rule did not hold the packet. `also`: it did something else, so that it has acted all the same.
 */
ROCE_OUTLINE int roce_rule_not_held(struct roce_env *env, const struct roce_rule *rule, int also,
                                    __u32 length) {
  struct roce_rule_state *state;
  struct roce_rule_count *count;

  if (!rule)
    return 0;
  state = roce_rule_state_at(env, rule->slot);
  count = roce_rule_count_at(env, rule->slot);
  if (!state || !count)
    return 0;
  ROCE_ADD(&state->not_held, 1);
  if (also)
    return 1;
  count->acted--;
  count->acted_bytes -= length;
  roce_limit_return(rule, state, (__u32)(ROCE_LOAD(&state->limited) >> 32));
  return 1;
}

/*
 * For a frame with ROCE_HELD that no process takes: it continues at once, and the rules that were
 * to hold it have not acted.
 */
ROCE_OUTLINE int roce_not_held(struct roce_env *env, __u32 length) {
  const struct roce_ruleset *set = roce_rules_of(env);
  struct roce_passing *passing = roce_passing_of(env);
  struct roce_scratch *scratch;
  __u64 left;

  if (!set || !passing || (__u16)set->generation != passing->held.generation)
    return 0;
  left = passing->held.selected;
  ROCE_ROLLED
  for (int i = 0; i < ROCE_RULES && left; i++) {
    roce_rule_not_held(env, roce_first_rule(set, left), (passing->also & left & -left) != 0,
                       length);
    left &= left - 1;
  }
  if (roce_features(env) & ROCE_FEATURE_CAPTURE && (scratch = roce_scratch_of(env)))
    scratch->trace.act &= ~(__u32)ROCE_ACTS_HOLD;
  return 1;
}

/*
 * Applies the first of the port's rules that the current frame meets. With ROCE_FEATURE_NEXT, those
 * after it are in noted->left. Returns enum roce_fate.
 */
ROCE_OUTLINE int roce_meet_first(struct roce_frame *frame, struct roce_env *env,
                                 const struct roce_ruleset *set, struct roce_noted *noted) {
  __u64 left;

  if (!set || !noted)
    return ROCE_GO_ON;
  if (roce_features(env) & ROCE_FEATURE_EVENTS) {
    const struct roce_stream *s = roce_stream_at(env, noted->stream);

    noted->facts.place = s ? roce_place(noted->facts.psn, s) : 0;
    if (s)
      roce_number_anew(env, &s->key, noted->stream);
  }
  if (roce_uses(env) & ROCE_USES_BTH && noted->bth &&
      roce_read_bth(frame, noted->bth, &noted->facts))
    roce_facts_version(noted->bth, noted->end, noted->class_, &noted->facts);
  left = roce_match_tables(set, roce_uses(env), &noted->facts);
  return left ? roce_meet_one(frame, env, set, noted, left) : ROCE_GO_ON;
}

/* Applies the port's rules to the current frame. Returns enum roce_fate. */
static ROCE_INLINE int roce_meet_rules(struct roce_frame *frame, struct roce_env *env,
                                       struct roce_noted *noted) {
  const struct roce_ruleset *set = roce_rules_of(env);
  int fate;

  if (!set)
    return ROCE_GO_ON;
  noted->left = noted->hold = noted->selected = 0;
  fate = roce_meet_first(frame, env, set, noted);
  if (roce_features(env) & ROCE_FEATURE_NEXT)
    fate = roce_meet_later(frame, env, set, noted, fate);
  return roce_features(env) & ROCE_FEATURE_HOLD ? roce_hold(env, set, noted, fate) : fate;
}

/*
 * Turns the copy that is returned to the frame's ingress port (ROCE_GO_ON_WITH_CNP) into the CNP
 * that roce_plan_cnp stored for its stream. 1 when done; counts success and failure.
 */
static ROCE_INLINE int roce_answer_copy(struct roce_frame *frame, struct roce_env *env) {
  const __u8 *data = roce_frame_data(frame), *end = roce_frame_end(frame);
  struct roce_passing *passing = roce_passing_of(env);
  struct roce_totals *t = roce_totals_of(env);
  const struct roce_aside *aside;
  struct roce_packet *p;
  __u32 id;
  __u64 cnp;

  if (!passing || !t)
    return 0;
  p = &passing->packet;
  __builtin_memset(p, 0, sizeof(*p));
  if (roce_parse(data, end, roce_port_be(env), p) != ROCE_CLASS_V2)
    return 0;
  p->key.qp_kind |= roce_side(env);
  roce_key_fill(&p->key);
  id = roce_table_find(env, &p->key, roce_key_hash(&p->key, roce_hash_seed(env)));
  aside = roce_aside_at(env, id & (ROCE_ASIDES - 1));
  cnp = aside ? ROCE_LOAD(&aside->cnp) : 0;
  if (id == ROCE_NO_STREAM || cnp >> 40 != id + 1 ||
      !roce_become_cnp(frame, env, (__u32)(end - data), cnp & 0xffffff, (cnp >> 24) & 0xfc)) {
    t->not_cloned++;
    return 0;
  }
  t->cnps_sent++;
  return 1;
}

#endif
