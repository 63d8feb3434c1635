/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The only table of BTH opcodes (IBA vol. 1, 9.2 and annex A17; FLUSH and ATOMIC WRITE: IBA 1.5).
 * Names, extension headers, stream kinds, use of PSNs and classes are derived from it.
 */
#ifndef ROCE_OPCODE_H
#define ROCE_OPCODE_H

#include "types.h"

/* Transport prefix, opcode & ROCE_TRANSPORT_MASK. */
#define ROCE_TRANSPORT_MASK 0xe0
enum roce_transport {
  ROCE_RC = 0x00,
  ROCE_UC = 0x20,
  ROCE_RD = 0x40,
  ROCE_UD = 0x60,
  ROCE_CNP_TRANSPORT = 0x80,
  ROCE_XRC = 0xa0,
};

#define ROCE_OPCODE_CNP 0x81
#define ROCE_OPCODE_UD_SEND_ONLY 0x64

/* Properties of an opcode in one word; the low byte is the length of all its extension headers. */
#define ROCE_EXT_LEN(info) ((info)&0xffu)
enum roce_opcode_bits {
  ROCE_HAS_RDETH = 1u << 8,
  ROCE_HAS_DETH = 1u << 9,
  ROCE_HAS_XRCETH = 1u << 10,
  ROCE_HAS_FETH = 1u << 11,
  ROCE_HAS_RETH = 1u << 12,
  ROCE_HAS_ATOMICETH = 1u << 13,
  ROCE_HAS_AETH = 1u << 14,
  ROCE_HAS_ATOMICACKETH = 1u << 15,
  ROCE_HAS_IMMDT = 1u << 16,
  ROCE_HAS_IETH = 1u << 17,
  /* position in a message */
  ROCE_OP_FIRST = 1u << 18,
  ROCE_OP_MIDDLE = 1u << 19,
  ROCE_OP_LAST = 1u << 20,
  ROCE_OP_ONLY = 1u << 21,
  /* operation */
  ROCE_OP_KNOWN = 1u << 22,
  ROCE_OP_REQUEST = 1u << 23,  /* numbered in the sender's PSN space */
  ROCE_OP_RESPONSE = 1u << 24, /* repeats PSNs of the receiver's PSN space */
  ROCE_OP_DATAGRAM = 1u << 25, /* UD and RD: no PSN accounting */
  ROCE_OP_READ_REQUEST = 1u << 26,
  ROCE_OP_READ_RESPONSE = 1u << 27,
  ROCE_OP_ACK = 1u << 28,    /* ACKNOWLEDGE */
  ROCE_OP_ATOMIC = 1u << 29, /* ATOMIC ACKNOWLEDGE when it is a response */
  ROCE_OP_CNP = 1u << 30,
  ROCE_OP_ENDS_MESSAGE = 1u << 31,
};

/*
 * Further properties, above the 32 bits used for parsing. Only C++ has a table of them,
 * roce_opcode_properties.
 */
#define ROCE_OP_SEND (1ull << 32)
#define ROCE_OP_WRITE (1ull << 33) /* RDMA WRITE */
#define ROCE_OP_ATOMIC_WRITE (1ull << 34)
#define ROCE_OP_FLUSH (1ull << 35)

/*
 * Classes, by which rules match packets and meters count them. ATOMIC WRITE is in two classes: it
 * is an atomic operation with a payload.
 */
#define ROCE_DATA_OPS                                                                              \
  (ROCE_OP_SEND | ROCE_OP_WRITE | ROCE_OP_READ_RESPONSE |                                          \
   ROCE_OP_ATOMIC_WRITE) /* payload is possible */
