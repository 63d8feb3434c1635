/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The answers to a followed stream of requests: ACK, NAK, RNR NAK, READ responses, ATOMIC ACK. */
#ifndef ROCE_ANSWERS_H
#define ROCE_ANSWERS_H

#include "requests.h"

/* Notes whether PSNs before `psn`, which an answer acknowledges, did not pass here. */
static ROCE_INLINE void roce_follow_note_unseen_psns(struct roce_follow *f, __u32 psn) {
  if (!f->round.holes || roce_psn_diff(f->round.hole[0].start, psn) >= 0)
    return;
  f->flags |= ROCE_FOLLOW_MISSED;
  f->sum.unseen++;
}

/* All before `psn` is acknowledged. Not 0: PSNs more than before. */
static ROCE_INLINE __u32 roce_follow_acknowledge(struct roce_follow *f, const struct roce_step *s,
                                                 __u32 psn) {
  __s32 more = roce_psn_diff(psn, f->acked);

  if (more <= 0)
    return 0;
  f->acked = psn;
  f->flags &= ~(__u32)(ROCE_FOLLOW_NAKED | ROCE_FOLLOW_REFUSED | ROCE_FOLLOW_AFTER);
  if (f->flags & ROCE_FOLLOW_TURN && roce_psn_diff(psn, f->turn_psn) > 0) {
    f->flags &= ~(__u32)ROCE_FOLLOW_TURN;
    f->turns++;
  }
  roce_follow_note_unseen_psns(f, psn);
  if (f->timed_out_ns && roce_psn_diff(psn, f->timeout_psn) > 0)
    f->timed_out_ns = f->timeout_ns = 0;
  roce_round_reach(&f->round, psn);
  roce_follow_check_recovered(f, s->now);
  return (__u32)more;
}

/* Messages seen whose last PSN is before `psn`, modulo 2^24; -1: too many to know. */
ROCE_OUTLINE int roce_follow_messages_before(const struct roce_follow *f, __u32 psn) {
  __u32 after = 0;

  if (!f)
    return -1;
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_FOLLOW_ENDS; i++) {
    __u32 from_psn = (__u32)roce_psn_diff(f->ends[i], psn);

    if (i >= f->ends_count)
      break;
    ROCE_OPAQUE(from_psn); /* no branch: the verifier would follow 2^64 paths */
    after += 1 - (from_psn >> 31);
  }
  if (after == ROCE_FOLLOW_ENDS)
    return -1;
  return (__s32)((f->ends_count - after) & ROCE_PSN_MASK);
}

/*
 * What an MSN says where PSNs did not pass here: they may have ended messages, and the count is
 * that of the answer from now on. `same`: they ended none.
 */
static ROCE_INLINE void roce_follow_compare_msn_after_unseen(struct roce_env *env,
                                                             struct roce_follow *f,
                                                             const struct roce_step *s, __u32 psn,
                                                             int same) {
  if (!same)
    f->sum.msn_unchecked++;
  else if (f->flags & ROCE_FOLLOW_JUMP && roce_psn_diff(psn, f->jump_to) > 0)
    roce_follow_report_finding(env, f, ROCE_FINDING_PSN_VIOLATION, s->now, f->jump_frame, s->frame,
                               f->jump_to, (f->jump_to - f->jump_from) & ROCE_PSN_MASK,
                               f->jump_from);
  f->flags &= ~(__u32)(ROCE_FOLLOW_MISSED | ROCE_FOLLOW_JUMP);
  f->msn_forgotten = f->round.forgotten;
}

