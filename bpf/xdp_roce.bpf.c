/* SPDX-License-Identifier: GPL-2.0-only */
/* What passes a port: parse, count, track, impair, and pass it on. */
#include "capture.bpf.h"

static ROCE_INLINE void learn_cm(const __u8 *data, const __u8 *end, struct roce_packet *p) {
  struct roce_cm cm = {};
  __u32 bth = p->bth;

  if (bth > 255)
    return;
  ROCE_BOUND(bth, 255);
  roce_parse_cm(data + bth, end, &cm);
  if (cm.attribute)
    roce_learn_cm(0, p, &cm);
}

/* Any frame at all; with rules it is then in hand for them. */
__attribute__((noinline)) int count_frame(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  __u32 linear = (__u32)(end - data), length = whole_length(ctx, linear);
  struct roce_scratch *scratch = roce_scratch_of(0);
  __u32 id = ROCE_NO_STREAM;
  struct roce_packet *p;
  int class_;

  if (!scratch)
    return 0;
  p = &scratch->packet;
  __builtin_memset(p, 0, sizeof(*p));
  class_ = roce_parse(data, end, config.udp_port_be, p);
  class_ = roce_check_length(class_, length, p);
  p->key.qp_kind |= config.side;
  if (!roce_is_roce(class_)) {
    roce_count_other(0, class_, p, length, linear < length);
  } else {
    roce_count(0, class_, p, length);
    if (config.track) {
      if (roce_is_gsi(p))
        learn_cm(data, end, p);
      id = roce_track_any(0, p, length);
    }
  }
  if (config.features & ROCE_FEATURE_RULES) {
    struct roce_passing *passing = roce_passing_of(0);

    if (!passing)
      return 0;
    passing->packet = *p;
    passing->class_ = class_;
    passing->length = length;
    passing->linear = linear;
    passing->stream = id;
  }
  return 0;
}

/* The frames that make up the traffic; 0 for those that want count_frame. */
static ROCE_INLINE int parse_plain(struct xdp_md *ctx, int track, struct roce_packet *p,
                                   __u32 *linear, __u32 *length) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;

  *linear = *length = (__u32)(end - data);
  if (roce_parse_plain(data, end, config.udp_port_be, p) != ROCE_CLASS_V2)
    return 0;
  if (ROCE_UNLIKELY(p->end > *linear)) {
    *length = whole_length(ctx, *linear);
    if (p->end > *length)
      return 0;
  }
  if (track && ROCE_UNLIKELY(roce_is_gsi(p)))
    return 0;
  p->key.qp_kind |= config.side;
  return 1;
}

/*
 * Inlined for each value of `track`: without it, most of what the parser finds is never read, and
 * so not even looked for.
 */
static ROCE_INLINE int count_plain(struct xdp_md *ctx, int track) {
  struct roce_packet p = {};
  __u32 linear, length;

  if (!parse_plain(ctx, track, &p, &linear, &length))
    return 0;
  roce_count(0, ROCE_CLASS_V2, &p, length);
  if (track)
    roce_track(0, &p, length);
  return 1;
}

/* A function of its own, so that count_frame does not stand on top of its stack. */
static __attribute__((noinline)) int track_plain(struct xdp_md *ctx) { return count_plain(ctx, 1); }

/*
 * A plain packet on its way to the rules: what tables and marking want of it, and no more, in
 * registers. A global function is verified once, whatever its callers know of its arguments.
 */
struct noted {
  __u64 what;    /* | TOS << 16 | offset of the IP header << 24 | tag << 32 */
  __u64 qp_psn;  /* key.qp_kind | PSN << 32 */
  __u64 src_dst; /* last words of the addresses, as on the wire */
  __u64 length;  /* | record id << 32 */
};

/* With rules: parse, count, track; 0 for those that want count_frame. */
static __attribute__((noinline)) int note_plain(struct xdp_md *ctx, struct noted *noted) {
  __u32 linear, length, id = ROCE_NO_STREAM;
  struct roce_packet p = {};

  if (!parse_plain(ctx, 1, &p, &linear, &length))
    return 0;
  noted->what = roce_what(&p, 1) | (__u64)p.tos << 16 | (__u64)p.l3 << 24 | (__u64)p.vlan << 32;
  noted->qp_psn = p.key.qp_kind | (__u64)p.psn << 32;
  noted->src_dst = p.key.src[3] | (__u64)p.key.dst[3] << 32;
  roce_count(0, ROCE_CLASS_V2, &p, length);
  if (config.track)
    id = roce_track(0, &p, length);
  noted->length = length | (__u64)id << 32;
  return 1;
}

