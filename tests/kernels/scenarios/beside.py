#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host's own traffic beside a run.
serve ADDRESS PORT: sends back what comes by TCP.
load ADDRESS PORT PINGS BYTES: pings ADDRESS every 20 ms and meanwhile has BYTES come back by TCP; as JSON, what was asked,
what came back, and segments that TCP had to send again (those that had arrived all the same, by DSACK, left out).
A ping that is late is no lost one: it may take half a minute."""
import json
import os
import select
import socket
import struct
import sys
import threading
import time

PATIENCE = 30


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total & 0xFFFF) + (total >> 16)
    return ~(total + (total >> 16)) & 0xFFFF


def ping(address, count):
    link = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    link.setblocking(False)
    identity, answered, sent = os.getpid() & 0xFFFF, set(), 0
    due = time.monotonic()
    until = due + PATIENCE
    while len(answered) < count and time.monotonic() < until:
        if sent < count and time.monotonic() >= due:
            data = struct.pack("!BBHHH", 8, 0, 0, identity, sent) + b"xdp-roce"
            data = data[:2] + struct.pack("!H", checksum(data)) + data[4:]
            try:
                link.sendto(data, (address, 0))
                sent += 1
            except OSError:  # no room: later
                pass
            due = time.monotonic() + 0.02
            until = due + PATIENCE
        if select.select([link], [], [], 0.01)[0]:
            answer = link.recv(2048)[20:]
            kind, _, _, whose, number = struct.unpack("!BBHHH", answer[:8])
            if kind == 0 and whose == identity:
                answered.add(number)
    return len(answered)


def stream(address, port, size, result):
    data = os.urandom(size)
    with socket.create_connection((address, port), 2 * PATIENCE) as link:
        pusher = threading.Thread(target=lambda: (link.sendall(data), link.shutdown(socket.SHUT_WR)))
        pusher.start()
        back = bytearray()
        try:
            while some := link.recv(1 << 16):
                back += some
        except OSError as error:
            result["error"] = str(error)
        info = link.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
        pusher.join()
    again, needless = struct.unpack_from("I", info, 100)[0], struct.unpack_from("I", info, 216)[0]
    result.update(bytes=len(back), same=bytes(back) == data, again=max(0, again - needless))


def serve(address, port):
    def echo(link):
        with link:
            while some := link.recv(1 << 16):
                link.sendall(some)

    with socket.create_server((address, port)) as server:
        while True:
            threading.Thread(target=echo, args=(server.accept()[0],), daemon=True).start()


what, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
if what == "serve":
    serve(address, port)
pings, size = int(sys.argv[4]), int(sys.argv[5])
tcp = {}
beside = threading.Thread(target=stream, args=(address, port, size, tcp))
if size:
    beside.start()
answered = ping(address, pings)
if size:
    beside.join()
print(json.dumps({"pings": pings, "answered": answered, "bytes": size, "tcp": tcp}))
