/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * Wire constants: lengths in bytes, offsets from the start of the header they name, values in host
 * order. IBA vol. 1 chapter 9 and annexes A16 (RoCE), A17 (RoCEv2); IEEE 802.3 annex 31B, 802.1Qbb.
 */
#ifndef ROCE_WIRE_H
#define ROCE_WIRE_H

#include "types.h"

#define ROCE_ETH_LEN 14
#define ROCE_VLAN_LEN 4
#define ROCE_VLAN_MAX 2

#define ROCE_ETHERTYPE_IPV4 0x0800
#define ROCE_ETHERTYPE_IPV6 0x86dd
#define ROCE_ETHERTYPE_VLAN 0x8100
#define ROCE_ETHERTYPE_QINQ 0x88a8
#define ROCE_ETHERTYPE_ROCEV1 0x8915
#define ROCE_ETHERTYPE_MAC_CONTROL 0x8808
#define ROCE_ETHERTYPE_MPLS 0x8847 /* RFC 5332 */
#define ROCE_ETHERTYPE_MPLS_MULTICAST 0x8848
#define ROCE_ETHERTYPE_QINQ_OLD 0x9100    /* before 802.1ad */
#define ROCE_ETHERTYPE_TRANSPARENT 0x6558 /* in GRE and GENEVE: an Ethernet frame */
#define ROCE_ETHERTYPE_ERSPAN 0x88be      /* in GRE: types I and II */
#define ROCE_ETHERTYPE_ERSPAN_III 0x22eb  /* in GRE */
#define ROCE_ETHERTYPE_MIRROR 0x8949      /* in GRE: an Ethernet frame, from switches with SONiC */

#define ROCE_MAC_CONTROL_PAUSE 0x0001
#define ROCE_MAC_CONTROL_PFC 0x0101

#define ROCE_IPV4_LEN 20
#define ROCE_IPV6_LEN 40
#define ROCE_GRH_LEN 40
#define ROCE_GRH_NEXT_BTH 0x1b
#define ROCE_UDP_LEN 8
#define ROCE_UDP_PORT 4791

#define ROCE_IPPROTO_HOPOPTS 0
#define ROCE_IPPROTO_IPV4 4
#define ROCE_IPPROTO_TCP 6
#define ROCE_IPPROTO_UDP 17
#define ROCE_IPPROTO_IPV6 41
#define ROCE_IPPROTO_ROUTING 43
#define ROCE_IPPROTO_FRAGMENT 44
#define ROCE_IPPROTO_GRE 47
#define ROCE_IPPROTO_DSTOPTS 60
#define ROCE_IPPROTO_SCTP 132
#define ROCE_IPPROTO_MPLS 137
/* IPv6 extension headers that are parsed before a packet is classified as not RoCE. */
#define ROCE_IPV6_EXT_MAX 6

/* GRE (RFC 2784, 2890): the bits of its first 16, each of which adds 4 bytes. */
#define ROCE_GRE_LEN 4
#define ROCE_GRE_CHECKSUM 0x8000
#define ROCE_GRE_ROUTING 0x4000
#define ROCE_GRE_KEY 0x2000
#define ROCE_GRE_SEQUENCE 0x1000
#define ROCE_GRE_VERSION 0x0007
/* ERSPAN (draft-foschiano-erspan-03): byte 0 has the version; T and the session are in 2 and 3. */
#define ROCE_ERSPAN_II_LEN 8
#define ROCE_ERSPAN_II_VERSION 1
#define ROCE_ERSPAN_III_LEN 12
#define ROCE_ERSPAN_III_VERSION 2
#define ROCE_ERSPAN_PLATFORM_LEN 8 /* of type III, if the last bit of its header is set */
#define ROCE_ERSPAN_TRUNCATED 0x0400
#define ROCE_ERSPAN_SESSION 0x03ff
#define ROCE_VXLAN_PORT 4789 /* RFC 7348 */
#define ROCE_VXLAN_LEN 8
#define ROCE_VXLAN_VNI 0x08
#define ROCE_GENEVE_PORT 6081 /* RFC 8926 */
#define ROCE_GENEVE_LEN 8
#define ROCE_MPLS_LEN 4
#define ROCE_MPLS_BOTTOM 0x100

#define ROCE_BTH_LEN 12
#define ROCE_ICRC_LEN 4
#define ROCE_RETH_LEN 16
#define ROCE_RETH_DMALEN 12
#define ROCE_DETH_LEN 8
#define ROCE_DETH_SRCQP 4
#define ROCE_AETH_LEN 4

#define ROCE_QPN_GSI 1
#define ROCE_QPN_MULTICAST 0xffffffu
#define ROCE_QPN_UNKNOWN 0xffffffffu /* not a QPN: a QPN has 24 bits */
#define ROCE_ECN_ECT1 1
#define ROCE_ECN_ECT0 2
#define ROCE_ECN_CE 3

/* AETH syndrome: bits 6:5 are its type (IBA vol. 1, 9.7.5.2.1). */
#define ROCE_SYNDROME_TYPE(s) (((s) >> 5) & 3)
#define ROCE_SYNDROME_VALUE(s) ((s)&31)
enum roce_syndrome_type {
  ROCE_ACK = 0,
  ROCE_RNR_NAK = 1,
  ROCE_SYNDROME_RESERVED = 2,
  ROCE_NAK = 3
};

/* RDMA CM over QP1 (IBA vol. 1, 12.6): offsets from the first BTH byte of a UD SEND ONLY. */
#define ROCE_CM_MAD 20
#define ROCE_MAD_LEN 256
#define ROCE_CM_CLASS 0x07
#define ROCE_CM_ATTR_REQ 0x0010
#define ROCE_CM_ATTR_REP 0x0013
#define ROCE_CM_ATTRIBUTE 36
#define ROCE_CM_LOCAL_ID 44
#define ROCE_CM_REQ_QPN 76
#define ROCE_CM_REQ_PSN 88
#define ROCE_CM_REQ_PMTU 94
#define ROCE_CM_REP_REMOTE_ID 48
#define ROCE_CM_REP_QPN 56
#define ROCE_CM_REP_PSN 64

#endif
