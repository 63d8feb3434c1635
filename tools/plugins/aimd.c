/* SPDX-License-Identifier: Apache-2.0 */
/* AIMD: half the rate at each CNP, one step more in each period without one.
 * In a clone: gcc -shared -fPIC -O2 -I include -o aimd.so tools/plugins/aimd.c */
#include <stdlib.h>

#include "xdp-roce/congestion.h"

struct aimd {
  double line, step, period;
};

static const struct xdp_roce_parameter parameters[] = {
    {"step", "mbit", "added in each period without a CNP", 40, 0.001, 1e6},
    {"period", "us", "time between two steps", 55, 1, 1e6},
};

static void *create(const struct xdp_roce_qp *qp, const double *value,
                    struct xdp_roce_answer *answer) {
  struct aimd *a = malloc(sizeof *a);
  if (a)
    *a = (struct aimd){qp->line, value[0] * 1e6, value[1] * 1e3};
  (void)answer; /* rate = line, no timer yet */
  return a;
}

static void cnp(void *state, uint64_t now, struct xdp_roce_answer *answer) {
  struct aimd *a = state;
  answer->rate /= 2;
  answer->timer_ns = now + (uint64_t)a->period;
}

static void timer(void *state, uint64_t now, struct xdp_roce_answer *answer) {
  struct aimd *a = state;
  answer->rate += a->step;
  if (answer->rate < a->line)
    answer->timer_ns = now + (uint64_t)a->period;
  else
    answer->rate = a->line;
}

static const struct xdp_roce_algorithm algorithm = {.version = XDP_ROCE_CONGESTION_VERSION,
                                                    .name = "AIMD",
                                                    .parameters = parameters,
                                                    .parameter_count = 2,
                                                    .create = create,
                                                    .destroy = free,
                                                    .cnp = cnp,
                                                    .timer = timer};

const struct xdp_roce_algorithm *xdp_roce_algorithm(void) { return &algorithm; }