/* Compares the MSN of an answer that acknowledges all before `psn` with the requests seen. */
ROCE_OUTLINE int roce_follow_msn(struct roce_env *env, struct roce_follow *f,
                                 const struct roce_step *s, __u32 psn) {
  __s32 messages;
  __u32 offset;
  int same;

  if (!roce_follows(env, f, s))
    return 0;
  messages = roce_follow_messages_before(f, psn);
  /* What did not pass here may have ended messages. */
  if (messages < 0 || roce_psn_diff(psn, f->next) > 0) {
    f->sum.msn_unchecked++;
    f->flags &= ~(__u32)ROCE_FOLLOW_MSN;
    return 1;
  }
  offset = (s->msn - (__u32)messages) & ROCE_PSN_MASK;
  same = f->flags & ROCE_FOLLOW_MSN && offset == f->msn_offset;
  if (f->flags & ROCE_FOLLOW_MISSED || f->round.forgotten != f->msn_forgotten) {
    roce_follow_compare_msn_after_unseen(env, f, s, psn, same);
    f->msn_offset = f->msn_other = offset;
  } else if (f->flags & ROCE_FOLLOW_MSN && !same) {
    if (offset == f->msn_other) /* reported: from then on this is its count */
      f->msn_offset = offset;
    else
      roce_follow_report_finding_here(env, f, ROCE_FINDING_MSN, s, f->ack_frame,
                                      (psn - 1) & ROCE_PSN_MASK, s->msn,
                                      (f->msn_offset + (__u32)messages) & ROCE_PSN_MASK);
    f->msn_other = offset;
  } else {
    f->msn_offset = f->msn_other = offset;
  }
  f->flags |= ROCE_FOLLOW_MSN;
  f->ack_frame = s->frame;
  return 1;
}

/* PSN sequence error for s->psn. */
ROCE_OUTLINE int roce_follow_nak(struct roce_env *env, struct roce_follow *f,
                                 const struct roce_step *s) {
  int again, after, refused, acked, last;
  __u64 seen_ns;
  __u32 psn, end;

  if (!roce_follows(env, f, s))
    return 0;
  psn = s->psn;
  end = roce_psn_add(psn, 1);
  again = f->flags & ROCE_FOLLOW_NAKED && f->nak_psn == psn && f->acked == psn;
  after = again && f->flags & ROCE_FOLLOW_AFTER;
  /* It comes with the RNR NAK, for what was sent after the refused request. */
  refused = roce_follow_waits_for_resending(f) && f->open.cause == ROCE_CAUSE_RNR &&
            f->open.first_missing == psn;
  acked = roce_psn_diff(psn, f->acked) < 0;
  last = roce_psn_diff(psn, f->newest) >= 0;
  f->nak_before = f->sum.naks ? f->nak_psn : psn;
  f->acked_before = f->acked;
  f->sum.naks++;
  if (again && f->flags & ROCE_FOLLOW_OPEN && f->open.cause == ROCE_CAUSE_NAK &&
      f->open.first_missing == psn) {
    f->open.naks++;
    f->flags |= ROCE_FOLLOW_NAK_AGAIN;
  } else if (refused) {
    f->open.naks++;
  } else {
    roce_follow_note_unseen_psns(f, psn);
    seen_ns = f->ahead_ns && f->ahead_of == psn ? f->ahead_ns : 0;
    if (!acked && roce_psn_diff(psn, f->next) <= 0)
      roce_round_refuse(&f->round, psn);
    roce_follow_begin_episode(env, f, ROCE_CAUSE_NAK, ROCE_KIND_REQUEST, psn, end);
    f->open.naks = 1;
    f->open.nak_ns = s->now;
    f->open.nak_frame = s->frame;
    f->open.last_sent_ns = roce_follow_previous_request_ns(f);
    if (seen_ns) {
      f->open.seen_ns = seen_ns;
      f->open.missing = roce_round_missing(&f->round, psn);
      if (f->open.missing)
        f->open.end = roce_round_missing_end(&f->round);
    }
  }
  if (after) /* the responder asked again for what had not come */
    roce_follow_report_finding(env, f, ROCE_FINDING_WRONG_PSN, s->now, f->after_frame, f->nak_frame,
                               psn, f->after_psn, psn);
  else if (again)
    roce_follow_report_finding_here(env, f, ROCE_FINDING_REPEATED_NAK, s, f->nak_frame, psn, 0, 0);
  else if ((acked || last) && roce_psn_diff(psn, f->begun) >= 0)
    roce_follow_report_finding_here(env, f, ROCE_FINDING_NAK_WITHOUT_GAP, s, 0, psn, 0, 0);
  roce_follow_acknowledge(f, s, psn);
  f->flags &= ~(__u32)(ROCE_FOLLOW_JUMP | ROCE_FOLLOW_AFTER);
  f->flags |= ROCE_FOLLOW_NAKED;
  f->nak_psn = psn;
  f->nak_frame = s->frame;
  return 1;
}

