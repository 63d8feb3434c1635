#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cnp_pace.py FILE SECONDS: the CNPs of the pcap file to one QP are so far apart: hardly any closer,
as stamps are late at times, and no more of them in all than there is room for."""
import collections
import struct
import sys

from scapy.contrib.roce import BTH
from scapy.utils import rdpcap

interval = float(sys.argv[2])
times = collections.defaultdict(list)
for frame in rdpcap(sys.argv[1]):
    times[frame[BTH].dqpn].append(float(frame.time))
for qpn, stamps in times.items():
    apart = [b - a for a, b in zip(stamps, stamps[1:])]
    room = (stamps[-1] - stamps[0]) / interval + 2
    close = sum(one < 0.8 * interval for one in apart)
    if len(stamps) > room or close > len(apart) / 5 + 1:
        sys.exit(f"{qpn:#x}: {len(stamps)} CNPs where {room:.0f} have room, {close} too close: {apart}")
