/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Follows the requests of a QP pair and the answers to them together, and finds its episodes
 * (episode.h). One record a pair, given by the host; at most one open episode in it. pair.h calls
 * this for each packet, after the tracker.
 */
#ifndef ROCE_FOLLOW_H
#define ROCE_FOLLOW_H

#include "counters.h"
#include "followed.h"
#include "scratch.h"
#include "table.h"

/*
 * What a function that the verifier checks by itself begins with: its arguments are there, and the
 * port follows QP pairs (otherwise nothing of it is left to be checked).
 */
static ROCE_INLINE int roce_follows(struct roce_env *env, const void *one, const void *other) {
  return one && other && roce_features(env) & ROCE_FEATURE_FOLLOW;
}

/*
 * For capture: the current packet shows that requests are missing, or begins an episode, or is the
 * first that is sent again in it.
 */
static ROCE_INLINE void roce_follow_mark_for_capture(struct roce_env *env) {
  struct roce_scratch *scratch;

  if (!(roce_features(env) & ROCE_FEATURE_CAPTURE))
    return;
  scratch = roce_scratch_of(env);
  if (scratch)
    scratch->trace.found |= ROCE_FOUND_EPISODE;
}

/* Reports that frame `frame`, at `now`, does not agree with frame `other`. */
static ROCE_INLINE void roce_follow_report_finding(struct roce_env *env, struct roce_follow *f,
                                                   int type, __u64 now, __u64 frame, __u64 other,
                                                   __u32 psn, __u32 value, __u32 expected) {
  struct roce_finding *found = &f->found; /* not on BPF's stack */

  found->time_ns = now;
  found->frame = frame;
  found->other_frame = other;
  found->request = f->request;
  found->response = f->response;
  found->psn = psn;
  found->value = value;
  found->expected = expected;
  found->type = (__u8)type;
  f->open.findings |= f->flags & ROCE_FOLLOW_OPEN ? 1u << type : 0;
  roce_emit_finding(env, found);
}

/* Records a finding about the current packet. */
static ROCE_INLINE void roce_follow_report_finding_here(struct roce_env *env, struct roce_follow *f,
                                                        int type, const struct roce_step *s,
                                                        __u64 other, __u32 psn, __u32 value,
                                                        __u32 expected) {
  roce_follow_report_finding(env, f, type, s->now, s->frame, other, psn, value, expected);
}

/*
 * The payload of packets that fill the path MTU is always the same, and no other is longer. A
 * lasting change is reported once.
 */
ROCE_OUTLINE int roce_follow_payload(struct roce_env *env, struct roce_follow *f,
                                     const struct roce_step *s) {
  __u32 full, last;
  __u64 frame;
  int answer;

  if (!roce_follows(env, f, s))
    return 0;
  answer = (s->info & ROCE_OP_RESPONSE) != 0;
  full = answer ? f->answer_payload : f->payload;
  last = answer ? f->answer_payload_last : f->payload_last;
  frame = answer ? f->answer_payload_frame : f->payload_frame;
  if (!(s->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE))) {
    if (s->payload > full)
      roce_follow_report_finding_here(env, f, ROCE_FINDING_PMTU, s, frame, s->psn, s->payload,
                                      full);
    return 1;
  }
  if (full == ROCE_PAYLOAD_UNKNOWN || (s->payload != full && s->payload == last)) {
    full = s->payload;
    frame = s->frame;
  } else if (s->payload != full) {
    roce_follow_report_finding_here(env, f, ROCE_FINDING_PMTU, s, frame, s->psn, s->payload, full);
  }
  if (answer) {
    f->answer_payload = full;
    f->answer_payload_last = s->payload;
    f->answer_payload_frame = frame;
  } else {
    f->payload = full;
    f->payload_last = s->payload;
    f->payload_frame = frame;
    f->flags &= ~(__u32)ROCE_FOLLOW_PAYLOAD;
    if (s->payload != full)
      f->flags |= ROCE_FOLLOW_PAYLOAD;
  }
  return 1;
}

static ROCE_INLINE void roce_follow_close_episode(struct roce_env *env, struct roce_follow *f) {
  if (!(f->flags & ROCE_FOLLOW_OPEN))
    return;
  f->flags &= ~(__u32)(ROCE_FOLLOW_OPEN | ROCE_FOLLOW_NAK_AGAIN | ROCE_FOLLOW_ALONE);
  f->open.request = f->request;
  f->open.response = f->response;
  roce_emit_episode(env, &f->open);
}

/* An episode is counted at the port that its requests enter, whichever its cause enters. */
static ROCE_INLINE void roce_follow_count_episode(struct roce_env *env, struct roce_follow *f,
                                                  int cause) {
  struct roce_shared *shared = roce_shared_of(env);

  f->sum.causes[cause]++;
  if (shared)
    ROCE_ADD(&shared->causes[(f->key.qp_kind & ROCE_KEY_SIDE) != 0][cause], 1);
}

