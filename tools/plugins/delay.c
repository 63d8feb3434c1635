/* SPDX-License-Identifier: Apache-2.0 */
/* A window that follows the delay: a packet more in each RTT below the target, a tenth less in each
 * RTT above it. gcc -shared -fPIC -O2 -o delay.so delay.c */
#include <stdlib.h>

#include "xdp-roce/congestion.h"

struct delay {
  double target_ns, window, packet;
  uint64_t round_end; /* bytes */
  double last_rtt;
};

static const struct xdp_roce_parameter parameters[] = {
    {"target", "us", "RTT that is aimed at", 30, 1, 1e6},
};
static const char *const values[] = {"window_bytes", "rtt_ns"};

static void *create(const struct xdp_roce_qp *qp, const double *value,
                    struct xdp_roce_answer *answer) {
  struct delay *d = calloc(1, sizeof *d);
  if (!d)
    return NULL;
  d->target_ns = value[0] * 1e3;
  d->packet = qp->payload;
  d->window = 10 * d->packet;
  answer->window = (uint64_t)d->window;
  return d;
}

static void acked(void *state, const struct xdp_roce_ack *ack, struct xdp_roce_answer *answer) {
  struct delay *d = state;
  if (ack->rtt_ns)
    d->last_rtt = (double)ack->rtt_ns;
  if (ack->acked <= d->round_end) /* once an RTT */
    return;
  d->round_end = ack->sent;
  if (d->last_rtt < d->target_ns)
    d->window += d->packet;
  else
    d->window *= 0.9;
  if (d->window < d->packet)
    d->window = d->packet;
  answer->window = (uint64_t)d->window;
}

static void read(const void *state, uint64_t now, double *numbers) {
  const struct delay *d = state;
  (void)now;
  numbers[0] = d->window;
  numbers[1] = d->last_rtt;
}

static const struct xdp_roce_algorithm algorithm = {.version = XDP_ROCE_CONGESTION_VERSION,
                                                    .needs = XDP_ROCE_NEEDS_ACKS |
                                                             XDP_ROCE_NEEDS_EVERY_ACK,
                                                    .name = "delay",
                                                    .parameters = parameters,
                                                    .parameter_count = 1,
                                                    .values = values,
                                                    .value_count = 2,
                                                    .create = create,
                                                    .destroy = free,
                                                    .acked = acked,
                                                    .read = read};

const struct xdp_roce_algorithm *xdp_roce_algorithm(void) { return &algorithm; }
