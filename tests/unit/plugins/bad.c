/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins that are refused or that crash, one for each macro. */
#include <stdlib.h>

#include "xdp-roce/congestion.h"

static void *create(const struct xdp_roce_qp *qp, const double *value,
                    struct xdp_roce_answer *answer) {
  (void)qp, (void)value, (void)answer;
  return malloc(1);
}

static void cnp(void *state, uint64_t now, struct xdp_roce_answer *answer) {
  (void)state, (void)now;
#ifdef HANG
  for (volatile int forever = 1; forever;)
    ;
#endif
  volatile int *volatile nowhere = NULL;
  *nowhere = 1;
  answer->rate = 1;
}

#ifdef UNIT
static const struct xdp_roce_parameter parameters[] = {{"rate", "furlongs", "nothing", 1, 0, 2}};
#endif

static const struct xdp_roce_algorithm algorithm = {
#ifdef VERSION
    .version = 99,
#else
    .version = XDP_ROCE_CONGESTION_VERSION,
#endif
#ifdef UNIT
    .parameters = parameters,
    .parameter_count = 1,
#endif
    .name = "bad",
    .create = create,
    .destroy = free,
    .cnp = cnp};

#ifdef NOTHING
const struct xdp_roce_algorithm *another_name(void);
const struct xdp_roce_algorithm *another_name(void) { return &algorithm; }
#else
const struct xdp_roce_algorithm *xdp_roce_algorithm(void);
const struct xdp_roce_algorithm *xdp_roce_algorithm(void) { return &algorithm; }
#endif
