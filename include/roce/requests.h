/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The requests of a followed pair: when they go back, why, and what is sent again. */
#ifndef ROCE_REQUESTS_H
#define ROCE_REQUESTS_H

#include "follow.h"

/*
 * Requests that go back this soon after the one before them are not sent again by a timer: timers
 * of RNICs are longer. A single one is then a copy, made on the way.
 */
#define ROCE_COPY_NS 100000

/*
 * Only the NAK's PSN came at first. If the requester goes back now, without a pause for a timer,
 * that was a late packet, and this is what the NAK asked for.
 */
static ROCE_INLINE int roce_follow_was_late_packet(const struct roce_follow *f) {
  return f->flags & ROCE_FOLLOW_OPEN && f->flags & ROCE_FOLLOW_ALONE &&
         f->back.ns - f->back.sent_ns < ROCE_COPY_NS;
}

/*
 * The request that an RNR NAK refused comes once more, and nothing was acknowledged since: a
 * further RNR NAK may have passed elsewhere. Nothing is missing.
 */
static ROCE_INLINE void roce_follow_tried_again_after_rnr(struct roce_env *env,
                                                          struct roce_follow *f) {
  const struct roce_back *b = &f->back;

  if (!(f->flags & ROCE_FOLLOW_OPEN) || f->open.cause != ROCE_CAUSE_RNR)
    roce_follow_begin_episode(env, f, ROCE_CAUSE_RNR, ROCE_KIND_REQUEST, b->psn, b->end);
  if (f->open.resent_ns)
    return;
  f->open.resent_ns = b->ns;
  f->open.resent_frame = b->frame;
  f->open.last_sent_ns = roce_back_sent(b);
}

/*
 * The requester went back, beginning with the packet that waits in `back`. If it is before the
 * NAK's PSN, it may be of the NAK before, or a timeout at the same time: then it is not wrong.
 */
static ROCE_SEPARATE void roce_follow_requester_went_back(struct roce_env *env,
                                                          struct roce_follow *f, __u64 now) {
  const struct roce_back *b = &f->back;
  __s32 off;

  if ((roce_follow_waits_for_resending(f) && b->ns >= f->open.nak_ns) ||
      roce_follow_was_late_packet(f)) {
    f->flags &= ~(__u32)ROCE_FOLLOW_ALONE;
    roce_follow_mark_for_capture(env);
    f->open.resent_ns = b->ns;
    f->open.resent_frame = b->frame;
    f->open.last_sent_ns = roce_back_sent(b);
    off = f->open.cause == ROCE_CAUSE_NAK ? roce_psn_diff(b->psn, f->open.first_missing) : 0;
    if (off < 0 && b->psn != f->nak_before && b->psn != f->acked_before)
      roce_follow_report_finding(env, f, ROCE_FINDING_WRONG_PSN, now, b->frame, f->open.nak_frame,
                                 f->open.first_missing, b->psn, f->open.first_missing);
    if (off > 0) { /* or the NAK's PSN was lost again: a further NAK for it decides */
      f->flags |= ROCE_FOLLOW_AFTER;
      f->after_psn = b->psn;
      f->after_frame = b->frame;
    }
  } else if (f->flags & ROCE_FOLLOW_NAK_AGAIN) {
    f->flags &= ~(__u32)ROCE_FOLLOW_NAK_AGAIN;
  } else if (f->flags & ROCE_FOLLOW_REFUSED && b->psn == f->rnr_psn) {
    roce_follow_tried_again_after_rnr(env, f);
  } else {
    int timer = f->response != ROCE_NO_STREAM && b->ns - b->sent_ns >= ROCE_COPY_NS;

    roce_follow_begin_episode(env, f, timer ? ROCE_CAUSE_TIMEOUT : ROCE_CAUSE_UNKNOWN,
                              ROCE_KIND_REQUEST, b->psn, b->missing_end);
    f->open.missing = b->missing;
    f->open.seen_ns = b->missing ? f->ahead_ns : 0;
    f->open.last_sent_ns = roce_back_sent(b);
    f->open.resent_ns = b->ns;
    f->open.resent_frame = b->frame;
    if (f->open.cause == ROCE_CAUSE_TIMEOUT)
      roce_follow_compare_timers(f, b->psn, b->ns);
  }
  f->open.resent_packets += b->packets;
  f->open.resent_bytes += b->bytes;
  f->open.resent_needlessly += b->arrived;
}