static ROCE_INLINE void roce_follow_refused_by_rnr(struct roce_env *env, struct roce_follow *f,
                                                   const struct roce_step *s) {
  roce_follow_acknowledge(f, s, s->psn);
  f->flags &= ~(__u32)ROCE_FOLLOW_NAKED; /* the request has arrived since that NAK */
  f->flags |= ROCE_FOLLOW_REFUSED;
  f->rnr_psn = s->psn;
  if (roce_psn_diff(s->psn, f->next) < 0)
    roce_round_refuse(&f->round, s->psn);
  roce_follow_begin_episode(env, f, ROCE_CAUSE_RNR, ROCE_KIND_REQUEST, s->psn,
                            roce_psn_add(s->psn, 1));
  f->open.nak_ns = s->now;
  f->open.nak_frame = s->frame;
  f->open.rnr_timer = (__u8)(ROCE_SYNDROME_VALUE(s->syndrome) + 1);
  f->open.last_sent_ns = roce_follow_previous_request_ns(f);
}

ROCE_OUTLINE int roce_follow_ack(struct roce_env *env, struct roce_follow *f,
                                 const struct roce_step *s) {
  __u32 psn, more;

  if (!roce_follows(env, f, s))
    return 0;
  psn = roce_psn_add(s->psn, 1);
  if (roce_psn_diff(psn, f->next) > 0 && !(f->flags & ROCE_FOLLOW_UNKNOWN_READ)) {
    if (!(f->flags & ROCE_FOLLOW_BEYOND)) {
      f->flags |= ROCE_FOLLOW_BEYOND;
      f->beyond_psn = psn;
      f->beyond_frame = s->frame;
    }
    return 1;
  }
  more = roce_follow_acknowledge(f, s, psn);
  if (!more)
    return 1;
  f->sum.acks++;
  f->sum.acked_psns += more;
  roce_follow_msn(env, f, s, psn);
  return 1;
}

/* Answers stepped over [from, to); those that come now are taken out again. */
static ROCE_INLINE void roce_follow_take_out_of_stepped_over(struct roce_follow *f,
                                                             const struct roce_step *s) {
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_OVERS; i++) {
    if (i >= f->overs)
      break;
    if (f->over[i].from != f->over[i].to && f->over[i].from == s->psn)
      f->over[i].from = s->end;
  }
  if (roce_psn_diff(s->psn, f->answer_last) > 0) {
    struct roce_over *o = &f->over[f->overs & (ROCE_OVERS - 1)];

    o->ns = s->now;
    o->frame = s->frame;
    o->first = f->read_first;
    o->open = (f->flags & ROCE_FOLLOW_READ_OPEN) != 0;
    o->turn = f->turns + ((f->flags & ROCE_FOLLOW_TURN) != 0);
    o->from = f->answer_last;
    o->to = s->psn;
    o->fresh = roce_psn_diff(f->answer_next, o->from) > 0 ? f->answer_next : o->from;
    f->overs++;
  }
}

/* The open episode misses answers: what is sent again, and whether all came. */
static ROCE_INLINE void roce_follow_answer_again(struct roce_env *env, struct roce_follow *f,
                                                 const struct roce_step *s, int replay, int seen) {
  struct roce_episode *open = &f->open;
  int needed = !open->recovered_ns && s->psn == f->answer_left;

  if (!open->resent_ns && (needed || replay)) {
    roce_follow_mark_for_capture(env);
    open->resent_ns = s->now;
    open->resent_frame = s->frame;
  }
  if (open->resent_ns && roce_psn_diff(s->psn, f->answer_next) < 0)
    roce_follow_count_resent(f, s->psn, s->length, seen);
  if (!needed)
    return;
  f->answer_left = s->end;
  if (roce_psn_diff(f->answer_left, open->end) >= 0)
    open->recovered_ns = s->now;
}

static ROCE_SEPARATE void roce_follow_copied_answer(struct roce_env *env, struct roce_follow *f,
                                                    const struct roce_step *s) {
  struct roce_back b = {};

  b.ns = s->now;
  b.frame = s->frame;
  b.psn = s->psn;
  b.end = s->end;
  b.packets = 1;
  b.bytes = s->length;
  roce_follow_copied_packets(env, f, ROCE_KIND_RESPONSE, &b);
}