/* Ends the open episode and begins another, for `psn`, of which [psn, end) has to pass. */
static ROCE_INLINE void roce_follow_begin_episode(struct roce_env *env, struct roce_follow *f,
                                                  int cause, int kind, __u32 psn, __u32 end) {
  roce_follow_close_episode(env, f);
  roce_follow_mark_for_capture(env);
  __builtin_memset(&f->open, 0, sizeof(f->open));
  f->flags |= ROCE_FOLLOW_OPEN;
  f->open.cause = (__u8)cause;
  f->open.kind = (__u8)kind;
  f->open.first_missing = psn;
  f->open.end = end;
  f->answer_left = psn;
  roce_follow_count_episode(env, f, cause);
}

/* When the previous request was sent; 0: not known, as it was skipped. */
static ROCE_INLINE __u64 roce_follow_previous_request_ns(const struct roce_follow *f) {
  return f->flags & ROCE_FOLLOW_ABOUT ? 0 : f->sent_ns;
}

/* Whether a request in the middle of a message, in order, changes no more than what is next. */
static ROCE_INLINE int roce_follow_has_nothing_open(const struct roce_follow *f) {
  const __u32 quiet = ROCE_FOLLOW_ANSWERED | ROCE_FOLLOW_NAKED | ROCE_FOLLOW_MSN |
                      ROCE_FOLLOW_READ_OPEN | ROCE_FOLLOW_CNP_TOLD | ROCE_FOLLOW_REREAD |
                      ROCE_FOLLOW_SKIPS | ROCE_FOLLOW_ABOUT | ROCE_FOLLOW_MISSED |
                      ROCE_FOLLOW_JUMP | ROCE_FOLLOW_REFUSED | ROCE_FOLLOW_AFTER | ROCE_FOLLOW_TURN;

  return (f->flags & ~quiet) == ROCE_FOLLOW_STARTED && !f->round.holes &&
         f->next == f->round.last && f->next == f->round.expected;
}

/* Adds the requests before `end` that were skipped; `word` is their stream's. */
static ROCE_INLINE void roce_follow_add_skipped_requests(struct roce_env *env,
                                                         struct roce_follow *f, __u32 end,
                                                         __u64 word, __u64 now) {
  __u32 count = f->flags & ROCE_FOLLOW_SKIPS ? roce_skip_count(f->next, end) : 0;

  if (!count)
    return;
  f->requests += count;
  if (f->round.last == f->next)
    roce_round_forward(&f->round, f->next, end);
  f->next = end;
  f->newest = (end - 1) & ROCE_PSN_MASK;
  f->sent_ns = now - roce_skip_pause(roce_jiffies(env), word);
  f->flags |= ROCE_FOLLOW_ABOUT;
  if (f->flags & ROCE_FOLLOW_BEYOND && roce_psn_diff(end, f->beyond_psn) >= 0)
    f->flags &= ~(__u32)ROCE_FOLLOW_BEYOND;
}

static ROCE_INLINE void roce_follow_start_record(struct roce_follow *f, const struct roce_step *s) {
  f->flags = ROCE_FOLLOW_STARTED;
  f->ahead_ns = 0;
  f->overs = 0;
  f->next = f->acked = f->newest = f->begun = s->psn;
  f->ends_count = 0;
  f->timed_out_ns = f->timeout_ns = 0;
  f->msn_forgotten = f->round.forgotten;
  f->payload = f->answer_payload = ROCE_PAYLOAD_UNKNOWN;
  roce_round_start(&f->round, s->psn);
}

/* A request that had been sent before. */
static ROCE_INLINE void roce_follow_count_resent(struct roce_follow *f, __u32 psn, __u32 bytes,
                                                 int seen) {
  f->open.resent_packets++;
  f->open.resent_bytes += bytes;
  f->open.resent_needlessly += seen && psn != f->open.first_missing;
}

static ROCE_INLINE int roce_follow_waits_for_resending(const struct roce_follow *f) {
  return f->flags & ROCE_FOLLOW_OPEN && !f->open.resent_ns &&
         (f->open.cause == ROCE_CAUSE_NAK || f->open.cause == ROCE_CAUSE_RNR);
}

/* A timeout: whether the retry timer grew, where the same PSN timed out before. */
static ROCE_INLINE void roce_follow_compare_timers(struct roce_follow *f, __u32 psn, __u64 ns) {
  __u64 before = f->timeout_ns;

  f->timeout_ns = f->timed_out_ns && f->timeout_psn == psn ? ns - f->timed_out_ns : 0;
  f->timeout_psn = psn;
  f->timed_out_ns = ns;
  if (!before || !f->timeout_ns)
    return;
  if (f->timeout_ns > before + before / 2)
    f->sum.timers_grown++;
  else
    f->sum.timers_fixed++;
}

