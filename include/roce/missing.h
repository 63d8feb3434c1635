/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* PSNs that are missing in a stream, by who lost them: the mirror or the network (mirror.h). */
#ifndef ROCE_MISSING_H
#define ROCE_MISSING_H

#include "env.h"
#include "mirror_record.h"
#include "stream.h"

/* Notes what a packet changed of its stream's missing PSNs, for roce_attribute. */
static ROCE_INLINE void roce_note_missing(struct roce_env *env, __u32 id,
                                          const struct roce_outcome *o) {
  struct roce_mirrored *r = roce_mirrored_at(env, id);

  if (!r || !(o->skipped | o->filled))
    return;
  r->skipped += o->skipped;
  r->filled += o->filled;
}

/*
 * A record that a new stream has: nothing is known of it. Not inlined: keeps its registers out of
 * its caller's stack frame.
 */
static ROCE_SEPARATE int roce_forget_missing(struct roce_env *env, __u32 id) {
  struct roce_mirrored *r = roce_mirrored_at(env, id);

  if (r)
    __builtin_memset(r, 0, sizeof(*r));
  return 0;
}

#endif