/* The PMTU that an answer shows gives the length of the newest READ in PSNs. */
static ROCE_SEPARATE void roce_follow_learn_read_length(struct roce_follow *f,
                                                        const struct roce_step *s) {
  __u32 last = (f->ends_count - 1) & (ROCE_FOLLOW_ENDS - 1), code, end;

  if (!(f->flags & ROCE_FOLLOW_UNKNOWN_READ) || !f->read_len ||
      !(s->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE)))
    return;
  code = roce_pmtu_code(s->payload);
  if (!code)
    return;
  end = roce_psn_add(f->newest, roce_read_psns(f->read_len, code & 7));
  f->flags &= ~(__u32)ROCE_FOLLOW_UNKNOWN_READ;
  if (f->round.last == f->next)
    roce_round_forward(&f->round, f->next, end);
  if (f->ends_count && f->ends[last] == f->newest)
    f->ends[last] = (end - 1) & ROCE_PSN_MASK;
  f->next = end;
}

/* An answer with a PSN of its own: a packet of a READ response, or an ATOMIC ACK. */
ROCE_OUTLINE int roce_follow_answer(struct roce_env *env, struct roce_follow *f,
                                    const struct roce_step *s) {
  const struct roce_over *over;
  int again, back, asked, seen;

  ROCE_FORGET(env);
  if (!roce_follows(env, f, s))
    return 0;
  roce_follow_payload(env, f, s);
  roce_follow_learn_read_length(f, s);
  over = roce_follow_stepped_over_in(f, s->psn, s->end);
  if (!(f->flags & ROCE_FOLLOW_ANSWERED)) {
    f->flags |= ROCE_FOLLOW_ANSWERED;
    f->answer_next = f->answer_last = s->psn;
    f->reread_from = f->reread_to = s->psn;
  }
  back = roce_psn_diff(s->psn, f->answer_last) < 0;
  again = roce_psn_diff(s->psn, f->answer_next) < 0;
  asked = roce_psn_diff(s->psn, f->reread_from) >= 0 && roce_psn_diff(s->psn, f->reread_to) < 0;
  if (back && asked)
    f->flags |= ROCE_FOLLOW_REREAD;
  /* The tracker takes what was stepped over between responses for PSNs without one. */
  seen = s->seen && !(over && roce_psn_diff(s->psn, over->fresh) >= 0);
  roce_follow_take_out_of_stepped_over(f, s);
  if (!(s->info & (ROCE_OP_MIDDLE | ROCE_OP_LAST)))
    f->read_first = s->psn;
  if (f->flags & ROCE_FOLLOW_OPEN && f->open.kind == ROCE_KIND_RESPONSE)
    roce_follow_answer_again(env, f, s, back && asked, seen);
  if (again && back && seen && !asked)
    roce_follow_copied_answer(env, f, s);
  f->answer_last = s->end;
  if (!again)
    f->answer_next = s->end;
  if (f->flags & ROCE_FOLLOW_REREAD && roce_psn_diff(s->end, f->reread_to) >= 0) {
    f->flags &= ~(__u32)ROCE_FOLLOW_REREAD;
    f->reread_from = f->reread_to;
  }
  f->flags &= ~(__u32)ROCE_FOLLOW_READ_OPEN;
  if (s->info & ROCE_OP_READ_RESPONSE && s->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE))
    f->flags |= ROCE_FOLLOW_READ_OPEN;
  if (roce_psn_diff(s->end, f->next) <= 0)
    roce_follow_acknowledge(f, s, s->end);
  return 1;
}

/* A packet of the answers' stream. */
static ROCE_INLINE int roce_follow_answers(struct roce_env *env, struct roce_follow *f,
                                           const struct roce_step *s) {
  __s32 ahead;

  if (!roce_follows(env, f, s) || !(f->flags & ROCE_FOLLOW_STARTED))
    return 0;
  ahead = roce_psn_diff(s->psn, f->next);
  if (ahead >= ROCE_RESYNC_DISTANCE || ahead <= -ROCE_RESYNC_DISTANCE)
    return 0;
  if (!(s->info & ROCE_OP_ACK)) {
    roce_follow_answer(env, f, s);
    return 1;
  }
  switch (ROCE_SYNDROME_TYPE(s->syndrome)) {
  case ROCE_ACK:
    roce_follow_ack(env, f, s);
    break;
  case ROCE_RNR_NAK:
    roce_follow_settle_at_refusal(env, f, s);
    roce_follow_refused_by_rnr(env, f, s);
    break;
  case ROCE_NAK:
    if (ROCE_SYNDROME_VALUE(s->syndrome))
      break;
    roce_follow_settle_at_refusal(env, f, s);
    roce_follow_nak(env, f, s);
    break;
  default:
    break;
  }
  return 1;
}

#endif
