/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* PSNs that are missing in a stream, by who lost them: the mirror or the network (mirror.h). */
#ifndef ROCE_MISSING_H
#define ROCE_MISSING_H

#include "env.h"
#include "mirror_record.h"
#include "stream.h"

/*
 * Notes what a packet changed of its stream's missing PSNs, for roce_attribute. A stream's first
 * packet: nothing is known of the record, which another stream may have had. Not inlined: keeps its
 * registers out of its caller's stack frame.
 */
static ROCE_SEPARATE int roce_note_missing(struct roce_env *env, __u32 id,
                                           const struct roce_outcome *o) {
  const struct roce_stream *stream = roce_stream_at(env, id);
  struct roce_mirrored *r = roce_mirrored_at(env, id);

  if (!stream || !r || !o)
    return 0;
  if (roce_stream_packets(stream) == 1)
    __builtin_memset(r, 0, sizeof(*r));
  r->skipped += o->skipped;
  r->filled += o->filled;
  return 0;
}

#endif
