#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tunnels.py KIND IN OUT [--drop N] [--lose N] [--cut BYTES]: the frames of a capture in tunnels that scapy makes. Without
arguments: reads such lines from standard input.

--drop N: every Nth frame is lost before the mirror, --lose N: by the mirror, after it got its number.
--cut BYTES: the mirror keeps only so many bytes of a frame."""
import argparse
import shlex
import struct
import sys

from scapy.contrib.erspan import ERSPAN_I, ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.mpls import MPLS
from scapy.all import Dot1Q, Ether, GRE, IP, IPv6, RawPcapReader, UDP, VXLAN

ends = {"src": "198.51.100.1", "dst": "203.0.113.1"}
ends6 = {"src": "2001:db8:1::1", "dst": "2001:db8:1::2"}
ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")


def gre(number, **fields):
    return GRE(seqnum_present=1, sequence_number=number & 0xffffffff, **fields)


def erspan2():
    return ERSPAN_II(ver=1, session_id=5)  # scapy 2.5 has another version by default


def of_ethernet(header):
    return lambda frame, number: bytes(header(number) / frame)


def of_network(header):
    """Around the network layer of untagged frames; others stay as they are."""
    def wrap(frame, number):
        version = {b"\x08\x00": 4, b"\x86\xdd": 6}.get(frame[12:14])
        return bytes(header(version) / frame[14:]) if version else frame
    return wrap


def tagged(*tags):
    return lambda frame, _: frame[:12] + b"".join(struct.pack("!HH", *tag) for tag in tags) + frame[12:]


KINDS = {
    "erspan1": of_ethernet(lambda _: ether / IP(**ends) / GRE(proto=0x88be) / ERSPAN_I()),
    "erspan2": of_ethernet(lambda n: ether / IP(**ends) / gre(n, proto=0x88be) / erspan2()),
    "erspan2_tagged": of_ethernet(
        lambda n: ether / Dot1Q(vlan=9) / IP(**ends) / gre(n, proto=0x88be) / erspan2()),
    "erspan2_ipv6": of_ethernet(lambda n: ether / IPv6(**ends6) / gre(n, proto=0x88be) / erspan2()),
    "erspan3": of_ethernet(lambda n: ether / IP(**ends) / gre(n, proto=0x22eb) / ERSPAN_III(session_id=5)),
    "erspan3_platform": of_ethernet(lambda n: ether / IP(**ends) / gre(n, proto=0x22eb) /
                                    ERSPAN_III(session_id=5, o=1) / ERSPAN_PlatformSpecific()),
    "gre_8949": of_ethernet(lambda _: ether / IP(**ends) / GRE(proto=0x8949)),
    "gre_6558": of_ethernet(lambda n: ether / IP(**ends) / gre(n, proto=0x6558, key_present=1, key=77,
                                                                chksum_present=1)),
    "vxlan": of_ethernet(lambda _: ether / IP(**ends) / UDP(sport=4000, dport=4789) / VXLAN(vni=77, flags=8)),
    "vxlan_ipv6": of_ethernet(lambda _: ether / IPv6(**ends6) / UDP(sport=4000, dport=4789) / VXLAN(vni=77, flags=8)),
    "geneve": of_ethernet(lambda _: ether / IP(**ends) / UDP(sport=4000, dport=6081) /
                          GENEVE(vni=77, proto=0x6558, options=[GeneveOptions(data=b"12345678")])),
    "mpls": of_network(lambda version: Ether(src=ether.src, dst=ether.dst, type=0x8847) / MPLS(label=16, s=0) /
                       MPLS(label=17, s=1)),
    "ipip": of_network(lambda version: ether / IP(proto=4 if version == 4 else 41, **ends)),
    "ipip6": of_network(lambda version: ether / IPv6(nh=4 if version == 4 else 41, **ends6)),
    "tagged": tagged((0x8100, 8)),
    "qinq": tagged((0x88a8, 7), (0x8100, 8)),
    "erspan2_of_vxlan": of_ethernet(lambda n: ether / IP(**ends) / gre(n, proto=0x88be) / erspan2() /
                                    ether / IP(**ends) / UDP(sport=4000, dport=4789) / VXLAN(vni=77, flags=8)),
}

def convert(words):
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("input")
    parser.add_argument("output")
    parser.add_argument("--drop", type=int, default=0)
    parser.add_argument("--lose", type=int, default=0)
    parser.add_argument("--cut", type=int, default=0)
    args = parser.parse_args(words)
    wrap, number = KINDS[args.kind], 0xffffff00
    with open(args.output, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1))
        for count, (frame, meta) in enumerate(RawPcapReader(args.input), 1):
            if args.drop and count % args.drop == 0:
                continue
            number += 1
            if args.lose and count % args.lose == 0:
                continue
            whole = wrap(frame[:args.cut] if args.cut else frame, number)
            out.write(struct.pack("<IIII", meta.sec, meta.usec, len(whole), len(whole)) + whole)


if __name__ == "__main__":
    for line in [sys.argv[1:]] if sys.argv[1:] else map(shlex.split, sys.stdin):
        convert(line)
