/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * PFC and PAUSE frames that enter a port (IEEE 802.1Qbb; 802.3, annex 31B): how often each priority
 * was paused and released, for how many quanta, and for how long as seen from here: from a frame
 * that pauses it to the next one, or until its quanta have passed.
 */
#ifndef ROCE_PFC_H
#define ROCE_PFC_H

#include "counters.h"
#include "env.h"
#include "pfc_record.h"

/* Pauses a priority, or all (ROCE_PFC_ALL), for so many quanta; 0: releases it. */
static ROCE_INLINE void roce_pfc_set(struct roce_env *env, struct roce_totals *t, __u32 priority,
                                     __u32 quanta, __u64 now) {
  struct roce_pfc *pfc = roce_pfc_at(env, priority);

  if (!pfc || priority >= ROCE_PFC_COUNTS)
    return;
  if (quanta)
    t->pfc_xoff[priority]++;
  else
    t->pfc_xon[priority]++;
  t->pfc_quanta[priority] += quanta;
  pfc->paused_ns = roce_pfc_paused(pfc, now);
  pfc->until_ns = now + (__u64)quanta * roce_quantum(env) / 1000;
  pfc->since_ns = quanta ? now : 0;
}

/* Counts a frame of class ROCE_CLASS_PFC, of which the MAC control opcode is at `control`. */
static ROCE_INLINE void roce_count_pfc(struct roce_env *env, const __u8 *control, const __u8 *end) {
  struct roce_totals *t = roce_totals_of(env);
  __u64 now = roce_clock(env);
  __u32 enabled;

  if (!t || control + 4 > end)
    return;
  if (roce_be16(control) == ROCE_MAC_CONTROL_PAUSE) {
    roce_pfc_set(env, t, ROCE_PFC_ALL, roce_be16(control + 2), now);
    return;
  }
  if (control + 4 + 2 * ROCE_PFC_ALL > end)
    return;
  enabled = roce_be16(control + 2);
  ROCE_ROLLED
  for (__u32 i = 0; i < ROCE_PFC_ALL; i++)
    if (enabled >> i & 1)
      roce_pfc_set(env, t, i, roce_be16(control + 4 + 2 * i), now);
}

#endif
