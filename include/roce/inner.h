/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The frame inside a frame's tunnels: at most two, one in the other. Offsets are kept between the
 * steps, not pointers, so that the verifier follows one step at a time.
 */
#ifndef ROCE_INNER_H
#define ROCE_INNER_H

#include "follow_frame.h"
#include "mirror.h"

#define ROCE_TUNNEL_DEPTH 2
#define ROCE_QINQ_TAGS 4 /* most that are read, with ROCE_TUNNEL_QINQ */

/* The frame as a whole, of which the network layer is at `l3`; for frames without Ethernet. */
static ROCE_INLINE void roce_inner_begin(struct roce_inner *in, __u32 l3, __u16 type_be) {
  __builtin_memset(in, 0, sizeof(*in));
  in->l3 = l3;
  in->type_be = type_be;
}

/* 1 for the tag of 802.1Q or 802.1ad, and with `old` for that used before 802.1ad. */
static ROCE_INLINE int roce_is_tag(__u16 type_be, int old) {
  return roce_is_vlan(type_be) || (old && type_be == roce_swap16(ROCE_ETHERTYPE_QINQ_OLD));
}

/*
 * Reads the Ethernet header at in->start and its tags. With ROCE_TUNNEL_QINQ, only the last tag
 * counts as part of the frame.
 */
ROCE_OUTLINE int roce_inner_ethernet(struct roce_frame *frame, struct roce_env *env) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  const __u8 *end = roce_frame_end(frame), *cur;
  int qinq = (roce_decap(env) >> ROCE_TUNNEL_QINQ) & 1;
  struct roce_inner *in;
  __u32 at;
  __u16 type;

  if (!scratch)
    return 0;
  in = &scratch->inner;
  at = in->start;
  ROCE_BOUND(at, ROCE_INNER_MAX);
  in->type_be = 0;
  in->vlan = 0;
  in->cut = 1;
  cur = roce_frame_data(frame) + at + ROCE_ETH_LEN;
  if (cur > end)
    return 0;
  type = roce_load16(cur - 2);
  at += ROCE_ETH_LEN;
  ROCE_OPAQUE(cur); /* not to be computed again, in another register, from data and at */
  for (int i = 0; i < (qinq ? ROCE_QINQ_TAGS : ROCE_VLAN_MAX) && roce_is_tag(type, qinq); i++) {
    if (cur + ROCE_VLAN_LEN > end)
      return 0;
    if (!i || qinq)
      in->vlan = ROCE_VLAN_TAGGED | (roce_be16(cur) & ROCE_VLAN_TCI);
    if (i && qinq) {
      in->start += ROCE_VLAN_LEN;
      in->from.tunnels |= 1 << ROCE_TUNNEL_QINQ;
    }
    type = roce_load16(cur + 2);
    cur += ROCE_VLAN_LEN;
    at += ROCE_VLAN_LEN;
    ROCE_OPAQUE(cur);
  }
  in->l3 = at;
  in->type_be = type;
  in->cut = 0;
  return 1;
}

/* Takes off the tunnel at in->l3. 1 when there was one. */
ROCE_OUTLINE int roce_inner_peel(struct roce_frame *frame, struct roce_env *env) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  const __u8 *data = roce_frame_data(frame), *end = roce_frame_end(frame);
  struct roce_origin from = {};
  struct roce_peeled peeled = {};
  struct roce_inner *in;
  __u32 l3, link, at, ecn;

  if (!scratch)
    return 0;
  in = &scratch->inner;
  l3 = in->l3;
  ROCE_BOUND(l3, ROCE_INNER_MAX);
  if (!roce_peel(data + l3, end, in->type_be, roce_decap(env), 0, &from, &peeled)) {
    in->from.flags |= from.flags & ROCE_ORIGIN_FRAGMENT;
    return 0;
  }
  at = (__u32)(peeled.at - data);
  if (at > ROCE_INNER_MAX)
    return 0;
  if (in->depth >= ROCE_TUNNEL_DEPTH) {
    in->from.flags |= ROCE_ORIGIN_DEEP;
    return 0;
  }
  from.ip = (__u16)l3;
  from.tunnels = (__u8)(in->from.tunnels | 1u << (from.tunnel & 7));
  ecn = roce_nest_ecn(in->from.flags, from.flags);
  from.flags |= in->from.flags & ~(__u32)ROCE_ORIGIN_SEQUENCED;
  if (in->from.flags & ROCE_ORIGIN_SESSION) { /* the outer session is that of the frame */
    in->from.tunnels = from.tunnels;
    in->from.flags |= from.flags & ROCE_ORIGIN_TRUNCATED;
  } else {
    in->from = from;
  }
  in->from.flags = (in->from.flags & ~(__u32)(ROCE_ORIGIN_ECN | ROCE_ORIGIN_NOT_ECT)) | ecn;
  in->depth++;
  link = in->l3 - in->start;
  in->type_be = peeled.type_be;
  in->l3 = at;
  in->start = peeled.type_be ? at - link : at;
  return 1;
}

