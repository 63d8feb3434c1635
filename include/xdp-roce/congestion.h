/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Congestion control as a shared object: `cc plugin FILE.so [NAME=VALUE ...]` in experiments and in
 * `xdp-roce send`. Plain C data. What happens on a QP is reported to the algorithm; it answers with
 * a rate, a window and a timer. The built-in algorithms get the same.
 *
 * A shared object exports one function:
 *
 *   const struct xdp_roce_algorithm *xdp_roce_algorithm(void);
 *
 * Calls for one QP come one after the other, from one thread; QPs share nothing that the algorithm
 * does not share itself. Times are ns of a clock that does not go back; rates are bit/s of frames
 * without FCS, preamble and gap (or with them, where the line's rate is given so).
 */
#ifndef XDP_ROCE_CONGESTION_H
#define XDP_ROCE_CONGESTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a structure or a call changes; another version is refused. */
#define XDP_ROCE_CONGESTION_VERSION 1

#define XDP_ROCE_NEVER UINT64_MAX     /* no timer */
#define XDP_ROCE_UNLIMITED UINT64_MAX /* no window */

/* A switch port by which the acknowledged packet left. In the simulator only. */
struct xdp_roce_hop {
  uint64_t time_ns;     /* when it began to leave */
  uint64_t tx_bytes;    /* that had left the port before it */
  uint64_t queue_bytes; /* that waited when it left */
  double rate;          /* of the port, bit/s */
};

/* An ACK, or a NAK that acknowledges packets before it. Bytes are payload. */
struct xdp_roce_ack {
  uint64_t now_ns;
  uint64_t rtt_ns;                 /* of the newest packet that it acknowledges; 0: it gives none */
  uint64_t bytes;                  /* newly acknowledged; 0: it is a duplicate */
  uint64_t acked;                  /* acknowledged so far */
  uint64_t sent;                   /* sent for the first time so far */
  uint32_t packets;                /* newly acknowledged */
  uint32_t marked;                 /* 1: it echoes a CE mark (BECN) */
  const struct xdp_roce_hop *hops; /* in the order of the path */
  uint32_t hop_count;              /* 0: there are none, or nobody needs them */
};

enum xdp_roce_loss {
  XDP_ROCE_NAK,    /* PSN sequence error */
  XDP_ROCE_TIMEOUT /* nothing was acknowledged for the retransmission timeout */
};

/* What is known when a QP begins. */
struct xdp_roce_qp {
  double line;          /* bit/s, of its port, or what `line R` says */
  uint64_t base_rtt_ns; /* of the path without queues; 0: unknown, as on a real wire */
  uint32_t switches;    /* on the path; 0: unknown */
  uint32_t payload;     /* bytes of a full packet's payload */
  uint32_t frame;       /* bytes of a full packet as the rate counts them */
};

/* Holds until the next answer. It begins as rate = line, no window, no timer. */
struct xdp_roce_answer {
  double rate;       /* bit/s, above 0 */
  uint64_t window;   /* bytes of payload in flight: it may send while fewer are. At least one packet
                        goes */
  uint64_t timer_ns; /* when `timer` is to be called; XDP_ROCE_NEVER */
  uint32_t path;     /* another value: another UDP source port, and so another path (PLB) */
};

struct xdp_roce_parameter {
  const char *name;    /* of NAME=VALUE: lower case, `-` between words */
  const char *unit;    /* "us", "mbit", "bytes", "part", "number": what a bare value is in */
  const char *meaning; /* for `cc show` */
  double value;        /* unless it is given */
  double least, most;  /* limits */
};

/* What the algorithm needs; where it cannot be had, the run is refused. */
#define XDP_ROCE_NEEDS_ACKS 1u      /* a transport with ACKs */
#define XDP_ROCE_NEEDS_ECHO 2u      /* CE marks echoed in ACKs */
#define XDP_ROCE_NEEDS_HOPS 4u      /* xdp_roce_ack.hops: the simulator only */
#define XDP_ROCE_NEEDS_EVERY_ACK 8u /* one ACK a packet */

struct xdp_roce_algorithm {
  uint32_t version; /* XDP_ROCE_CONGESTION_VERSION */
  uint32_t needs;   /* XDP_ROCE_NEEDS_* */
  const char *name; /* for people */
  const struct xdp_roce_parameter *parameters;
  uint32_t parameter_count;
  const char *const *values; /* names of what `read` gives, for series and plots */
  uint32_t value_count;

  /* Before the QP begins, so without a time: a timer_ns of 0 is called with what happens first.
   * `parameters` has a value for each row, in its order. NULL: out of memory. */
  void *(*create)(const struct xdp_roce_qp *qp, const double *parameters,
                  struct xdp_roce_answer *answer);
  void (*destroy)(void *state);

  /* What happens. Each may be NULL: nothing follows from it. */
  void (*sent)(void *state, uint64_t now_ns, uint32_t frame_bytes, struct xdp_roce_answer *answer);
  void (*acked)(void *state, const struct xdp_roce_ack *ack, struct xdp_roce_answer *answer);
  void (*cnp)(void *state, uint64_t now_ns, struct xdp_roce_answer *answer);
  void (*lost)(void *state, uint64_t now_ns, enum xdp_roce_loss loss,
               struct xdp_roce_answer *answer);
  /* At answer->timer_ns or later; the timer is off then, unless it is set again. */
  void (*timer)(void *state, uint64_t now_ns, struct xdp_roce_answer *answer);

  /* Writes value_count numbers. May be NULL if that is 0. */
  void (*read)(const void *state, uint64_t now_ns, double *values);
};

#ifdef __cplusplus
}
#endif

#endif
