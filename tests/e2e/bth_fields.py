#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bth_fields.py FILE: a line for each frame of the pcap file: DestQP, opcode, SE, MigReq, PadCnt, TVer,
P_Key, FECN, BECN, reserved (6), AckReq, reserved (7) and PSN as scapy reads them. Ends with an error at
the first iCRC that is not the one computed here and, over IPv4, by scapy."""
import struct
import sys
import zlib

from scapy.contrib.roce import BTH
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap


def icrc(frame):
    ipv4 = IP in frame
    whole = bytes(frame[IP] if ipv4 else frame[IPv6])
    length = frame[UDP].len + (20 if ipv4 else 40)
    masked = bytearray(b"\xff" * 8 + whole[:length - 4])
    if ipv4:
        ones = (9, 16, 18, 19, 34, 35, 40)  # TOS, TTL, checksums, BTH byte 4
    else:
        masked[8] |= 0x0f
        ones = (9, 10, 11, 15, 54, 55, 60)  # traffic class, flow label, hop limit, checksum, BTH byte 4
    for at in ones:
        masked[at] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(masked))), whole[length - 4:length]


for number, frame in enumerate(rdpcap(sys.argv[1]), 1):
    want, got = icrc(frame)
    if want != got:
        sys.exit(f"frame {number}: iCRC is {got.hex()}, not {want.hex()}")
    bth = frame[BTH]
    if IP in frame:
        rebuilt = Ether(bytes(frame))
        del rebuilt[IP].chksum
        rebuilt[BTH].icrc = None
        if bytes(rebuilt) != bytes(frame):
            sys.exit(f"frame {number}: scapy builds {bytes(rebuilt).hex()} of {bytes(frame).hex()}")
    print(bth.dqpn, bth.opcode, bth.solicited, bth.migreq, bth.padcount, bth.version, bth.pkey, bth.fecn,
          bth.becn, bth.resv6, bth.ackreq, bth.resv7, bth.psn)