/* Takes the packet that note_plain has read in hand: the few that want more than that. */
__attribute__((noinline)) int take_in_hand(struct xdp_md *ctx, __u32 length, __u32 id) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  struct roce_passing *passing = roce_passing_of(0);
  struct roce_packet *p;

  if (!passing)
    return 0;
  p = &passing->packet;
  __builtin_memset(p, 0, sizeof(*p));
  passing->class_ = roce_parse(data, end, config.udp_port_be, p);
  p->key.qp_kind |= config.side;
  passing->length = length;
  passing->linear = (__u32)(end - data);
  passing->stream = id;
  return 1;
}

/* Marking, and nothing else, needs no plan: what CE and RED rules do. 1 when that was all. */
static ROCE_INLINE int mark_plain(struct xdp_md *ctx, const struct roce_rule *rule,
                                  struct roce_rule_count *count, __u32 tos, __u32 l3, __u32 ipv4,
                                  __u32 id, __u64 now) {
  __u32 act = rule->action.act;
  struct roce_totals *t;

  if (act & ~(__u32)(ROCE_ACT_CE | ROCE_ACT_RED | ROCE_ACT_FORCE) || rule->select.limit)
    return 0;
  t = roce_totals_of(0);
  if (!t || !roce_can_mark(tos & 3, ROCE_CLASS_V2, act))
    return 1;
  count->acted++;
  t->marked++;
  roce_trace_rule(0, rule, ROCE_ACT_CE);
  roce_remember_ce(0, id, now);
  roce_set_tos(roce_frame_l3(ctx, l3), roce_frame_end(ctx), ipv4 != 0, tos | ROCE_ECN_CE);
  return 1;
}

/* No fate yet: a rule wants more than was noted. */
#define LOOK_CLOSER (-1)

/* The packet that was noted against the rules: most of them meet none, or one that lets them go. */
__attribute__((noinline)) int meet_noted(struct xdp_md *ctx, __u64 what, __u64 qp_psn,
                                         __u64 src_dst, __u64 length_id) {
  const struct roce_ruleset *set = roce_rules_of(0);
  __u32 length = (__u32)length_id, id = length_id >> 32;
  const struct roce_stream *s = ROCE_NULL;
  struct roce_facts facts = {};
  struct roce_rule_state *state;
  struct roce_rule_count *count;
  struct roce_passing *passing;
  const struct roce_rule *rule;
  __u64 left, n, now;

  if (!set)
    return ROCE_GO_ON;
  facts.what = what & 0xffff;
  facts.length = length;
  facts.tos = (what >> 16) & 255;
  facts.vlan = what >> 32;
  facts.qp_kind = (__u32)qp_psn;
  facts.psn = qp_psn >> 32;
  facts.src = (__u32)src_dst;
  facts.dst = src_dst >> 32;
  if (config.features & ROCE_FEATURE_EVENTS) {
    s = roce_stream_at(0, id);
    facts.place = s ? roce_place(facts.psn, s) : 0;
    if (s)
      roce_number_anew(0, &s->key, id);
  }
  if (config.uses & ROCE_USES_BTH) {
    __u32 l3 = (what >> 24) & 255;

    roce_read_bth(ctx,
                  l3 + (roce_frame_is_ipv4(ctx, l3) ? ROCE_IPV4_LEN : ROCE_IPV6_LEN) + ROCE_UDP_LEN,
                  &facts);
  }
  left = roce_match_tables(set, config.uses, &facts);
  if (!left)
    return ROCE_GO_ON;
  rule = roce_first_rule(set, left);
  if (rule->checks) {
    take_in_hand(ctx, length, id);
    return LOOK_CLOSER;
  }
  roce_trace_rule(0, rule, 0);
  state = roce_rule_state_at(0, rule->slot);
  count = roce_rule_count_at(0, rule->slot);
  if (!state || !count || !roce_select(0, rule, state, count, length, &n) ||
      !roce_gate(0, rule, state, length, n, &now))
    return ROCE_GO_ON;
  if (config.features & ROCE_FEATURE_EDIT &&
      mark_plain(ctx, rule, count, facts.tos, (what >> 24) & 255, facts.qp_kind & ROCE_KEY_IPV4, id,
                 now))
    return ROCE_GO_ON;
  take_in_hand(ctx, length, id);
  passing = roce_passing_of(0);
  if (passing) {
    passing->place = n;
    passing->now = now;
  }
  return roce_act(ctx, 0, rule);
}

static ROCE_INLINE int impair(struct xdp_md *ctx) {
  struct noted noted;
  int fate = LOOK_CLOSER;

  if (note_plain(ctx, &noted))
    fate = meet_noted(ctx, noted.what, noted.qp_psn, noted.src_dst, noted.length);
  else
    count_frame(ctx);
  return fate == LOOK_CLOSER ? roce_meet_rules(ctx, 0) : fate;
}

