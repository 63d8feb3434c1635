#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pings.py LOCATION LEFT IPV4 IPV6: a device at the port LEFT, 198.51.100.10 and 2001:db8:7::10, pings hosts that have IPV4 and IPV6, and ones that are not
there. Answers are checked against the published model."""
import json
import sys

import otg_schema
from client import Client, Wrong

location, left, ipv4, ipv6 = sys.argv[1:5]
client = Client(location, otg_schema.model())


def need(truth, what):
    if not truth:
        raise Wrong(what)


def ping(family, *requests):
    return client.right("POST", "/control/action", {"choice": "protocol", "protocol": {"choice": family, family: {
        "choice": "ping", "ping": {"requests": [{"src_name": name, "dst_ip": to} for name, to in requests]}}}})


def results(family, *requests):
    answer = ping(family, *requests)["response"]
    return [row["result"] for row in answer["protocol"][family]["ping"]["responses"]]


client.right("POST", "/config", {"ports": [{"name": "A", "location": left}], "devices": [{"name": "D", "ethernets": [{
    "name": "E", "mac": "02:00:00:00:02:01", "connection": {"port_name": "A"},
    "ipv4_addresses": [{"name": "I4", "address": "198.51.100.10", "gateway": ipv4}],
    "ipv6_addresses": [{"name": "I6", "address": "2001:db8:7::10", "gateway": ipv6, "prefix": 64}]}]}]})
need(results("ipv4", ("I4", ipv4), ("I4", "198.51.100.99"), ("D", ipv4)) == ["succeeded", "failed", "succeeded"], "IPv4")
need(results("ipv6", ("I6", ipv6), ("I6", "2001:db8:7::99")) == ["succeeded", "failed"], "IPv6")
for family, name, to, word in (("ipv4", "I6", ipv4, "I6"), ("ipv4", "nobody", ipv4, "nobody")):
    status, answer = client.call("POST", "/control/action", {"choice": "protocol", "protocol": {"choice": family, family: {
        "choice": "ping", "ping": {"requests": [{"src_name": name, "dst_ip": to}]}}}})
    need(status == 400 and word in answer["errors"][0], f"{status} {answer}")
for wrong in ({}, {"choice": "port"}, {"choice": "protocol", "protocol": {"choice": "bgp", "bgp": {}}}, {"choice": "port", "port": {"choice": "reboot", "reboot": {}}}):
    status, _, text = client.raw("POST", "/control/action", json.dumps(wrong).encode())
    need(status == 400, f"{wrong}: {status} {text}")
print(f"{client.checked} answers are right by the model")
