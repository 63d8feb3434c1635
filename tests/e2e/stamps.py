#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stamps.py make KIND IN OUT: the frames of a capture as a switch or packet broker stamps them with their times, captured some
100 us later, each by another delay. scapy makes the headers of ERSPAN III. Prints the number of frames.

stamps.py check KIND CAPTURE REPORT: the table frame_times of the report against tshark's fields of that capture."""
import json
import random
import struct
import subprocess
import sys
import zlib

DELAY, JITTER = 500_000, 300_000
TICKS = {"us100": 100_000, "ns100": 100, "ns100_upper": 100, "user": 10}


def packets_of(path):
    from scapy.all import RawPcapReader
    reader = RawPcapReader(path)
    return [(frame, m.sec * 10**9 + m.usec * (1 if reader.nano else 1000)) for frame, m in reader]


def erspan(frame, number, stamp, granularity, platform=None):
    from scapy.contrib.erspan import ERSPAN_III, ERSPAN_PlatformSpecific
    from scapy.all import Ether, GRE, IP
    header = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / IP(src="198.51.100.1", dst="203.0.113.1") / GRE(
        proto=0x22eb, seqnum_present=1, sequence_number=number)
    header /= ERSPAN_III(session_id=5, hw=3, timestamp=stamp & 0xffffffff, gra=granularity, o=int(platform is not None))
    if platform:
        header /= ERSPAN_PlatformSpecific(platf_id=platform[0], info1=7, info2=platform[1])
    return bytes(header) + frame


def stamped(kind, frame, number, ns, first):
    if kind == "us100":
        return erspan(frame, number, ns // 100_000, 0)
    if kind == "ns100":  # wraps between the first frames
        return erspan(frame, number, (ns - first) // 100 - 3, 1)
    if kind == "ns100_upper":
        ticks = ns // 100
        return erspan(frame, number, ticks, 1, (3, ticks >> 32))
    if kind == "ieee1588":
        return erspan(frame, number, ns % 10**9, 2)
    if kind == "ieee1588_seconds":
        return erspan(frame, number, ns % 10**9, 2, (5, ns // 10**9))
    if kind == "user":
        return erspan(frame, number, ns // 10, 3)
    seconds, fraction = divmod(ns, 10**9)
    trailer = struct.pack("<I", zlib.crc32(frame)) + struct.pack("!BBI", 9, 47, seconds)
    trailer += (-(-(fraction << 40) // 10**9)).to_bytes(5, "big") + b"\0"
    whole = frame + trailer
    return whole + (struct.pack("<I", zlib.crc32(whole)) if kind == "trailer_fcs" else b"")


def make(kind, source, out):
    draw = random.Random(7)
    packets = packets_of(source)
    first, captured = packets[0][1], 0
    with open(out, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xa1b23c4d, 2, 4, 0, 0, 262144, 1))
        for number, (frame, ns) in enumerate(packets):
            captured = max(captured, ns + DELAY + draw.randrange(JITTER))
            whole = stamped(kind, frame, number, ns, first)
            file.write(struct.pack("<IIII", captured // 10**9, captured % 10**9, len(whole), len(whole)) + whole)
    print(len(packets))


def nanoseconds(text):
    seconds, fraction = text.split(".")
    return int(seconds) * 10**9 + int(fraction.ljust(9, "0")[:9])


def fields_of(path, *names):
    command = ["tshark", "-r", path, "--enable-heuristic", "exablaze_eth", "-T", "fields", "-E", "separator=|", "-E",
               "occurrence=f", "-e", "frame.time_epoch"]
    for name in names:
        command += ["-e", name]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split("|") for line in lines]


def stamps_of(kind, path):
    """(capture time, stamp) of each frame in ns, as tshark reads them, and what the report should call them."""
    if kind.startswith("trailer"):
        rows = fields_of(path, "exablaze.timestamp.seconds", "exablaze.timestamp.fractional_seconds", "exablaze.device",
                         "exablaze.port")
        assert {(row[3], row[4]) for row in rows} == {("9", "47")}, rows[0]
        return [(nanoseconds(r[0]), int(r[1]) * 10**9 + int(float(r[2]) * 1e9 + 1e-3)) for r in rows], "2^-40 s", True
    rows = fields_of(path, "erspan.timestamp", "erspan.gra", "erspan.platid", "erspan.pid3.timestamp", "erspan.pid5.timestamp",
                     "erspan.spanid", "erspan.version")
    assert {(row[6], row[7]) for row in rows} == {("5", "2")}, rows[0]
    granularity = int(rows[0][2])
    tick, limit = (1, 10**9) if granularity == 2 else (TICKS[kind], 2**32)
    found = []
    for row in rows:
        captured, ticks = nanoseconds(row[0]), int(row[1])
        if row[4] or row[5]:
            ticks += int(row[4] or row[5]) * limit
        elif found:  # as often around as the capture's clock says
            since = captured - found[0][0] + found[0][1]
            ticks += round((since / tick - ticks) / limit) * limit
        found.append((captured, ticks * tick))
    return found, ("100 us", "100 ns", "IEEE 1588", "user")[granularity], bool(rows[0][3])


def check(kind, path, report):
    times, unit, whole = stamps_of(kind, path)
    with open(report, encoding="ascii") as file:
        row, = json.load(file)["frame_times"]
    delays = [captured - stamp for captured, stamp in times]
    span, stamp_span = times[-1][0] - times[0][0], times[-1][1] - times[0][1]
    expected = {
        "unit": unit, "whole": whole, "frames": len(times), "unusable": 0, "backward": 0,
        "delay_min_ns": min(delays) - delays[0], "delay_max_ns": max(delays) - delays[0],
        "drift_ppm": (stamp_span / span - 1) * 1e6,
        "offset_ns": delays[0] if kind in ("ieee1588_seconds", "trailer", "trailer_fcs") else None,
    }
    wrong = {key: (row[key], value) for key, value in expected.items()
             if (row[key] != value if not isinstance(value, float) else abs(row[key] - value) > 0.001)}
    if wrong or max(delays) - min(delays) < JITTER / 4:
        sys.exit(f"{kind}: report and tshark: {wrong}")
    print(f"{kind}: {len(times)} frames, delays {expected['delay_min_ns']} to {expected['delay_max_ns']} ns")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]](*sys.argv[2:])
