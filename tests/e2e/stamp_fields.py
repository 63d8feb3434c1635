#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stamp_fields.py FILE: a line for each frame of the pcap file: DestQP, sequence number and run of its
stamp, and the nanoseconds from the stamp to the capture, where CLOCK_TAI is the capture's clock plus
what this kernel has (times of FILE in nanoseconds). Ends with an error at a frame without a stamp at the begin of its payload."""
import struct
import sys
import time

from scapy.layers.inet import UDP
from scapy.utils import RawPcapReader
from scapy.layers.l2 import Ether

tai = round(time.clock_gettime(time.CLOCK_TAI) - time.time())
RETH_FIRST = (6, 10, 11)  # RC WRITE FIRST, ONLY; ONLY with immediate has 4 bytes more
for number, (raw, meta) in enumerate(RawPcapReader(sys.argv[1]), 1):
    bth = bytes(Ether(raw)[UDP].payload)
    payload = bth[12 + (16 if bth[0] in RETH_FIRST else 0):]
    if payload[:8] != b"xr-stamp":
        sys.exit(f"frame {number}: the payload begins with {payload[:8].hex()}")
    run, sequence, stamp = struct.unpack_from(">QQQ", payload, 8)
    captured = (meta.sec + tai) * 10**9 + meta.usec  # in a file of nanoseconds, scapy's usec are these
    print(int.from_bytes(bth[5:8], "big"), sequence, run, captured - stamp)
