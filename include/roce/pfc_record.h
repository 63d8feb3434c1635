/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* Whether a priority is paused: see pfc.h. */
#ifndef ROCE_PFC_RECORD_H
#define ROCE_PFC_RECORD_H

#include "types.h"

/* Priorities 0 to 7 of PFC, and all of them at once by PAUSE. */
#define ROCE_PFC_ALL 8
#define ROCE_PFC_COUNTS 9

struct roce_pfc {
  __u64 since_ns;  /* of the last frame that paused it; 0: it is released */
  __u64 until_ns;  /* when the quanta of that frame have passed */
  __u64 paused_ns; /* before since_ns */
};

/* How long it was paused until `now`. */
static ROCE_INLINE __u64 roce_pfc_paused(const struct roce_pfc *pfc, __u64 now) {
  __u64 until = now < pfc->until_ns ? now : pfc->until_ns;

  return pfc->paused_ns + (pfc->since_ns && until > pfc->since_ns ? until - pfc->since_ns : 0);
}

#endif