/*
 * Finds the frame inside the current frame's tunnels: scratch->inner. Before, it is the frame as a
 * whole (roce_inner_begin), of which the Ethernet header is read if its type is 0.
 */
ROCE_OUTLINE int roce_inner_find(struct roce_frame *frame, struct roce_env *env) {
  struct roce_scratch *scratch = roce_scratch_of(env);

  if (!scratch)
    return 0;
  ROCE_ROLLED
  for (int i = 0; i <= ROCE_TUNNEL_DEPTH; i++) {
    if (!scratch->inner.type_be && !roce_inner_ethernet(frame, env))
      return 1;
    if (!roce_inner_peel(frame, env))
      return 1;
  }
  return 1;
}

/*
 * Gives a packet of class `class_` the ECN bits with which it leaves its tunnels. RoCEv1 has none.
 */
static ROCE_INLINE void roce_inner_ecn(struct roce_origin *from, int class_,
                                       struct roce_packet *p) {
  __u32 outer = roce_outer_ecn(from->flags);

  if (class_ != ROCE_CLASS_V2)
    from->flags &= ~(__u32)ROCE_ORIGIN_NOT_ECT;
  if (class_ != ROCE_CLASS_V2 || !outer)
    return;
  from->flags |= roce_ecn_drops(outer, p->ecn);
  p->ecn = roce_ecn_decap(outer, p->ecn);
}

/*
 * Parses the frame found, like roce_parse and roce_check_length. `length` is the frame's on the
 * wire, and becomes that of the inner one; a mirror may have cut it, then it is the length that the
 * packet had.
 */
static ROCE_INLINE int roce_inner_parse(const __u8 *data, const __u8 *end, __u16 port_be,
                                        struct roce_inner *in, struct roce_packet *p,
                                        __u32 *length) {
  __u32 start = in->start, l3 = in->l3;
  int class_ = ROCE_CLASS_OTHER, whole = (__u32)(end - data) >= *length;

  ROCE_BOUND(start, ROCE_INNER_MAX);
  ROCE_BOUND(l3, ROCE_INNER_MAX);
  p->vlan = in->vlan;
  if (in->cut || data + l3 > end)
    p->cut = 1;
  else
    class_ = roce_parse_l3(data + start, data + l3, end, in->type_be, port_be, p);
  roce_inner_ecn(&in->from, class_, p);
  *length = *length > start ? *length - start : 0;
  if (in->depth && p->cut && whole)
    in->from.flags |= ROCE_ORIGIN_TRUNCATED;
  if (p->end <= *length)
    return class_;
  if (!in->depth) {
    p->cut = 0;
    return ROCE_CLASS_MALFORMED;
  }
  in->from.flags |= ROCE_ORIGIN_TRUNCATED;
  *length = p->end;
  return class_;
}

/*
 * Counts the tunnels of the current frame (scratch->inner.from) and accounts for its mirror
 * session.
 */
static ROCE_INLINE int roce_origin_see(struct roce_frame *frame, struct roce_env *env) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_totals *t = roce_totals_of(env);
  const struct roce_origin *from;

  if (!t || !scratch)
    return 0;
  from = &scratch->inner.from;
  if (ROCE_LIKELY(from->tunnels == 1u << (from->tunnel & 7))) {
    t->tunnels[from->tunnel & 7]++;
  } else {
    ROCE_ROLLED
    for (__u32 i = 0; i < ROCE_TUNNEL_COUNTS; i++)
      t->tunnels[i] += from->tunnels >> i & 1;
  }
  if (ROCE_UNLIKELY(from->flags & (ROCE_ORIGIN_TRUNCATED | ROCE_ORIGIN_FRAGMENT | ROCE_ORIGIN_DEEP |
                                   ROCE_ORIGIN_NOT_ECT))) {
    t->truncated += (from->flags & ROCE_ORIGIN_TRUNCATED) != 0;
    t->tunnel_fragments += (from->flags & ROCE_ORIGIN_FRAGMENT) != 0;
    t->tunnels_deep += (from->flags & ROCE_ORIGIN_DEEP) != 0;
    t->not_ect_in_ce += (from->flags & ROCE_ORIGIN_NOT_ECT) != 0;
  }
  if (from->flags & ROCE_ORIGIN_SESSION)
    scratch->inner.mark = roce_mirror_see(frame, env, from);
  return 1;
}

/* After the frame's packet was tracked in stream `id`, or in none (ROCE_NO_STREAM). */
static ROCE_INLINE int roce_inner_marked(struct roce_env *env, __u32 id) {
  const struct roce_scratch *scratch = roce_scratch_of(env);

  if (scratch)
    roce_marked(env, id, scratch->inner.mark);
  return 0;
}

/*
 * The common case: takes off one tunnel of IP around an Ethernet frame. Returns the offset of that
 * frame (0: there is no tunnel) with scratch->inner.from, or more than ROCE_INNER_MAX: another
 * case.
 */
