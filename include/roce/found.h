/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * What following found on a port, as the kernel keeps it for readers: two tables of slots, used in
 * turn, so that the newest stay. Readers take nothing out, and there may be several.
 */
#ifndef ROCE_FOUND_H
#define ROCE_FOUND_H

#include "episode.h"

/* Episodes and findings that are kept, each; powers of two. */
#define ROCE_FOUND_KEPT 4096

/*
 * A slot has number n, from 1, when it is complete, and 0 while it is written: a reader takes it
 * only if the number is the same before and after its copy.
 */
struct roce_found_name {
  __u64 number;
  struct roce_key request; /* of the stream of requests; `response_qp` of that of the answers */
  __u32 response_qp;       /* ROCE_QPN_UNKNOWN: not known */
};
ROCE_STATIC_ASSERT(sizeof(struct roce_found_name) == 48, "roce_found_name is 48 bytes");

struct roce_found_episode {
  struct roce_found_name name;
  struct roce_episode episode;
};

struct roce_found_finding {
  struct roce_found_name name;
  struct roce_finding finding;
};

#endif
