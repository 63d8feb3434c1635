#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changes.py LOCATION LEFT RIGHT [CHANGES]: flows change, come and go while others run, and nothing is lost: ten flows with CHANGES (1000) updates of rate
and size, appended and deleted flows. Flows of segment routing and of 64 bytes at 1, 10 and 100 percent are counted to the frame. Each answer is
checked against the published model."""
import json
import random
import sys
import time

import otg_schema
from client import Client, Wrong

location, left, right = sys.argv[1:4]
changes = int(sys.argv[4]) if len(sys.argv) > 4 else 1000


def need(truth, what):
    if not truth:
        raise Wrong(what)


def flow(name, number=0, headers=(), **more):
    return {"name": name, "tx_rx": {"port": {"tx_name": "A", "rx_names": ["B"]}},
            "packet": [{"ethernet": {"src": {"value": "02:00:00:00:00:0a"}}},
                       *(headers or ({"ipv4": {"src": {"value": "198.18.0.1"}, "dst": {"value": f"198.18.1.{number}"}}},
                                     {"udp": {"src_port": {"value": 5000 + number}, "dst_port": {"value": 6000}}}))],
            "size": {"fixed": 128}, "rate": {"pps": "50"}, "metrics": {"enable": True, "loss": True}, **more}


client = Client(location, otg_schema.model())


def refused(method, path, value, *words):
    status, answer = client.call(method, path, value)
    text = " ".join(answer.get("errors", []))
    need(status == 400 and all(word in text for word in words), f"{path} {value}: {status} {answer}")


def transmit(state, names=()):
    client.right("POST", "/control/state", {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {
        "state": state, "flow_names": list(names)}}})


def rows():
    return {row["name"]: row for row in client.metrics("flow")["flow_metrics"]}


def update(properties, *flows):
    return client.right("PATCH", "/config", {"choice": "flows", "flows": {"property_names": list(properties), "flows": list(flows)}})


def append(*flows):
    return client.right("PATCH", "/config/append", [{"choice": "flows", "flows": list(flows)}])


def delete(*names):
    """As snappi sends it; the model has the list alone."""
    status, _, text = client.raw("PATCH", "/config/delete", json.dumps({"config_delete_list": [{"choice": "flows", "flows": list(names)}]}).encode())
    need(status == 200, f"deleting {names}: {status} {text}")


def settled(what):
    """All flows are stopped and what they sent has arrived."""
    for _ in range(300):
        found = rows()
        if all(row["transmit"] == "stopped" for row in found.values()):
            break
        time.sleep(0.1)
    time.sleep(0.3)
    found = rows()
    for name, row in found.items():
        need(row["transmit"] == "stopped", f"{what}: {name} still sends: {row}")
        need(int(row["frames_tx"]) == int(row["frames_rx"]) > 0 and row["loss"] == 0, f"{what}: {name}: {row}")
        need(int(row["bytes_tx"]) == int(row["bytes_rx"]), f"{what}: {name}: {row}")
    return found


config = {"ports": [{"name": "A", "location": left}, {"name": "B", "location": right}],
          "layer1": [{"name": "L", "port_names": ["A", "B"], "speed": "speed_100_fd_mbps"}], "flows": [flow(f"f{n}", n) for n in range(10)]}
client.right("POST", "/config", config)
transmit("start")
time.sleep(0.5)
draw = random.Random(7)
began = time.monotonic()
for turn in range(changes):
    name = draw.randrange(10)
    changed = {"name": f"f{name}", "tx_rx": flow("x")["tx_rx"], "rate": {"pps": str(draw.randrange(20, 900))}, "size": {"fixed": draw.randrange(64, 600)}}
    update(draw.choice((("rate",), ("size",), ("rate", "size"))), changed)
print(f"{changes} changes in {time.monotonic() - began:.1f} s")
# What a change says is so: f0 alone sends faster, in frames of its new size.
update(["rate", "size"], {**flow("f0"), "rate": {"pps": "500"}, "size": {"fixed": 300}})
before = rows()
time.sleep(2)
after = rows()
sent = int(after["f0"]["frames_tx"]) - int(before["f0"]["frames_tx"])
need(0.8 < (int(after["f0"]["bytes_tx"]) - int(before["f0"]["bytes_tx"])) / 300 / sent < 1.2, f"sizes: {before['f0']} {after['f0']}")
need(800 < sent < 1300, f"500 packets a second were {sent} in 2 s")
got = {each["name"]: each for each in client.right("GET", "/config")["flows"]}
need(int(got["f0"]["rate"]["pps"]) == 500 and got["f0"]["size"]["fixed"] == 300, f"GET /config: {got['f0']}")
# Others come and go meanwhile.
append(flow("g0", 20), flow("g1", 21, rate={"pps": "400"}, duration={"fixed_packets": {"packets": 100}}))
transmit("start", ["g0", "g1"])
time.sleep(1)
need(int(rows()["g0"]["frames_rx"]) > 20, f"an appended flow: {rows()['g0']}")
delete("f3", "g0")
left_over = set(rows())
need(left_over == {f"f{n}" for n in range(10) if n != 3} | {"g1"}, f"flows after a deletion: {left_over}")
append(flow("f3", 30))  # its name is free again
transmit("start", ["f3"])
time.sleep(0.5)
transmit("stop")
found = settled("after the changes")
need(int(found["g1"]["frames_tx"]) == 100, f"g1: {found['g1']}")

refused("PATCH", "/config", {"choice": "flows", "flows": {"property_names": ["rate"], "flows": [flow("nobody")]}}, "nobody", "flows.flows[0]")
refused("PATCH", "/config", {"choice": "flows", "flows": {"property_names": ["rate"], "flows": [{**flow("f1"), "rate": {"pps": "0"}}]}}, "rate.pps")
refused("PATCH", "/config/append", [{"choice": "flows", "flows": [flow("f1")]}], "f1", "already")
refused("PATCH", "/config/append", [{"choice": "flows", "flows": [{**flow("h"), "tx_rx": {"port": {"tx_name": "C"}}}]}], "'C'")
refused("PATCH", "/config/delete", [{"choice": "flows", "flows": ["g0"]}], "g0")
status, _, text = client.raw("PATCH", "/config", b'{"choice": "flows", "flows": {"property_names": ["duration"], "flows": []}}')
need(status == 400 and b"duration" in text, f"an unknown property: {status} {text}")
need(client.right("GET", "/config")["flows"] and set(rows()) == set(found), "a refused change left something")

# Counted to the frame: 64 bytes, by headers alone, at shares of 100 Mbit/s; segment routing, micro-SIDs.
route = {"ipv6_extension_header": {"routing": {"segment_routing": {"segment_list": [
    {"segment": {"value": "fc00:0:3::"}}, {"segment": {"increment": {"start": "fc00:0:2::", "count": 4}}}]}}}}
usids = {"ipv6_extension_header": {"routing": {"choice": "segment_routing_usid", "segment_routing_usid": {"segment_list": [
    {"locator": {"value": "fc00::"}, "usids": ["0001", "0002"]}]}}}}
ipv6 = {"ipv6": {"src": {"value": "2001:db8::1"}, "dst": {"value": "fc00:0:2::"}}}
counted = [(f"{percent} %", [flow("small", size={"fixed": 64}, rate={"percentage": percent}, duration={"fixed_packets": {"packets": packets}})])
           for percent, packets in ((1, 1500), (10, 15000), (100, 60000))]
counted.append(("routes", [flow("srh", headers=(ipv6, route, {"udp": {}}), size={"fixed": 200}, duration={"fixed_packets": {"packets": 50}}),
                           flow("usid", headers=(ipv6, usids, {"ipv4": {}}, {"tcp": {}}), size={"fixed": 200}, duration={"fixed_packets": {"packets": 50}}),
                           flow("mpls", headers=({"mpls": {"label": {"value": 17}}}, {"ipv4": {}}, {"udp": {}}), duration={"fixed_packets": {"packets": 50}})]))
for what, flows in counted:
    client.right("POST", "/config", {**config, "flows": flows})
    transmit("start")
    for name, row in settled(what).items():
        wanted = next(each for each in flows if each["name"] == name)["duration"]["fixed_packets"]["packets"]
        need(int(row["frames_rx"]) == wanted, f"{what}: {wanted} frames are {row}")
# Ports that took RoCE alone, as there was no flow, are opened once more.
client.right("POST", "/config", {**config, "flows": []})
append(flow("late", duration={"fixed_packets": {"packets": 50}}))
transmit("start")
need(int(settled("appended to none")["late"]["frames_rx"]) == 50, "an appended flow alone")
print(f"{client.checked} answers are right by the model")
