/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Which packets following and timing leave out (ROCE_FEATURE_SKIP).
 *
 * Most packets are in the middle of a message, in order, and change nothing in the record of their
 * QP pair but the PSN that comes next. While ROCE_WORD_SKIP is set in the word of their stream, the
 * tracker's fast path is all that they take; the record is brought up to date by the next packet
 * that it needs: at least one in each 2^ROCE_PAIR_SHIFT. It is set where the record has nothing
 * open, and cleared by the tracker's slow path, and by an answer that opens an episode.
 *
 * What is lost is when a skipped packet passed: only a pause of two ticks shows, of 16 ms each at
 * 250 Hz.
 */
#ifndef ROCE_SKIP_H
#define ROCE_SKIP_H

#include "config.h"
#include "stream.h"

/* A tick is 4 jiffies, of 1 ms at least: CONFIG_HZ is 1000 at most. */
#define ROCE_SKIP_TICK_NS 4000000

static ROCE_INLINE __u64 roce_skip_tick(__u64 jiffies) {
  return jiffies >> 2 << ROCE_WORD_TICK_SHIFT & ROCE_WORD_TICK;
}

/* Whether packet `p`, in order in the stream with this word, is skipped. */
static ROCE_INLINE int roce_skips(const struct roce_packet *p, __u64 word) {
  const __u32 middle = ROCE_OP_REQUEST | ROCE_OP_MIDDLE;

  return word & ROCE_WORD_SKIP && (p->info & middle) == middle && !p->ack_req && !p->cut &&
         p->psn & ((1 << ROCE_PAIR_SHIFT) - 1) &&
         roce_pmtu_bytes((word & ROCE_WORD_PMTU) >> ROCE_WORD_PMTU_SHIFT) == p->payload;
}

/*
 * The PSN up to which all requests of a stream with this word were skipped, or followed. Another
 * CPU may have tracked the last one and not followed it yet, unless it was skipped.
 */
static ROCE_INLINE __u32 roce_skip_end(__u64 word) {
  return (__u32)(word - !(word & ROCE_WORD_SKIPPED)) & ROCE_PSN_MASK;
}

/* How many packets of a record, whose next PSN is `next`, were skipped before `end`; 0: none. */
static ROCE_INLINE __u32 roce_skip_count(__u32 next, __u32 end) {
  __u32 count = (end - next) & ROCE_PSN_MASK;

  return count <= 1 << ROCE_PAIR_SHIFT ? count : 0;
}

/* At least so long ago the last one was skipped, in ns; 0: not known. 256 ticks look like none. */
static ROCE_INLINE __u64 roce_skip_pause(__u64 jiffies, __u64 word) {
  __u64 ticks = ((roce_skip_tick(jiffies) - (word & ROCE_WORD_TICK)) & ROCE_WORD_TICK) >>
                ROCE_WORD_TICK_SHIFT;

  return ticks > 1 ? (ticks - 1) * ROCE_SKIP_TICK_NS : 0;
}

/* From now on packets are skipped, if nothing came since `next`, the next PSN of the record. */
static ROCE_INLINE void roce_skip_begin(struct roce_stream *s, __u32 next) {
  __u64 word = ROCE_LOAD(&s->word);

  if ((word & (ROCE_WORD_FAST | ROCE_WORD_SKIP | ROCE_WORD_PSN)) == (ROCE_WORD_FAST | next))
    (void)__sync_fetch_and_or(&s->word, ROCE_WORD_SKIP);
}

#endif
