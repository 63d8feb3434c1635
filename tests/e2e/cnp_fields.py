#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cnp_fields.py FILE SRC DST SRC_MAC DST_MAC DSCP QPN...: every frame of the pcap file is a CNP from
SRC to DST with one of those destination QPNs, field by field as IBA annex A17 has it. Read by
scapy, and built again. Prints how many each QPN got."""
import collections
import struct
import sys
import zlib

from scapy.contrib.roce import BTH, CNPPadding
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether
from scapy.utils import rdpcap

path, src, dst, src_mac, dst_mac, dscp = sys.argv[1:7]
qpns = {int(word, 0) for word in sys.argv[7:]}
counts = collections.Counter()


def check(number, what, want, got):
    if want != got:
        sys.exit(f"frame {number}: {what} is {got}, not {want}")


for number, frame in enumerate(rdpcap(path), 1):
    ip = frame[IP] if IP in frame else frame[IPv6]
    tos = ip.tos if IP in frame else ip.tc
    bth = frame[BTH]
    tag = 4 if Dot1Q in frame else 0
    for what, want, got in (
            ("destination MAC", dst_mac, frame.dst), ("source MAC", src_mac, frame.src),
            ("source", src, ip.src), ("destination", dst, ip.dst),
            ("DSCP", int(dscp), tos >> 2), ("CE", False, tos & 3 == 3),
            ("frame's length", (74 if IP in frame else 94) + tag, len(frame)),
            ("destination port", 4791, frame[UDP].dport), ("UDP length", 40, frame[UDP].len),
            ("opcode", 0x81, bth.opcode), ("SE", 0, bth.solicited), ("PadCnt", 0, bth.padcount),
            ("TVer", 0, bth.version), ("P_Key", 0xffff, bth.pkey), ("FECN", 0, bth.fecn),
            ("BECN", 1, bth.becn), ("reserved (6)", 0, bth.resv6), ("AckReq", 0, bth.ackreq),
            ("reserved (7)", 0, bth.resv7), ("PSN", 0, bth.psn),
            ("payload", bytes(16), bytes(frame)[-20:-4])):
        check(number, what, want, got)
    if IP in frame:
        for what, want, got in (("IHL", 5, ip.ihl), ("total length", 60, ip.len),
                                ("fragment offset", 0, ip.frag), ("MF", False, bool(ip.flags.MF))):
            check(number, what, want, got)
    else:
        check(number, "payload length", 40, ip.plen)
    if bth.dqpn not in qpns:
        sys.exit(f"frame {number}: QPN {bth.dqpn:#x} is none of {qpns}")
    if CNPPadding not in frame:
        sys.exit(f"frame {number}: no CNP to scapy")
    if IP in frame:  # checksum and iCRC as scapy makes them
        rebuilt = Ether(bytes(frame))
        del rebuilt[IP].chksum
        rebuilt[BTH].icrc = None
        check(number, "what scapy builds", bytes(rebuilt).hex(), bytes(frame).hex())
    else:  # for which scapy has no iCRC
        masked = bytearray(b"\xff" * 8 + bytes(ip)[:-4])
        masked[8] |= 0x0f
        for at in (9, 10, 11, 15, 54, 55, 60):  # traffic class, flow label, hop limit, checksum, ECN bits
            masked[at] = 0xff
        check(number, "iCRC", struct.pack("<I", zlib.crc32(bytes(masked))).hex(), bytes(ip)[-4:].hex())
    counts[bth.dqpn] += 1

print(*(f"{qpn:#x}:{count}" for qpn, count in sorted(counts.items())))