#define ROCE_READ_OPS (ROCE_OP_READ_REQUEST | ROCE_OP_READ_RESPONSE)
#define ROCE_ATOMIC_OPS (ROCE_OP_ATOMIC | ROCE_OP_ATOMIC_WRITE)
#define ROCE_ACK_OPS (ROCE_OP_ACK | ROCE_HAS_ATOMICACKETH) /* their AETH: ACK, NAK or RNR NAK */
/* Requests answered by an RDMA READ RESPONSE ONLY without payload (IBA 1.5). */
#define ROCE_READ_ANSWERED_OPS (ROCE_OP_FLUSH | ROCE_OP_ATOMIC_WRITE)

#define ROCE_EXT_RDETH (ROCE_HAS_RDETH + 4u)
#define ROCE_EXT_DETH (ROCE_HAS_DETH + 8u)
#define ROCE_EXT_XRCETH (ROCE_HAS_XRCETH + 4u)
#define ROCE_EXT_FETH (ROCE_HAS_FETH + 4u)
#define ROCE_EXT_RETH (ROCE_HAS_RETH + 16u)
#define ROCE_EXT_ATOMICETH (ROCE_HAS_ATOMICETH + 28u)
#define ROCE_EXT_AETH (ROCE_HAS_AETH + 4u)
#define ROCE_EXT_ATOMICACKETH (ROCE_HAS_ATOMICACKETH + 8u)
#define ROCE_EXT_IMMDT (ROCE_HAS_IMMDT + 4u)
#define ROCE_EXT_IETH (ROCE_HAS_IETH + 4u)

#define ROCE_FIRST_ ROCE_OP_FIRST
#define ROCE_MIDDLE_ ROCE_OP_MIDDLE
#define ROCE_LAST_ (ROCE_OP_LAST | ROCE_OP_ENDS_MESSAGE)
#define ROCE_ONLY_ (ROCE_OP_ONLY | ROCE_OP_ENDS_MESSAGE)
#define ROCE_SINGLE_                                                                               \
  ROCE_OP_ENDS_MESSAGE /* a request of one packet that has no FIRST..LAST form                     \
                        */

/*
 * Rows: X(transport, prefix, operation, NAME, extension headers, properties). The rows of a
 * transport are generated from the operations that it has; `req` and `resp` are the extension
 * headers that it adds to every request and response (RD: RDETH and DETH, XRC: XRCETH on requests
 * only).
 */
#define ROCE_OPS_SEND_WRITE(X, t, p, req)                                                          \
  X(t, p, 0x00, SEND_FIRST, req, ROCE_FIRST_ | ROCE_OP_SEND)                                       \
  X(t, p, 0x01, SEND_MIDDLE, req, ROCE_MIDDLE_ | ROCE_OP_SEND)                                     \
  X(t, p, 0x02, SEND_LAST, req, ROCE_LAST_ | ROCE_OP_SEND)                                         \
  X(t, p, 0x03, SEND_LAST_WITH_IMMEDIATE, (req) + ROCE_EXT_IMMDT, ROCE_LAST_ | ROCE_OP_SEND)       \
  X(t, p, 0x04, SEND_ONLY, req, ROCE_ONLY_ | ROCE_OP_SEND)                                         \
  X(t, p, 0x05, SEND_ONLY_WITH_IMMEDIATE, (req) + ROCE_EXT_IMMDT, ROCE_ONLY_ | ROCE_OP_SEND)       \
  X(t, p, 0x06, RDMA_WRITE_FIRST, (req) + ROCE_EXT_RETH, ROCE_FIRST_ | ROCE_OP_WRITE)              \
  X(t, p, 0x07, RDMA_WRITE_MIDDLE, req, ROCE_MIDDLE_ | ROCE_OP_WRITE)                              \
  X(t, p, 0x08, RDMA_WRITE_LAST, req, ROCE_LAST_ | ROCE_OP_WRITE)                                  \
  X(t, p, 0x09, RDMA_WRITE_LAST_WITH_IMMEDIATE, (req) + ROCE_EXT_IMMDT,                            \
    ROCE_LAST_ | ROCE_OP_WRITE)                                                                    \
  X(t, p, 0x0a, RDMA_WRITE_ONLY, (req) + ROCE_EXT_RETH, ROCE_ONLY_ | ROCE_OP_WRITE)                \
  X(t, p, 0x0b, RDMA_WRITE_ONLY_WITH_IMMEDIATE, (req) + ROCE_EXT_RETH + ROCE_EXT_IMMDT,            \
    ROCE_ONLY_ | ROCE_OP_WRITE)