/* Copies of packets, one after the other, are an episode of their own beside the open one. */
static ROCE_INLINE void roce_follow_copied_packets(struct roce_env *env, struct roce_follow *f,
                                                   int kind, const struct roce_back *b) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  struct roce_episode *copy;

  if (!scratch)
    return;
  copy = &scratch->copy; /* not on BPF's stack */
  __builtin_memset(copy, 0, sizeof(*copy));
  copy->cause = ROCE_CAUSE_DUPLICATE;
  copy->kind = (__u8)kind;
  copy->request = f->request;
  copy->response = f->response;
  copy->first_missing = b->psn;
  copy->end = b->end;
  copy->last_sent_ns = roce_back_sent(b);
  copy->resent_ns = copy->recovered_ns = b->ns;
  copy->resent_frame = b->frame;
  copy->resent_packets = copy->resent_needlessly = b->packets;
  copy->resent_bytes = b->bytes;
  roce_follow_mark_for_capture(env);
  roce_follow_count_episode(env, f, ROCE_CAUSE_DUPLICATE);
  roce_emit_episode(env, copy);
}

/* A new round begins with what waits in `back`. */
static ROCE_INLINE void roce_follow_begin_round(struct roce_follow *f) {
  const struct roce_back *b = &f->back;

  if (b->gap == b->gap_end) {
    roce_round_again(&f->round, b->expected, b->psn, b->end);
  } else {
    roce_round_again(&f->round, b->expected, b->psn, b->gap);
    roce_round_forward(&f->round, b->gap_end, b->end);
  }
  if (f->round.holes && (!f->ahead_ns || f->ahead_of != f->round.expected)) {
    f->ahead_ns = roce_psn_diff(b->psn, f->round.expected) > 0 ? b->ns : b->gap_ns;
    f->ahead_of = f->round.expected;
  }
  roce_round_reach(&f->round, f->acked);
}

/* Adds a packet that follows to `back`. */
static ROCE_INLINE void roce_follow_join_going_back(struct roce_follow *f,
                                                    const struct roce_step *s) {
  struct roce_back *b = &f->back;

  if (s->psn != b->end && b->gap == b->gap_end) {
    b->gap = b->end;
    b->gap_end = s->psn;
    b->gap_ns = s->now;
  }
  b->end = s->end;
  b->packets++;
  b->bytes += s->length;
  b->seen = s->seen;
  b->arrived += s->seen;
  if (b->reaction)
    roce_follow_count_resent(f, s->psn, s->length, s->seen);
  roce_round_fill(&f->round, s->psn, s->end);
}

/* A go-back resumes at the oldest PSN without an ACK: `back`, after that one, is a copy. */
static ROCE_INLINE int roce_follow_resumed_after_oldest(const struct roce_follow *f) {
  return f->response != ROCE_NO_STREAM && roce_psn_diff(f->back.psn, f->acked) > 0;
}

/*
 * Decides what waits in `back`, by the next request `s`: the first that are sent again, or late, or
 * a copy. NULL: nothing follows. 1 when `s` was added to it.
 */
ROCE_OUTLINE int roce_follow_settle_going_back(struct roce_env *env, struct roce_follow *f,
                                               const struct roce_step *s) {
  struct roce_back *b;
  int late;

  if (!roce_follows(env, f, f) || !(f->flags & ROCE_FOLLOW_BACK))
    return 0;
  b = &f->back;
  late = b->ns - b->sent_ns >= ROCE_COPY_NS;
  if (s && roce_psn_diff(s->psn, b->end) >= 0 && roce_psn_diff(s->psn, b->last) < 0) {
    if (s->psn != b->end || (!s->seen && !b->seen)) {
      roce_follow_join_going_back(f, s);
      return 1;
    }
    if (!b->reaction)
      roce_follow_requester_went_back(env, f, s->now);
    f->sum.go_backs += f->open.cause == ROCE_CAUSE_NAK || f->open.cause == ROCE_CAUSE_RNR;
    roce_follow_begin_round(f);
  } else if (b->reaction) {
    if (s && b->end != b->last) {
      f->sum.selective++;
      f->flags |= ROCE_FOLLOW_ALONE;
    }
  } else if (late && b->seen && b->end == b->last && !roce_follow_resumed_after_oldest(f)) {
    roce_follow_requester_went_back(env, f, s ? s->now : b->ns);
  } else if (b->seen) {
    roce_follow_copied_packets(env, f, ROCE_KIND_REQUEST, b);
  }
  f->flags &= ~(__u32)ROCE_FOLLOW_BACK;
  return 0;
}

