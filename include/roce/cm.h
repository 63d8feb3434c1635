/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * RDMA CM REQ and REP (IBA vol. 1, 12.6.5 and 12.6.8): the starting PSN in a message is the first
 * PSN that the receiver of the message will use in its requests to the QPN in the message. Names of
 * all messages and of the reasons for a REJ.
 */
#ifndef ROCE_CM_H
#define ROCE_CM_H

#include "parse.h"

/* X(attribute, NAME): the messages of RDMA CM (IBA vol. 1, 16.7.3). */
#define ROCE_CM_MESSAGES(X)                                                                        \
  X(0x10, REQ)                                                                                     \
  X(0x11, MRA)                                                                                     \
  X(0x12, REJ)                                                                                     \
  X(0x13, REP)                                                                                     \
  X(0x14, RTU)                                                                                     \
  X(0x15, DREQ)                                                                                    \
  X(0x16, DREP)                                                                                    \
  X(0x17, SIDR_REQ)                                                                                \
  X(0x18, SIDR_REP)                                                                                \
  X(0x19, LAP)                                                                                     \
  X(0x1a, APR)

/* X(reason, "name"): the reasons for a REJ (IBA vol. 1, 12.6.7.2). */
#define ROCE_CM_REASONS(X)                                                                         \
  X(1, "no QP")                                                                                    \
  X(2, "no EE context")                                                                            \
  X(3, "no resources")                                                                             \
  X(4, "timeout")                                                                                  \
  X(5, "unsupported request")                                                                      \
  X(6, "invalid communication ID")                                                                 \
  X(7, "invalid communication instance")                                                           \
  X(8, "invalid service ID")                                                                       \
  X(9, "invalid transport type")                                                                   \
  X(10, "stale connection")                                                                        \
  X(11, "no RDC")                                                                                  \
  X(12, "invalid GID")                                                                             \
  X(13, "invalid LID")                                                                             \
  X(14, "invalid SL")                                                                              \
  X(15, "invalid traffic class")                                                                   \
  X(16, "invalid hop limit")                                                                       \
  X(17, "invalid packet rate")                                                                     \
  X(18, "invalid alternate GID")                                                                   \
  X(19, "invalid alternate LID")                                                                   \
  X(20, "invalid alternate SL")                                                                    \
  X(21, "invalid alternate traffic class")                                                         \
  X(22, "invalid alternate hop limit")                                                             \
  X(23, "invalid alternate packet rate")                                                           \
  X(24, "port and CM redirection")                                                                 \
  X(25, "port redirection")                                                                        \
  X(26, "invalid path MTU")                                                                        \
  X(27, "insufficient responder resources")                                                        \
  X(28, "consumer")                                                                                \
  X(29, "invalid RNR retry count")                                                                 \
  X(30, "duplicate communication ID")                                                              \
  X(31, "invalid class version")                                                                   \
  X(32, "invalid flow label")                                                                      \
  X(33, "invalid alternate flow label")

struct roce_cm {
  __u16 attribute; /* ROCE_CM_ATTR_REQ, ROCE_CM_ATTR_REP, or 0: neither */
  __u8 pmtu_code;  /* REQ: 1..5, else 0 */
  __u8 reserved;
  __u32 qpn; /* of the message's sender */
  __u32 psn;
  __u32 local_id;  /* communication IDs in network order */
  __u32 remote_id; /* REP only */
};

/* 1 when the packet may be an RDMA CM message: the caller then uses roce_parse_cm. */
static ROCE_INLINE int roce_is_gsi(const struct roce_packet *p) {
  return p->opcode == ROCE_OPCODE_UD_SEND_ONLY && roce_key_qp(&p->key) == ROCE_QPN_GSI &&
         p->payload == ROCE_MAD_LEN;
}

/* Parses a UD SEND ONLY to QP1, whose bytes [bth, end) are available. */
static ROCE_INLINE void roce_parse_cm(const __u8 *bth, const __u8 *end, struct roce_cm *cm) {
  __u16 attribute;

  cm->attribute = 0;
  if (bth + ROCE_CM_REQ_PMTU + 1 > end || bth[ROCE_CM_MAD + 1] != ROCE_CM_CLASS)
    return;
  attribute = roce_be16(bth + ROCE_CM_ATTRIBUTE);
  cm->local_id = roce_load32(bth + ROCE_CM_LOCAL_ID);
  if (attribute == ROCE_CM_ATTR_REQ) {
    __u8 code = bth[ROCE_CM_REQ_PMTU] >> 4;

    cm->pmtu_code = code >= 1 && code <= 5 ? code : 0;
    cm->qpn = roce_be32(bth + ROCE_CM_REQ_QPN) >> 8;
    cm->psn = roce_be32(bth + ROCE_CM_REQ_PSN) >> 8;
    cm->attribute = attribute;
  } else if (attribute == ROCE_CM_ATTR_REP) {
    cm->remote_id = roce_load32(bth + ROCE_CM_REP_REMOTE_ID);
    cm->qpn = roce_be32(bth + ROCE_CM_REP_QPN) >> 8;
    cm->psn = roce_be32(bth + ROCE_CM_REP_PSN) >> 8;
    cm->attribute = attribute;
  }
}

#endif
