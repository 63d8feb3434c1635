#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sizes.py LOCATION LEFT RIGHT FOLDER: a thousand frames of 64, 128 and 1518 bytes with FCS, between two ports with devices, whose ARP is not among
them. Ports, flows and captures (FOLDER/SIZE.pcap and .pcapng) have the same frames and bytes. Flows without room for a stamp are counted too, and while
frames are on their way none has arrived that was not sent."""
import json
import pathlib
import struct
import sys
import time
import urllib.error
import urllib.request

location, left, right, folder = sys.argv[1:]
COUNT = 1000


def post(path, value):
    request = urllib.request.Request(location + path, json.dumps(value).encode(), {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            body = answer.read()
    except urllib.error.HTTPError as error:
        sys.exit(f"{path}: {error.code} {error.read().decode()}")
    return json.loads(body) if answer.headers["Content-Type"] == "application/json" else body


def equal(wanted, found, what):
    if wanted != found:
        sys.exit(f"{what}: expected {wanted}, got {found}")


def device(name, port, address, other):
    return {"name": name, "ethernets": [{
        "name": name + " eth", "mac": f"02:00:00:00:01:0{address}", "connection": {"port_name": port},
        "ipv4_addresses": [{"name": name + " ip", "address": f"192.0.2.{address}", "gateway": f"192.0.2.{other}"}]}]}


def flow(name, size, packet, **more):
    return {"name": name, "tx_rx": {"port": {"tx_name": "A", "rx_names": ["B"]}}, "packet": packet, "size": {"fixed": size},
            "rate": {"pps": "20000"}, "duration": {"fixed_packets": {"packets": COUNT}}, "metrics": {"enable": True, "loss": True}, **more}


ETHERNET = {"ethernet": {"src": {"value": "02:00:00:00:01:01"}, "dst": {"value": "02:00:00:00:01:02"}}}
UDP = [ETHERNET, {"ipv4": {"src": {"value": "192.0.2.1"}, "dst": {"value": "192.0.2.2"}}}, {"udp": {"dst_port": {"value": 7000}}}]
TCP = [ETHERNET, {"ipv4": {"src": {"value": "192.0.2.1"}, "dst": {"value": "192.0.2.2"}}}, {"tcp": {"dst_port": {"values": [80, 443]}}}]
VLAN = [ETHERNET, {"vlan": {"id": {"value": 5}}}, {"ipv4": {"dst": {"value": "192.0.2.2"}}}, {"tcp": {"dst_port": {"value": 9}}}]
PFC = [{"pfcpause": {"class_enable_vector": {"value": 8}, "pause_class_3": {"value": 1}}}]


def configure(flows, form="pcap"):
    answer = post("/config", {
        "ports": [{"name": "A", "location": left}, {"name": "B", "location": right}],
        "layer1": [{"name": "L", "port_names": ["A", "B"], "speed": "speed_1_gbps"}],
        "devices": [device("a", "A", 1, 2), device("b", "B", 2, 1)],
        "captures": [{"name": "one", "port_names": ["B"], "format": form}, {"name": "two", "port_names": ["B"]}], "flows": flows})
    if not isinstance(answer["warnings"], list):
        sys.exit(f"warnings are no list: {answer}")


def metrics(kind):
    return post("/monitor/metrics", {"choice": kind, kind: {}})[kind + "_metrics"]


def transmit(state):
    equal({"warnings": []}, post("/control/state", {"choice": "traffic", "traffic": {
        "choice": "flow_transmit", "flow_transmit": {"state": state}}}), f"the answer to {state}")


def run():
    post("/control/state", {"choice": "port", "port": {"choice": "capture", "capture": {"state": "start"}}})
    transmit("start")
    for _ in range(400):
        rows = metrics("flow")
        for row in rows:
            if row["frames_rx"] > row["frames_tx"]:
                sys.exit(f"more has arrived than was sent: {row}")
        ports = {row["name"]: row for row in metrics("port")}
        if ports["B"]["frames_rx"] > ports["A"]["frames_tx"]:
            sys.exit(f"more has arrived than was sent: {ports}")
        if all(row["transmit"] == "stopped" for row in rows):
            break
        time.sleep(0.01)
    time.sleep(0.3)
    return {row["name"]: row for row in metrics("flow")}, {row["name"]: row for row in metrics("port")}


def lengths(pcap):
    """Captured and whole lengths of a pcap's frames."""
    at, found = 24, []
    while at < len(pcap):
        found.append(struct.unpack_from("<II", pcap, at + 8))
        at += 16 + found[-1][0]
    return found


for size in (64, 128, 1518):
    for form in ("pcapng", "pcap"):
        configure([flow("udp", size, UDP)], form)
        flows, ports = run()
        row = flows["udp"]
        equal([COUNT, COUNT, COUNT * size, COUNT * size, 0], [row[key] for key in ("frames_tx", "frames_rx", "bytes_tx", "bytes_rx", "loss")], f"flow of {size}")
        equal([COUNT, COUNT * size], [ports["A"][key] for key in ("frames_tx", "bytes_tx")], f"port A of {size}")
        equal([COUNT, COUNT * size], [ports["B"][key] for key in ("frames_rx", "bytes_rx")], f"port B of {size}")
        capture = post("/monitor/capture", {"port_name": "B"})
        pathlib.Path(folder, f"{size}.{form}").write_bytes(capture)
    equal([(size, size)] * COUNT, [each for each in lengths(capture) if each[1] == size], f"frames of {size} in the capture")
    time.sleep(1)
    equal([0, 0], [metrics("flow")[0][key] for key in ("frames_tx_rate", "frames_rx_rate")], "rates a second after the end")

# No room for a stamp: each flow is known by its headers. No row without metrics, and 0 where nothing came.
configure([flow("tcp", 64, TCP), flow("tag", 68, VLAN), flow("pfc", 64, PFC), flow("none", 64, UDP, metrics={}),
           flow("elsewhere", 64, TCP, tx_rx={"port": {"tx_name": "B", "rx_names": ["B"]}}, rate={"pps": 1})])
flows, ports = {}, {}
transmit("start")
time.sleep(1)
transmit("stop")
time.sleep(0.3)
flows = {row["name"]: row for row in metrics("flow")}
equal(["elsewhere", "pfc", "tag", "tcp"], sorted(flows), "rows of flows with metrics")
for name, size in (("tcp", 64), ("tag", 68), ("pfc", 64)):
    row = flows[name]
    equal([COUNT, COUNT, COUNT * size, 0], [row[key] for key in ("frames_tx", "frames_rx", "bytes_rx", "loss")], f"flow {name}")
    if "latency" in row:
        sys.exit(f"a latency without a stamp: {row}")
equal([0, 100.0], [flows["elsewhere"][key] for key in ("frames_rx", "loss")], "a flow that arrives nowhere")
print("sizes are the same")
