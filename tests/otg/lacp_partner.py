#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""lacp_partner.py IF=KEY...: answers each LACPDU on these interfaces by one that scapy builds: of a system that aggregates, with that key. Until it is
ended. 77: without scapy."""
import select
import socket
import sys

try:
    from scapy.contrib.lacp import LACP, SlowProtocol
    from scapy.layers.l2 import Ether
except ImportError as error:
    print(f"SKIP: needs scapy: {error}")
    sys.exit(77)

ENDS = {}
for number, word in enumerate(sys.argv[1:], 1):
    name, key = word.split("=")
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x8809))
    end.bind((name, 0))
    ENDS[end] = (number, int(key))
print("ready", flush=True)
while True:
    for end in select.select(list(ENDS), [], [])[0]:
        frame, where = end.recvfrom(2048)
        heard = Ether(frame).getlayer(LACP)
        if heard is None or where[2] == socket.PACKET_OUTGOING:
            continue
        number, key = ENDS[end]
        answer = Ether(dst="01:80:c2:00:00:02", src=f"02:00:00:00:0b:{number:02}") / SlowProtocol() / LACP(
            actor_system_priority=32768, actor_system="02:00:00:00:00:0b", actor_key=key, actor_port_priority=255, actor_port_number=number, actor_state=0x3f,
            partner_system_priority=heard.actor_system_priority, partner_system=heard.actor_system, partner_key=heard.actor_key,
            partner_port_priority=heard.actor_port_priority, partner_port_number=heard.actor_port_number, partner_state=heard.actor_state)
        end.send(bytes(answer))