#define ROCE_OPS_READ_ATOMIC(X, t, p, req, resp)                                                   \
  X(t, p, 0x0c, RDMA_READ_REQUEST, (req) + ROCE_EXT_RETH, ROCE_SINGLE_ | ROCE_OP_READ_REQUEST)     \
  X(t, p, 0x0d, RDMA_READ_RESPONSE_FIRST, (resp) + ROCE_EXT_AETH,                                  \
    ROCE_FIRST_ | ROCE_OP_READ_RESPONSE)                                                           \
  X(t, p, 0x0e, RDMA_READ_RESPONSE_MIDDLE, resp, ROCE_MIDDLE_ | ROCE_OP_READ_RESPONSE)             \
  X(t, p, 0x0f, RDMA_READ_RESPONSE_LAST, (resp) + ROCE_EXT_AETH,                                   \
    ROCE_LAST_ | ROCE_OP_READ_RESPONSE)                                                            \
  X(t, p, 0x10, RDMA_READ_RESPONSE_ONLY, (resp) + ROCE_EXT_AETH,                                   \
    ROCE_ONLY_ | ROCE_OP_READ_RESPONSE)                                                            \
  X(t, p, 0x11, ACKNOWLEDGE, (resp) + ROCE_EXT_AETH, ROCE_OP_ACK)                                  \
  X(t, p, 0x12, ATOMIC_ACKNOWLEDGE, (resp) + ROCE_EXT_AETH + ROCE_EXT_ATOMICACKETH,                \
    ROCE_SINGLE_ | ROCE_OP_ATOMIC)                                                                 \
  X(t, p, 0x13, COMPARE_SWAP, (req) + ROCE_EXT_ATOMICETH, ROCE_SINGLE_ | ROCE_OP_ATOMIC)           \
  X(t, p, 0x14, FETCH_ADD, (req) + ROCE_EXT_ATOMICETH, ROCE_SINGLE_ | ROCE_OP_ATOMIC)

#define ROCE_OPS_INVALIDATE(X, t, p, req)                                                          \
  X(t, p, 0x16, SEND_LAST_WITH_INVALIDATE, (req) + ROCE_EXT_IETH, ROCE_LAST_ | ROCE_OP_SEND)       \
  X(t, p, 0x17, SEND_ONLY_WITH_INVALIDATE, (req) + ROCE_EXT_IETH, ROCE_ONLY_ | ROCE_OP_SEND)

#define ROCE_OPS_FLUSH(X, t, p, req)                                                               \
  X(t, p, 0x1c, FLUSH, (req) + ROCE_EXT_FETH + ROCE_EXT_RETH, ROCE_SINGLE_ | ROCE_OP_FLUSH)

#define ROCE_RD_REQ_ (ROCE_EXT_RDETH + ROCE_EXT_DETH)

