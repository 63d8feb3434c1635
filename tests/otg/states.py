#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""states.py LOCATION LEFT RIGHT [SECONDS [SEED]]: control calls of `serve` in the orders that once ended it, and in random ones for SECONDS (10). Each
is answered with 200, or 400 and a reason. Counters stay after protocol.all stop."""
import itertools
import json
import random
import sys
import time
import urllib.error
import urllib.request

location, left, right = sys.argv[1:4]
seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 10
seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.randrange(1 << 30)


def post(path, value):
    """The status and the answer; without one, the server is gone."""
    request = urllib.request.Request(location + path, json.dumps(value).encode(), {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
    except OSError as error:
        sys.exit(f"seed {seed}: no answer to {path} {value}: {error}")


def right_answer(path, value):
    status, answer = post(path, value)
    if status != 200:
        sys.exit(f"{path} {value}: {status} {answer}")
    return answer


def device(number, port):
    qps = [{"qp_name": f"Q{number}{k}", "connection_type": {"reliable_connection": {"source_qp_number": 33 + k}}} for k in range(2)]
    return {"name": f"D{number}", "ethernets": [{
        "name": f"E{number}", "mac": f"02:00:00:00:02:0{number}", "connection": {"port_name": port}, "ipv4_addresses": [
            {"name": f"I{number}", "address": f"198.51.100.{number + 1}", "gateway": f"198.51.100.{2 - number}"}]}],
        "rocev2": {"ipv4_interfaces": [{"ipv4_name": f"I{number}", "peers": [
            {"name": f"P{number}", "destination_ip_address": f"198.51.100.{2 - number}", "qps": qps}]}]}}


def sender(number, port):
    return {"port_name": port, "transmit_type": {"target_line_rate": {"value": "10", "flows": [
        {"name": f"Q{number}{k}", "tx_endpoint": f"Q{number}{k}", "message_size": 64, "message_size_unit": "kb"} for k in range(2)]}}}


PLAIN = {"name": "plain", "tx_rx": {"port": {"tx_name": "A", "rx_names": ["B"]}}, "rate": {"pps": 1000}, "metrics": {"enable": True},
         "packet": [{"ethernet": {}}, {"ipv4": {}}, {"udp": {}}], "size": {"fixed": 128}}
PORTS = {"ports": [{"name": "A", "location": left}, {"name": "B", "location": right}],
         "layer1": [{"name": "L", "port_names": ["A", "B"], "speed": "speed_1_gbps"}]}
BOTH = {**PORTS, "devices": [device(0, "A"), device(1, "B")], "stateful_flows": {"rocev2": [{"tx_ports": [sender(0, "A"), sender(1, "B")]}]}, "flows": [PLAIN]}


def traffic(state, names=()):
    return {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": state, "flow_names": list(names)}}}


def protocols(state):
    return {"choice": "protocol", "protocol": {"choice": "all", "all": {"state": state}}}


def peers(state, names=()):
    return {"choice": "protocol", "protocol": {"choice": "rocev2", "rocev2": {"choice": "peers", "peers": {"state": state, "peer_names": list(names)}}}}


def capture(state):
    return {"choice": "port", "port": {"choice": "capture", "capture": {"state": state}}}


def link(state):
    return {"choice": "port", "port": {"choice": "link", "link": {"state": state, "port_names": ["B"]}}}


# Each of these ended the server.
ORDERS = [
    (BOTH, [traffic("start"), protocols("stop"), traffic("stop")]), (BOTH, [traffic("start"), protocols("stop"), peers("down")]),
    (BOTH, [traffic("start"), traffic("pause"), protocols("stop"), traffic("resume")]),
    ({**PORTS, "flows": [PLAIN]}, [protocols("stop"), traffic("stop")]), ({**PORTS, "flows": [PLAIN]}, [protocols("stop"), traffic("pause"), traffic("resume")]),
]
for config, calls in ORDERS:
    right_answer("/config", config)
    for call in calls:
        if right_answer("/control/state", call) != {"warnings": []}:
            sys.exit(f"{call}: warnings")

# Counters stay.
right_answer("/config", BOTH)
right_answer("/control/state", traffic("start"))
time.sleep(0.3)
right_answer("/control/state", traffic("stop"))
time.sleep(0.3)


def counters():
    roce = right_answer("/monitor/metrics", {"choice": "rocev2_flow", "rocev2_flow": {}})["rocev2_flow_per_qp_metrics"]
    plain = right_answer("/monitor/metrics", {"choice": "flow", "flow": {}})["flow_metrics"]
    return [(row["data_frames_tx"], row["data_frames_rx"]) for row in roce] + [(row["frames_tx"], row["frames_rx"]) for row in plain]


before = counters()
right_answer("/control/state", protocols("stop"))
if counters() != before or not all(itertools.chain(*before)):
    sys.exit(f"counters before and after protocol.all stop: {before}, {counters()}")

draw, until, made = random.Random(seed), time.monotonic() + seconds, 0
NAMES = ["Q00", "Q01", "Q10", "Q11", "plain"]
while time.monotonic() < until:
    if made % 20 == 0:
        right_answer("/control/state", link("up"))
        right_answer("/config", draw.choice((BOTH, {**PORTS, "flows": [PLAIN], "captures": [{"name": "C", "port_names": ["B"]}]})))
    some = draw.sample(NAMES, draw.randrange(3))
    call = draw.choice([traffic(state, some) for state in ("start", "stop", "stop", "pause", "resume")] +
                       [protocols("start"), protocols("stop"), peers("up"), peers("down"), peers("down", ["P0"]), peers("up", ["nobody"]),
                        capture("start"), capture("stop"), link("down"), link("up")])
    status, answer = post("/control/state", call)
    if status not in (200, 400) or (status == 400 and not all(answer["errors"])):
        sys.exit(f"seed {seed}: {call}: {status} {answer}")
    if draw.random() < 0.3:
        right_answer("/monitor/metrics", {"choice": draw.choice(("port", "flow", "rocev2_flow", "rocev2_ipv4"))})
    made += 1
right_answer("/control/state", link("up"))
print(f"{made} control calls, seed {seed}")
