#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the bridge's scenarios need of pcap files, frame by frame and knowing no header.

frames.py list FILE             a line of hexadecimal for each frame
frames.py roce FILE             the same of the frames to UDP port 4791
frames.py mark TEXT OUT         a capture of one frame, of an experimental EtherType, that has TEXT
frames.py cut FILE FROM TO OUT  the frames between the mark FROM ('': the start) and the mark TO
frames.py split FILE IP A B     the frames whose source is the address IP, and the others
frames.py converse FILE IP NETNS IFNAME NETNS IFNAME
                                sends those on the first interface, the others on the second, in the
                                order of the file: at each turn, what was sent has arrived at the other
                                interface, or nothing comes any more
"""
import ctypes
import gzip
import ipaddress
import os
import socket
import struct
import sys

HEADER = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1)
MARK = bytes.fromhex("020000000099" "020000000098" "88b5")


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at + 16 <= len(data):
        held, whole = struct.unpack_from(order + "II", data, at + 8)
        if held != whole:
            sys.exit(f"{path}: a frame of {whole} bytes is cut to {held}")
        if at + 16 + held > len(data):
            return
        yield data[at + 16:at + 16 + held]
        at += 16 + held


def write(path, frames):
    with open(path, "wb") as f:
        f.write(HEADER)
        for frame in frames:
            f.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def marked(text):
    return MARK + text.encode().ljust(46, b"\0")


def cut(path, first, last):
    inside = not first
    for frame in read(path):
        if frame == marked(last):
            return
        if frame[:14] == MARK:
            inside = frame == marked(first)
        elif inside:
            yield frame
    sys.exit(f"{path} has no mark '{last}'")


def is_from(frame, address):
    ip = ipaddress.ip_address(address).packed
    if frame[12:14] == b"\x08\x00":
        return frame[26:30] == ip
    if frame[12:14] == b"\x86\xdd":
        return frame[22:38] == ip
    return frame[12:14] == b"\x08\x06" and frame[28:32] == ip


def is_roce(frame):
    at = 18 if frame[12:14] == b"\x81\x00" else 14
    if frame[at - 2:at] == b"\x08\x00":
        return frame[at + 9] == 17 and frame[at + 22:at + 24] == b"\x12\xb7"
    return (frame[at - 2:at] == b"\x86\xdd" and frame[at + 6] == 17 and
            frame[at + 42:at + 44] == b"\x12\xb7")


def packet_socket(netns, ifname):
    with open(f"/run/netns/{netns}", "rb") as there:
        if ctypes.CDLL(None, use_errno=True).setns(there.fileno(), 0):
            sys.exit(f"netns {netns}: {os.strerror(ctypes.get_errno())}")
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    s.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    s.bind((ifname, 0))
    s.settimeout(0.05)
    return s


def await_arrival(there, count):
    while count:
        try:
            address = there.recvfrom(1)[1]
        except TimeoutError:
            return
        count -= address[2] != socket.PACKET_OUTGOING


def converse(frames, address, one, two):
    here, there, turn, count = one, two, True, 0
    for frame in frames:
        if is_from(frame, address) != turn:
            await_arrival(there, count)
            turn, here, there, count = not turn, there, here, 0
        here.send(frame)
        count += 1
    await_arrival(there, count)


def main(verb, *rest):
    if verb in ("list", "roce"):
        for frame in read(rest[0]):
            if verb == "list" or is_roce(frame):
                print(frame.hex())
    elif verb == "mark":
        write(rest[1], [marked(rest[0])])
    elif verb == "cut":
        write(rest[3], cut(*rest[:3]))
    elif verb == "split":
        frames = list(read(rest[0]))
        for i in (0, 1):
            write(rest[2 + i], [f for f in frames if is_from(f, rest[1]) == (i == 0)])
    elif verb == "converse":
        converse(read(rest[0]), rest[1], packet_socket(*rest[2:4]), packet_socket(*rest[4:6]))


main(*sys.argv[1:])