#define ROCE_OPCODES(X)                                                                            \
  ROCE_OPS_SEND_WRITE(X, RC, 0x00, 0u)                                                             \
  ROCE_OPS_READ_ATOMIC(X, RC, 0x00, 0u, 0u)                                                        \
  ROCE_OPS_INVALIDATE(X, RC, 0x00, 0u)                                                             \
  ROCE_OPS_FLUSH(X, RC, 0x00, 0u)                                                                  \
  X(RC, 0x00, 0x1d, ATOMIC_WRITE, ROCE_EXT_RETH, ROCE_SINGLE_ | ROCE_OP_ATOMIC_WRITE)              \
  ROCE_OPS_SEND_WRITE(X, UC, 0x20, 0u)                                                             \
  ROCE_OPS_SEND_WRITE(X, RD, 0x40, ROCE_RD_REQ_)                                                   \
  ROCE_OPS_READ_ATOMIC(X, RD, 0x40, ROCE_RD_REQ_, ROCE_EXT_RDETH)                                  \
  X(RD, 0x40, 0x15, RESYNC, ROCE_RD_REQ_, ROCE_SINGLE_)                                            \
  ROCE_OPS_FLUSH(X, RD, 0x40, ROCE_RD_REQ_)                                                        \
  X(UD, 0x60, 0x04, SEND_ONLY, ROCE_EXT_DETH, ROCE_ONLY_ | ROCE_OP_SEND)                           \
  X(UD, 0x60, 0x05, SEND_ONLY_WITH_IMMEDIATE, ROCE_EXT_DETH + ROCE_EXT_IMMDT,                      \
    ROCE_ONLY_ | ROCE_OP_SEND)                                                                     \
  ROCE_OPS_SEND_WRITE(X, XRC, 0xa0, ROCE_EXT_XRCETH)                                               \
  ROCE_OPS_READ_ATOMIC(X, XRC, 0xa0, ROCE_EXT_XRCETH, 0u)                                          \
  ROCE_OPS_INVALIDATE(X, XRC, 0xa0, ROCE_EXT_XRCETH)

/*
 * The stream kind follows from transport and operation: UD and RD are datagrams; in RC and XRC,
 * 0x0d to 0x12 are responses and all others are requests.
 */
#define ROCE_KIND_OF_(p, op)                                                                       \
  ((p) == 0x40 || (p) == 0x60       ? ROCE_OP_DATAGRAM                                             \
   : ((op) >= 0x0d && (op) <= 0x12) ? ROCE_OP_RESPONSE                                             \
                                    : ROCE_OP_REQUEST)

#define ROCE_PROPERTIES_(p, op, ext, props)                                                        \
  ((__u64)(ext) | (__u64)(props) | (__u64)ROCE_KIND_OF_(p, op) | (__u64)ROCE_OP_KNOWN)
#define ROCE_CNP_PROPERTIES_ ((__u32)ROCE_OP_RESPONSE | (__u32)ROCE_OP_CNP | (__u32)ROCE_OP_KNOWN)

/* ROCE_RC_SEND_FIRST = 0x00 and so on. */
#define ROCE_ENUM_(t, p, op, name, ext, props) ROCE_##t##_##name = (p) + (op),
enum roce_opcode { ROCE_OPCODES(ROCE_ENUM_) };
#undef ROCE_ENUM_

/* The table, indexed by opcode; 0: not assigned. */
#ifdef __cplusplus
template <typename T> struct roce_opcode_table {
  T info[256];
  constexpr const T &operator[](unsigned opcode) const { return info[opcode & 0xff]; }
};
template <typename T> constexpr roce_opcode_table<T> roce_make_opcode_table() {
  roce_opcode_table<T> table{};
#define ROCE_ROW_(t, p, op, name, ext, props)                                                      \
  table.info[(p) + (op)] = static_cast<T>(ROCE_PROPERTIES_(p, op, ext, props));
  ROCE_OPCODES(ROCE_ROW_)
#undef ROCE_ROW_
  table.info[ROCE_OPCODE_CNP] = ROCE_CNP_PROPERTIES_;
  return table;
}
inline constexpr auto roce_opcode_info = roce_make_opcode_table<__u32>();
inline constexpr auto roce_opcode_properties = roce_make_opcode_table<__u64>();
#else
#define ROCE_ROW_(t, p, op, name, ext, props)                                                      \
  [(p) + (op)] = (__u32)ROCE_PROPERTIES_(p, op, ext, props),
static const __u32 roce_opcode_info[256] = {
    ROCE_OPCODES(ROCE_ROW_)[ROCE_OPCODE_CNP] = ROCE_CNP_PROPERTIES_,
};
#undef ROCE_ROW_
#endif

#endif
