/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Following and timing QP pairs on a port (ROCE_FEATURE_FOLLOW, ROCE_FEATURE_TIME): after a frame's
 * packet was tracked.
 */
#ifndef ROCE_FOLLOW_FRAME_H
#define ROCE_FOLLOW_FRAME_H

#include "account.h"
#include "job.h"
#include "pair.h"
#include "timing.h"

/* Answers whose BTH begins later have no MSN here. A mask. */
#define ROCE_FOLLOW_BTH_MAX 511

/* The MSN of an AETH; `at` is the offset of the BTH in the frame. 0: it is not there. */
static ROCE_INLINE __u32 roce_frame_msn(struct roce_frame *frame, const struct roce_packet *p,
                                        __u32 at) {
  const __u8 *aeth;

  if (!(p->info & ROCE_HAS_AETH) || at > ROCE_FOLLOW_BTH_MAX)
    return 0;
  ROCE_BOUND(at, ROCE_FOLLOW_BTH_MAX);
  aeth = roce_frame_data(frame) + at + ROCE_BTH_LEN;
  return aeth + ROCE_AETH_LEN <= roce_frame_end(frame) ? roce_be24(aeth) : 0;
}

/*
 * Times the packet in scratch->packet, of stream `id`. 1: requests may be skipped from now on.
 */
ROCE_OUTLINE int roce_time_frame(struct roce_env *env, __u32 id, int slow, __u64 now) {
  struct roce_scratch *scratch = roce_scratch_of(env);

  if (!roce_times(env, scratch, scratch))
    return 0;
  return roce_timing_packet(env, &scratch->packet, id,
                            roce_pair_before(scratch, &scratch->packet, slow), now);
}

/* Packets of request stream `id` are skipped, if nothing came since packet `p`. */
static ROCE_INLINE void roce_pair_skip(struct roce_env *env, __u32 id,
                                       const struct roce_packet *p) {
  struct roce_stream *s = roce_stream_at(env, id);

  if (s)
    roce_skip_begin(s, roce_psn_add(p->psn, 1));
}

/*
 * After a frame was counted: follows and times the packet that was tracked. It is not called by the
 * functions that track, whose stack frames would add to those of following.
 */
ROCE_OUTLINE int roce_follow_frame(struct roce_frame *frame, struct roce_env *env) {
  struct roce_scratch *scratch = roce_scratch_of(env);
  int slow, skip = 1;
  struct roce_step *step;
  __u32 id;

  ROCE_FORGET(env);
  if (!scratch || !scratch->tracked.stream ||
      !(roce_features(env) & (ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME)))
    return 0;
  step = &scratch->step;
  __builtin_memset(step, 0, sizeof(*step));
  id = scratch->tracked.stream - 1;
  scratch->tracked.stream = 0;
  slow = (scratch->trace.found & ROCE_FOUND_SLOW) != 0;
  if (!(roce_features(env) & ROCE_FEATURE_CAPTURE))
    scratch->trace.found = 0;
  if (roce_features(env) & ROCE_FEATURE_FOLLOW || roce_timing_needs_clock(&scratch->packet))
    step->now = roce_clock(env);
  if (roce_features(env) & ROCE_FEATURE_TIME)
    skip = roce_time_frame(env, id, slow, step->now);
  if (roce_features(env) & ROCE_FEATURE_FOLLOW) {
    step->length = scratch->tracked.length;
    step->msn =
        roce_frame_msn(frame, &scratch->packet, scratch->tracked.start + scratch->packet.bth);
    skip &= roce_follow_packet_of_stream(env, &scratch->packet, id, slow, step);
  }
  if (skip)
    roce_pair_skip(env, id, &scratch->packet);
  return 1;
}

/*
 * Many packets that are not skipped: a request in order, where nothing is missing or open. It does
 * what roce_follow_request does with it. 1 when done.
 */
static ROCE_INLINE int roce_follow_request_in_order(struct roce_env *env,
                                                    const struct roce_packet *p, __u32 id) {
  __u32 transport = p->opcode & ROCE_TRANSPORT_MASK, skipped;
  struct roce_follow *f;
  int done;

  if (!(p->info & ROCE_OP_REQUEST) || p->info & (ROCE_OP_READ_REQUEST | ROCE_OP_ATOMIC) ||
      (transport != ROCE_RC && transport != ROCE_XRC) || p->cut || p->ecn == ROCE_ECN_CE ||
      !(p->psn & ((1 << ROCE_PAIR_SHIFT) - 1)))
    return 0;
  f = roce_follow_at(env, id);
  if (!f || !roce_pair_enter(env, &f->lock))
    return 0;
  skipped = f->flags & ROCE_FOLLOW_SKIPS ? roce_skip_count(f->next, p->psn) : 0;
  done = f->request == id && f->check == roce_pair_check(&p->key) &&
         roce_follow_has_nothing_open(f) && p->psn == roce_psn_add(f->next, skipped) &&
         (p->info & (ROCE_OP_FIRST | ROCE_OP_MIDDLE) ? p->payload == f->payload
                                                     : p->payload <= f->payload);
  if (done) {
    f->newest = p->psn;
    f->next = f->round.last = f->round.expected = roce_psn_add(p->psn, 1);
    f->requests += skipped + 1;
    if (p->info & ROCE_OP_ENDS_MESSAGE)
      roce_follow_remember_message_end(f, p->psn);
    f->sent_ns = roce_clock(env);
    f->flags &= ~(__u32)ROCE_FOLLOW_ABOUT;
  }
  roce_pair_leave(env, &f->lock);
  return done;
}

/*
 * After packet `p` was tracked in stream `id`, or in none (ROCE_NO_STREAM): notes it for
 * roce_follow_frame. Nothing on ports that neither follow nor time QP pairs.
 */
static ROCE_INLINE void roce_note_tracked(struct roce_env *env, const struct roce_packet *p,
                                          __u32 id, __u32 start, __u32 length) {
  const __u32 both = ROCE_FEATURE_FOLLOW | ROCE_FEATURE_TIME, features = roce_features(env) & both;
  struct roce_scratch *scratch;

  if (!features)
    return;
  scratch = roce_scratch_of(env);
  if (!scratch)
    return;
  if (id != ROCE_NO_STREAM && features == ROCE_FEATURE_FOLLOW &&
      !(scratch->trace.found & ROCE_FOUND_SLOW) && roce_follow_request_in_order(env, p, id))
    return;
  if (p != &scratch->packet)
    scratch->packet = *p;
  scratch->tracked.stream = id + 1; /* 0 for ROCE_NO_STREAM */
  scratch->tracked.start = start;
  scratch->tracked.length = length;
}

/*
 * Tracks packet `p`, counts it in its burst and notes it for roce_follow_frame, unless following
 * skips it. Returns its stream's record id, or ROCE_NO_STREAM. See roce_track and
 * roce_note_tracked.
 */
static ROCE_INLINE __u32 roce_track_to_follow(struct roce_env *env, const struct roce_packet *p,
                                              __u32 start, __u32 length) {
  int skipped = 0;
  __u32 id = roce_track_or_skip(env, p, length, &skipped);

  roce_job_packet(env, p, id);
  if (!skipped)
    roce_note_tracked(env, p, id, start, length);
  return id;
}

#endif