/* What the answers stepped over in [psn, end), the lowest; NULL: nothing. */
static ROCE_INLINE struct roce_over *roce_follow_stepped_over_in(struct roce_follow *f, __u32 psn,
                                                                 __u32 end) {
  struct roce_over *lowest = ROCE_NULL;

  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_OVERS; i++) {
    struct roce_over *o = &f->over[i];

    if (i >= f->overs)
      break;
    if (o->from != o->to && roce_psn_diff(end, o->from) > 0 && roce_psn_diff(psn, o->to) < 0 &&
        (!lowest || roce_psn_diff(o->from, lowest->from) < 0))
      lowest = o;
  }
  return lowest;
}

/*
 * An implied NAK: READs or atomics are requested again from one whose answer was stepped over, or,
 * as a NAK for a later PSN shows, that was executed.
 */
static ROCE_SEPARATE int roce_follow_requested_again(struct roce_env *env, struct roce_follow *f,
                                                     const struct roce_step *s) {
  struct roce_over *over = s->asks ? roce_follow_stepped_over_in(f, s->psn, s->end) : ROCE_NULL;
  int executed =
      roce_follow_waits_for_resending(f) && roce_psn_diff(s->psn, f->open.first_missing) < 0;
  __u32 psn = s->psn, end = roce_psn_add(psn, 1), missing = 0;

  if (!s->asks || (!over && !executed))
    return 0;
  if (over) {
    end = roce_psn_diff(over->to, s->end) < 0 ? over->to : s->end;
    if (roce_psn_diff(over->from, psn) > 0)
      psn = over->from;
    missing = (end - psn) & ROCE_PSN_MASK;
  }
  roce_follow_begin_episode(env, f, ROCE_CAUSE_READ, ROCE_KIND_RESPONSE, psn, end);
  f->open.missing = missing;
  f->open.seen_ns = over ? over->ns : 0;
  f->open.last_sent_ns = roce_follow_previous_request_ns(f);
  f->open.reread_ns = s->now;
  return 1;
}

/* What the answers to the newest READ stepped over before `psn`; NULL: nothing. */
static ROCE_INLINE const struct roce_over *
roce_follow_stepped_over_before(const struct roce_follow *f, __u32 psn) {
  const struct roce_over *o = &f->over[(f->overs - 1) & (ROCE_OVERS - 1)];

  if (!f->overs || !o->open || o->from == o->to || o->first != f->read_first ||
      roce_psn_diff(o->to, psn) > 0)
    return ROCE_NULL;
  return o;
}

/* The rest of a READ is requested again from a PSN after those that its answers stepped over. */
static ROCE_SEPARATE int roce_follow_rest_requested_again(struct roce_env *env,
                                                          struct roce_follow *f,
                                                          const struct roce_step *s) {
  const struct roce_over *o = roce_follow_stepped_over_before(f, s->psn);
  __u64 ns, frame;
  __u32 from, to;

  if (!o || !s->asks || f->sum.unseen || roce_psn_diff(s->psn, f->answer_last) >= 0)
    return 0;
  ns = o->ns;
  frame = o->frame;
  from = o->from;
  to = o->to;
  roce_follow_begin_episode(env, f, ROCE_CAUSE_READ, ROCE_KIND_RESPONSE, from, to);
  f->open.missing = (to - from) & ROCE_PSN_MASK;
  f->open.seen_ns = ns;
  f->open.last_sent_ns = roce_follow_previous_request_ns(f);
  f->open.reread_ns = s->now;
  roce_follow_report_finding_here(env, f, ROCE_FINDING_WRONG_PSN, s, frame, from, s->psn, from);
  return 1;
}

/* The end of a READ response is missing, nothing newer came: the rest is requested again. */
static ROCE_INLINE int roce_follow_tail_requested_again(struct roce_env *env, struct roce_follow *f,
                                                        const struct roce_step *s) {
  if (!s->asks || !(f->flags & ROCE_FOLLOW_ANSWERED) || !(f->flags & ROCE_FOLLOW_READ_OPEN) ||
      s->psn != f->answer_last)
    return 0;
  roce_follow_begin_episode(env, f, ROCE_CAUSE_TIMEOUT, ROCE_KIND_RESPONSE, s->psn,
                            roce_psn_add(s->psn, 1));
  f->open.last_sent_ns = roce_follow_previous_request_ns(f);
  f->open.reread_ns = s->now;
  roce_follow_compare_timers(f, s->psn, s->now);
  return 1;
}

#endif