/* Decides what waits in `back` when an answer refuses PSN `psn`: if it is that, it went back. */
static ROCE_SEPARATE void roce_follow_settle_at_refusal(struct roce_env *env, struct roce_follow *f,
                                                        const struct roce_step *s) {
  if (!(f->flags & ROCE_FOLLOW_BACK) || f->back.psn != s->psn) {
    roce_follow_settle_going_back(env, f, ROCE_NULL);
    return;
  }
  if (!f->back.reaction)
    roce_follow_requester_went_back(env, f, s->now);
  roce_follow_begin_round(f);
  f->flags &= ~(__u32)ROCE_FOLLOW_BACK;
}

/* Notes a packet before the end of the previous one. */
static ROCE_INLINE void roce_follow_packet_before_end(struct roce_follow *f,
                                                      const struct roce_step *s) {
  struct roce_back *b = &f->back;

  f->flags |= ROCE_FOLLOW_BACK;
  b->ns = s->now;
  b->frame = s->frame;
  b->sent_ns = f->sent_ns;
  b->about = (f->flags & ROCE_FOLLOW_ABOUT) != 0;
  b->psn = s->psn;
  b->end = s->end;
  b->last = f->round.last;
  b->packets = 1;
  b->arrived = s->seen && roce_follow_waits_for_resending(f) && s->psn != f->open.first_missing;
  b->bytes = s->length;
  b->gap = b->gap_end = s->end;
  b->expected = f->round.expected;
  b->missing = roce_round_missing(&f->round, s->psn);
  b->missing_end = roce_psn_add(s->psn, 1);
  if (b->missing)
    b->missing_end = roce_round_missing_end(&f->round);
  b->seen = s->seen;
  b->reaction = roce_follow_waits_for_resending(f) && s->psn == f->open.first_missing;
  roce_round_fill(&f->round, s->psn, s->end);
}

/* Remembers the end of a message, for the MSN. */
static ROCE_INLINE void roce_follow_remember_message_end(struct roce_follow *f, __u32 psn) {
  f->ends[f->ends_count & (ROCE_FOLLOW_ENDS - 1)] = psn;
  f->ends_count++;
}

/* The open episode's missing PSNs have all passed. */
static ROCE_INLINE void roce_follow_check_recovered(struct roce_follow *f, __u64 now) {
  if (f->flags & ROCE_FOLLOW_OPEN && !f->open.recovered_ns && f->open.kind == ROCE_KIND_REQUEST &&
      roce_psn_diff(f->round.expected, f->open.end) >= 0)
    f->open.recovered_ns = now;
}

/* Whether the packet is the first after a missing PSN. */
static ROCE_INLINE void roce_follow_is_after_missing(struct roce_env *env, struct roce_follow *f,
                                                     const struct roce_step *s) {
  if (!f->round.holes || roce_psn_diff(s->psn, f->round.expected) <= 0 ||
      (f->ahead_ns && f->ahead_of == f->round.expected))
    return;
  roce_follow_mark_for_capture(env);
  f->ahead_ns = s->now;
  f->ahead_of = f->round.expected;
}

/*
 * A jump from the end of one message to the begin of another: if the MSN says that there is no
 * message between, the requester skipped PSNs. `ahead`: of the PSN expected.
 */
static ROCE_INLINE void roce_follow_jump_between_messages(struct roce_follow *f,
                                                          const struct roce_step *s, __s32 ahead) {
  __u32 ended = f->ends[(f->ends_count - 1) & (ROCE_FOLLOW_ENDS - 1)];

  if (ahead <= 0 || !f->ends_count || roce_psn_add(ended, 1) != f->next ||
      s->info & (ROCE_OP_MIDDLE | ROCE_OP_LAST) ||
      (f->flags & (ROCE_FOLLOW_JUMP | ROCE_FOLLOW_MISSED | ROCE_FOLLOW_MSN)) != ROCE_FOLLOW_MSN)
    return;
  f->flags |= ROCE_FOLLOW_JUMP;
  f->jump_from = f->next;
  f->jump_to = s->psn;
  f->jump_frame = s->frame;
}

/*
 * The request after a READ of unknown length: the READ ends there. Returns how far it is ahead of
 * the PSN expected.
 */
static ROCE_INLINE __s32 roce_follow_end_read_of_unknown_length(struct roce_follow *f,
                                                                const struct roce_step *s,
                                                                __s32 ahead) {
  if (!(f->flags & ROCE_FOLLOW_UNKNOWN_READ))
    return ahead;
  f->flags &= ~(__u32)ROCE_FOLLOW_UNKNOWN_READ;
  if (roce_psn_diff(s->psn, f->round.last) > 0)
    roce_round_forward(&f->round, f->round.last, s->psn);
  if (ahead <= 0)
    return ahead;
  f->next = s->psn;
  return 0;
}

