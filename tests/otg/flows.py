#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""flows.py LOCATION LEFT RIGHT CAPTURE: plain flows of `serve` between two ports, captured on the right one; then ROUNDS of starts and stops."""
import json
import sys
import time
import urllib.request

location, left, right, capture = sys.argv[1:5]
rounds = int(sys.argv[5])


def call(method, path, value=None):
    request = urllib.request.Request(location + path, None if value is None else json.dumps(value).encode(), {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        body = answer.read()
    return json.loads(body) if answer.headers["Content-Type"] == "application/json" else body


def equal(wanted, found, what):
    if wanted != found:
        sys.exit(f"{what}: expected {wanted}, got {found}")


def state(**what):
    choice = next(iter(what))
    return call("POST", "/control/state", {"choice": choice, choice: what[choice]})


def transmit(how, names=()):
    state(traffic={"choice": "flow_transmit", "flow_transmit": {"state": how, "flow_names": list(names)}})


def link(how):
    state(port={"choice": "link", "link": {"port_names": ["B"], "state": how}})


def metrics(name):
    return call("POST", "/monitor/metrics", {"choice": "flow", "flow": {"flow_names": [name]}})["flow_metrics"][0]


def ended(name):
    for _ in range(200):
        row = metrics(name)
        if row["transmit"] == "stopped":
            time.sleep(0.2)  # the last frames arrive
            return metrics(name)
        time.sleep(0.05)
    sys.exit(f"{name} does not end: {row}")


def flow(name, packets, size, **more):
    return {"name": name, "tx_rx": {"port": {"tx_name": "A", "rx_name": "B"}},
            "packet": [{"ethernet": {"src": {"value": "02:00:00:00:00:0a"}}},
                       {"ipv4": {"src": {"value": "198.18.0.1"}, "dst": {"increment": {"start": "198.18.1.1", "step": "0.0.0.1", "count": 4}}}},
                       {"udp": {"src_port": {"value": 5000}, "dst_port": {"values": [6000, 6001]}}}],
            "size": {"fixed": size}, "rate": {"pps": "5000"}, "duration": {"fixed_packets": {"packets": packets}},
            "metrics": {"enable": True, "loss": True, "latency": {"enable": True}, "timestamps": True}, **more}


pause = {"name": "pause", "tx_rx": {"port": {"tx_name": "B", "rx_name": "A"}},
         "packet": [{"pfcpause": {"class_enable_vector": {"value": 8}, "pause_class_3": {"value": 65535}}}], "size": {"fixed": 64}, "rate": {"pps": 1000},
         "metrics": {"enable": True, "loss": True}}
config = {"ports": [{"name": "A", "location": left}, {"name": "B", "location": right}],
          "layer1": [{"name": "L", "port_names": ["A", "B"], "speed": "speed_1_gbps"}], "flows": [flow("udp", 1000, 256), pause],
          "captures": [{"name": "C", "port_names": ["B"], "format": "pcapng", "filters": [{"ipv4": {"dst": {"value": "c6120102"}}}]}]}
call("POST", "/config", config)
state(port={"choice": "capture", "capture": {"state": "start"}})
transmit("start", ["udp"])
row = ended("udp")
equal([1000, 1000, 256000, 0], [row["frames_tx"], row["frames_rx"], row["bytes_rx"], row["loss"]], "frames of a flow")
if not 0 < row["latency"]["minimum_ns"] <= row["latency"]["average_ns"] <= row["latency"]["maximum_ns"]:
    sys.exit(f"latencies: {row['latency']}")
span = row["timestamps"]["last_timestamp_ns"] - row["timestamps"]["first_timestamp_ns"]
if not 0.15e9 < span < 2e9:
    sys.exit(f"1000 frames at 5000 a second took {span} ns")
with open(capture, "wb") as file:
    file.write(call("POST", "/monitor/capture", {"port_name": "B"}))
# What cannot arrive is lost, and a start clears the counters.
link("down")
transmit("start", ["udp"])
row = ended("udp")
equal([1000, 0, 100], [row["frames_tx"], row["frames_rx"], row["loss"]], "frames to a port that is down")
link("up")
# Frames of PFC are sent until they are stopped.
transmit("start", ["pause"])
time.sleep(1)
transmit("pause", ["pause"])
row = metrics("pause")
equal("paused", row["transmit"], "transmit of a paused flow")
if not 500 < row["frames_tx"] < 1500 or row["frames_rx"] > row["frames_tx"]:
    sys.exit(f"a second of PFC at 1000 a second: {row}")
transmit("stop")

for number in range(rounds):
    call("POST", "/config", dict(config, flows=[flow(f"udp{number}", 10, 128, rate={"pps": 1000})]))
    state(port={"choice": "capture", "capture": {"state": "start"}})
    transmit("start")
    row = ended(f"udp{number}")
    equal([10, 10], [row["frames_tx"], row["frames_rx"]], f"frames of round {number}")
print(f"{rounds} rounds")