static ROCE_INLINE __u32 roce_peel_plain(struct roce_frame *frame, struct roce_env *env) {
  const __u8 *data = roce_frame_data(frame), *end = roce_frame_end(frame);
  const __u8 *l3 = data + ROCE_ETH_LEN;
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_peeled peeled = {};
  struct roce_origin from = {};
  __u16 type;

  if (!scratch || l3 + ROCE_VLAN_LEN > end)
    return ~0u;
  scratch->inner.mark = 0;
  type = roce_load16(data + 12);
  from.ip = ROCE_ETH_LEN;
  if (roce_is_vlan(type)) {
    type = roce_load16(data + 16);
    l3 += ROCE_VLAN_LEN;
    from.ip = ROCE_ETH_LEN + ROCE_VLAN_LEN;
  }
  if (!roce_peel(l3, end, type, roce_decap(env), 1, &from, &peeled))
    return from.flags & ROCE_ORIGIN_FRAGMENT ? ~0u : 0;
  if (peeled.type_be)
    return ~0u;
  from.tunnels = (__u8)(1u << (from.tunnel & 7));
  if (from.flags & ROCE_ORIGIN_COPY)
    from.flags &= ~(__u32)ROCE_ORIGIN_ECN;
  scratch->inner.from = from;
  return (__u32)(peeled.at - data);
}

/* roce_inner_ecn of the frame in scratch->inner. */
static ROCE_INLINE void roce_inner_plain_ecn(struct roce_env *env, struct roce_packet *p) {
  struct roce_scratch *scratch = roce_scratch_of(env);

  if (scratch && ROCE_UNLIKELY(scratch->inner.from.flags & ROCE_ORIGIN_ECN))
    roce_inner_ecn(&scratch->inner.from, ROCE_CLASS_V2, p);
}

/*
 * A frame with a common tunnel (roce_peel_plain), and a plain packet inside (roce_parse_plain). 1
 * when done; 0: the caller uses roce_count_inner.
 */
static ROCE_SEPARATE int roce_count_inner_plain(struct roce_frame *frame, struct roce_env *env) {
  __u32 shift = roce_peel_plain(frame, env), length;
  const __u8 *data, *end;
  struct roce_packet p = {};

  if (!shift || shift > ROCE_INNER_MAX || roce_features(env) & ROCE_FEATURE_CLASSES)
    return 0;
  ROCE_BOUND(shift, ROCE_INNER_MAX);
  data = roce_frame_data(frame) + shift;
  end = roce_frame_end(frame);
  if (roce_parse_plain(data, end, roce_port_be(env), &p) != ROCE_CLASS_V2)
    return 0;
  roce_inner_plain_ecn(env, &p);
  length = (__u32)(end - data);
  if (ROCE_UNLIKELY(p.end > length)) {
    length = roce_frame_length(frame, length + shift) - shift;
    if (p.end > length) {
      struct roce_scratch *scratch = roce_scratch_of(env);

      if (!scratch)
        return 0;
      scratch->inner.from.flags |= ROCE_ORIGIN_TRUNCATED;
      length = p.end;
    }
  }
  if (roce_tracks(env) && ROCE_UNLIKELY(roce_is_gsi(&p)))
    return 0;
  p.key.qp_kind |= roce_side(env);
  roce_origin_see(frame, env);
  roce_count(env, ROCE_CLASS_V2, &p, length);
  if (!roce_tracks(env))
    return 1;
  roce_inner_marked(env, roce_track_to_follow(env, &p, shift, length));
  return 1;
}

/* Any frame of a port that takes tunnels off. 1 when done. */
ROCE_OUTLINE int roce_count_inner(struct roce_frame *frame, struct roce_env *env) {
  const __u8 *data = roce_frame_data(frame), *end = roce_frame_end(frame);
  __u32 linear = (__u32)(end - data), length = roce_frame_length(frame, linear);
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_packet *p;
  __u32 id, start;
  int class_;

  if (!scratch)
    return 0;
  p = &scratch->packet;
  __builtin_memset(p, 0, sizeof(*p));
  roce_inner_begin(&scratch->inner, 0, 0);
  roce_inner_find(frame, env);
  data = roce_frame_data(frame);
  end = roce_frame_end(frame);
  class_ = roce_inner_parse(data, end, roce_port_be(env), &scratch->inner, p, &length);
  ROCE_STAGE();
  p->key.qp_kind |= roce_side(env);
  roce_origin_see(frame, env);
  start = scratch->inner.start;
  ROCE_BOUND(start, ROCE_INNER_MAX);
  if (!roce_account(env, class_, p, roce_frame_data(frame) + start, roce_frame_end(frame), length,
                    roce_tracks(env) != 0))
    return 1;
  roce_learn_mad(env, p);
  id = roce_track_any(env, p, length);
  roce_inner_marked(env, id);
  roce_job_packet(env, p, id);
  roce_note_tracked(env, p, id, start, length);
  return 1;
}

#endif