static ROCE_INLINE void count_not_forwarded(void) {
  struct roce_totals *t = roce_totals_of(0);

  if (t)
    t->not_forwarded++;
}

/* Counted when the rule chose it, and nobody gets it. */
static ROCE_INLINE void take_back_duplicate(void) {
  struct roce_totals *t = roce_totals_of(0);

  if (t)
    t->duplicated--;
}

/* Out by a bridge's other port. */
static ROCE_INLINE int forward_frame(void) {
  int verdict = (int)bpf_redirect_map(&forward, 0, XDP_DROP);

  if (verdict != XDP_REDIRECT)
    count_not_forwarded();
  return verdict;
}

/*
 * To the endpoint in userspace that has the frame's address. Where none reads, or none has it, the
 * frame is the host's.
 */
static __attribute__((noinline)) int to_socket(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  struct roce_endpoint to = {};
  __u32 what = roce_steer(data, end, config.udp_port_be, &to);
  struct roce_totals *t;
  const __u32 *takes;
  int verdict;

  if (!what)
    return XDP_PASS;
  takes = bpf_map_lookup_elem(&endpoints, &to);
  if (!takes || !(*takes & what))
    return XDP_PASS;
  verdict = (int)bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_PASS);
  if (verdict != XDP_REDIRECT && (t = roce_totals_of(0)))
    t->no_socket++;
  return verdict;
}

/* Frames that nothing holds back. */
static ROCE_INLINE int let_go(struct xdp_md *ctx) {
  if (config.features & ROCE_FEATURE_FORWARD)
    return forward_frame();
  return config.features & ROCE_FEATURE_SOCKETS ? to_socket(ctx) : XDP_PASS;
}

static ROCE_INLINE int verdict_of(struct xdp_md *ctx, int fate) {
  if (fate == ROCE_GONE)
    return XDP_DROP;
  /* a bridge's ports are known to take redirects; veth's XDP_TX wants more of its other end */
  if (fate == ROCE_BACK_AS_CNP)
    return config.features & ROCE_FEATURE_FORWARD ? (int)bpf_redirect(ctx->ingress_ifindex, 0)
                                                  : XDP_TX;
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_TWICE) {
    if (roce_other_port_is_there())
      return (int)bpf_redirect_map(&twice, 0, BPF_F_BROADCAST);
    take_back_duplicate();
  }
  if (config.features & ROCE_FEATURE_CLONE && fate == ROCE_GO_ON_WITH_CNP) {
    if (!roce_other_port_is_there()) /* the CNP goes back all the same */
      count_not_forwarded();
    return (int)bpf_redirect_map(&with_cnp, 0, BPF_F_BROADCAST);
  }
  return let_go(ctx);
}

SEC("xdp.frags")
int xdp_roce(struct xdp_md *ctx) {
  int fate = ROCE_GO_ON, verdict;

  if (config.features & ROCE_FEATURE_CAPTURE)
    capture_begin(ctx);
  if (config.features & ROCE_FEATURE_RULES)
    fate = impair(ctx);
  else if (!(config.track ? track_plain(ctx) : count_plain(ctx, 0)))
    count_frame(ctx);
  verdict = verdict_of(ctx, fate);
  if (config.features & ROCE_FEATURE_CAPTURE)
    capture_end(ctx, fate, verdict);
  return verdict;
}

/* On a copy that goes back to where the frame came from: makes the CNP of it. */
SEC("xdp.frags/devmap")
int cnp_egress(struct xdp_md *ctx) {
  const __u8 *data = (const __u8 *)(long)ctx->data;
  const __u8 *end = (const __u8 *)(long)ctx->data_end;
  struct roce_passing *passing = roce_passing_of(0);
  struct roce_totals *t = roce_totals_of(0);
  const struct roce_aside *aside;
  struct roce_packet *p;
  __u32 id;
  __u64 cnp;

  if (!passing || !t)
    return XDP_DROP;
  p = &passing->packet;
  __builtin_memset(p, 0, sizeof(*p));
  if (roce_parse(data, end, config.udp_port_be, p) != ROCE_CLASS_V2)
    return XDP_DROP;
  p->key.qp_kind |= config.side;
  roce_key_fill(&p->key);
  id = roce_table_find(0, &p->key, roce_key_hash(&p->key, config.hash_seed));
  aside = roce_aside_at(0, id & (ROCE_ASIDES - 1));
  cnp = aside ? ROCE_LOAD(&aside->cnp) : 0;
  if (id == ROCE_NO_STREAM || cnp >> 40 != id + 1 ||
      !roce_become_cnp(ctx, 0, (__u32)(end - data), cnp & 0xffffff, (cnp >> 24) & 0xfc)) {
    t->not_cloned++;
    return XDP_DROP;
  }
  t->cnps_sent++;
  return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
