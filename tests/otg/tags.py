#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tags.py LOCATION LEFT RIGHT: flows counted by metric tags as sent and as received, expected copies, both kinds of latency, and when a link changed.
Answers are checked against the published model."""
import sys
import time

import otg_schema
from client import Client, Wrong

location, left, right = sys.argv[1:4]
client = Client(location, otg_schema.model())


def need(truth, what):
    if not truth:
        raise Wrong(what)


def flow(name, number=0, **more):
    dscp = {"choice": "dscp", "dscp": {"phb": {"values": [10, 20, 30], "metric_tags": [{"name": "dscp"}]}}}
    return {"name": name, "tx_rx": {"port": {"tx_name": "A", "rx_names": ["B"]}},
            "packet": [{"ethernet": {"src": {"value": "02:00:00:00:00:0a"}, "dst": {"value": "02:00:00:00:00:0b"}}},
                       {"ipv4": {"src": {"value": "198.18.0.1"}, "dst": {"increment": {"start": f"198.18.{number}.1", "count": 2}}, "priority": dscp}},
                       {"udp": {"src_port": {"value": 5000}, "dst_port": {"increment": {"start": 6000, "count": 4},
                                                                         "metric_tags": [{"name": "low", "offset": 15, "length": 1}]}}}],
            "size": {"fixed": 200}, "rate": {"pps": "2000"}, "duration": {"fixed_packets": {"packets": 600}},
            "metrics": {"enable": True, "loss": True, "latency": {"enable": True}, "timestamps": True, **more.pop("metrics", {})}, **more}


def state(**what):
    choice = next(iter(what))
    client.right("POST", "/control/state", {"choice": choice, choice: what[choice]})


def metrics(**request):
    rows = client.right("POST", "/monitor/metrics", {"choice": "flow", "flow": request})["flow_metrics"]
    return {row["name"]: row for row in rows}


def run(*flows):
    client.right("POST", "/config", {"ports": [{"name": "A", "location": left}, {"name": "B", "location": right}],
                                     "layer1": [{"name": "L", "port_names": ["A", "B"], "speed": "speed_1_gbps"}], "flows": list(flows)})
    state(traffic={"choice": "flow_transmit", "flow_transmit": {"state": "start"}})
    for _ in range(200):
        if all(row["transmit"] == "stopped" for row in metrics().values()):
            break
        time.sleep(0.05)
    time.sleep(0.3)
    return metrics()


def tagged(row):
    return {tuple((tag["name"], tag["value"][tag["value"]["choice"]]) for tag in each["tags"]): each for each in row["tagged_metrics"]}


# As sent: each of 3 x 2 values has a share of the frames.
egress = flow("out", 1)
for header in egress["packet"]:
    header.get("ipv4", {}).get("priority", {"dscp": {"phb": {}}})["dscp"]["phb"].pop("metric_tags", None)
    header.get("udp", {"dst_port": {}})["dst_port"].pop("metric_tags", None)
egress["egress_packet"] = [{"ethernet": {"src": {"metric_tags": [{"name": "mac", "offset": 40, "length": 8}]}}},
                           {"ipv4": {"dst": {"metric_tags": [{"name": "host", "offset": 30, "length": 2}]}}}]
rows = run(flow("in"), egress, flow("ports", 2, metrics={"predefined_metric_tags": {"rx_name": True}}),
           flow("twice", 3, metrics={"rx_tx_ratio": {"value": 2.0}}), flow("half", 4, metrics={"rx_tx_ratio": {"value": 0.5}}),
           flow("each", 5, metrics={"rx_tx_ratio": {"choice": "rx_count", "rx_count": {}}}),
           flow("fast", 6, metrics={"latency": {"enable": True, "mode": "cut_through"}}))
found = tagged(rows["in"])
need(set(found) == {(("dscp", dscp), ("low", low)) for dscp in ("0a", "14", "1e") for low in "01"}, f"tags: {list(found)}")
for key, row in found.items():
    need(int(row["frames_tx"]) == int(row["frames_rx"]) == 100 and int(row["bytes_rx"]) == 20000 and row["loss"] == 0, f"{key}: {row}")
    need(0 < row["latency"]["minimum_ns"] <= row["latency"]["maximum_ns"], f"{key}: {row}")
found = tagged(rows["out"])
need(set(found) == {(("mac", "0a"), ("host", "1")), (("mac", "0a"), ("host", "2"))}, f"tags: {list(found)}")
for key, row in found.items():
    need(int(row["frames_rx"]) == 300 and "frames_tx" not in row, f"{key}: {row}")
found = tagged(rows["ports"])
need(len(found) == 6 and all(key[-1] == ("rx_name", "B") and int(row["frames_rx"]) == 100 for key, row in found.items()), f"by port: {found}")
need([rows[name]["loss"] for name in ("twice", "half", "each")] == [50, 0, 0], f"ratios: {[rows[name]['loss'] for name in ('twice', 'half', 'each')]}")
need(rows["fast"]["latency"]["minimum_ns"] > 0, f"cut-through: {rows['fast']}")
# What a request selects of them.
only = metrics(flow_names=["in"], tagged_metrics={"filters": [{"name": "dscp", "values": ["14"]}], "metric_names": ["frames_rx"]})
need([sorted(row) for row in only["in"]["tagged_metrics"]] == [["frames_rx", "tags"]] * 2, f"filtered: {only}")
need("tagged_metrics" not in metrics(tagged_metrics={"include": False})["in"], "not included")
# A start resets them; frames that are lost are of no tag.
state(port={"choice": "link", "link": {"port_names": ["B"], "state": "down"}})
changed = int(client.metrics("port")["port_metrics"][1]["last_change"])
need(abs(time.time_ns() - changed) < 5e9, f"last change: {changed}, and it is {time.time_ns()}")
state(port={"choice": "link", "link": {"port_names": ["B"], "state": "up"}})
time.sleep(0.5)
need(int(client.metrics("port")["port_metrics"][1]["last_change"]) > changed, "a link that came up")
# Wrong ones.
for what, wrong in (("two metric tags 'low'", {"egress_packet": [{"ethernet": {"src": {"metric_tags": [{"name": "low"}]}}}]}), ("at most", None)):
    bad = flow("bad", **(wrong or {}))
    if not wrong:
        bad["packet"][2]["udp"]["src_port"] = {"increment": {"start": 1, "count": 65001}, "metric_tags": [{"name": "src"}]}
        what = "repeat after more than"
    status, answer = client.call("POST", "/config", {"ports": [{"name": "A", "location": left}, {"name": "B", "location": right}], "flows": [bad]})
    need(status == 400 and what in " ".join(answer["errors"]), f"{what}: {status} {answer}")
print(f"{client.checked} answers are right by the model")