/* Counts READs and atomics that were sent after the answer to the previous one. */
static ROCE_INLINE void roce_follow_count_turn(struct roce_follow *f, const struct roce_step *s,
                                               int again) {
  if (!s->asks)
    return;
  f->sum.reads_cut += s->unknown && !s->dma_len;
  f->sum.reads_again += again && s->info & ROCE_OP_READ_REQUEST;
  if (again || f->flags & ROCE_FOLLOW_TURN)
    return;
  f->flags |= ROCE_FOLLOW_TURN;
  f->turn_psn = s->psn;
}

/* A request of RC or XRC. */
ROCE_OUTLINE int roce_follow_request(struct roce_env *env, struct roce_follow *f,
                                     const struct roce_step *s) {
  __s32 ahead;
  int again, joined;

  if (!roce_follows(env, f, s))
    return 0;
  if (!(f->flags & ROCE_FOLLOW_STARTED))
    roce_follow_start_record(f, s);
  ahead = roce_psn_diff(s->psn, f->next);
  if (ahead >= ROCE_RESYNC_DISTANCE || ahead <= -ROCE_RESYNC_DISTANCE) {
    roce_follow_settle_going_back(env, f, ROCE_NULL);
    roce_follow_close_episode(env, f);
    roce_follow_start_record(f, s);
    ahead = 0;
  }
  roce_follow_payload(env, f, s);
  ahead = roce_follow_end_read_of_unknown_length(f, s, ahead);
  roce_follow_jump_between_messages(f, s, ahead);
  if (f->flags & ROCE_FOLLOW_AFTER && s->psn == f->nak_psn)
    f->flags &= ~(__u32)ROCE_FOLLOW_AFTER;
  if (ahead >= 0 && f->flags & ROCE_FOLLOW_BEYOND &&
      (ahead || roce_psn_diff(s->end, f->beyond_psn) >= 0)) {
    f->flags &= ~(__u32)ROCE_FOLLOW_BEYOND;
    if (!ahead) /* otherwise requests did not pass here, perhaps the one that was acknowledged */
      roce_follow_report_finding_here(env, f, ROCE_FINDING_ACK_BEYOND, s, f->beyond_frame,
                                      f->beyond_psn, s->psn, f->next);
  }
  f->requests++;
  again = ahead < 0;
  roce_follow_count_turn(f, s, again);
  joined = roce_follow_settle_going_back(env, f, s);
  if (!again && f->flags & ROCE_FOLLOW_OPEN && f->open.resent_ns && f->open.recovered_ns)
    roce_follow_close_episode(env, f);
  if (joined) {
    /* decided later */
  } else if (again && roce_psn_diff(s->psn, f->round.last) < 0) {
    if (roce_follow_requested_again(env, f, s) || roce_follow_tail_requested_again(env, f, s) ||
        roce_follow_rest_requested_again(env, f, s)) {
      roce_round_again(&f->round, f->round.expected, s->psn, s->end);
      f->reread_from = s->psn;
      f->reread_to = s->end;
      f->flags &= ~(__u32)ROCE_FOLLOW_REREAD;
    } else {
      roce_follow_packet_before_end(f, s);
      if (f->back.reaction)
        roce_follow_requester_went_back(env, f, s->now);
    }
  } else {
    if (again && roce_follow_waits_for_resending(f) && s->psn == f->open.first_missing) {
      roce_follow_mark_for_capture(env);
      f->open.resent_ns = s->now;
      f->open.resent_frame = s->frame;
      f->open.last_sent_ns = roce_follow_previous_request_ns(f);
    }
    /* Before the reaction to a NAK: the rest of the go-back before it. */
    if (again && f->flags & ROCE_FOLLOW_OPEN && f->open.kind == ROCE_KIND_REQUEST)
      roce_follow_count_resent(f, s->psn, s->length, s->seen);
    roce_round_forward(&f->round, s->psn, s->end);
  }
  roce_follow_is_after_missing(env, f, s);
  if (again && s->asks && f->reread_from != f->reread_to && roce_psn_diff(s->end, f->reread_to) > 0)
    f->reread_to = s->end;
  if (s->ends && !s->seen)
    roce_follow_remember_message_end(f, roce_psn_add(s->end, ROCE_PSN_MASK));
  if (!again) {
    f->next = s->end;
    f->newest = s->psn;
  } else if (roce_psn_diff(s->end, f->next) > 0) {
    f->next = s->end;
  }
  if (s->unknown) {
    f->flags |= ROCE_FOLLOW_UNKNOWN_READ;
    f->read_len = again ? 0 : s->dma_len;
  }
  roce_follow_check_recovered(f, s->now);
  f->sent_ns = s->now;
  f->flags &= ~(__u32)ROCE_FOLLOW_ABOUT;
  return 1;
}

#endif
