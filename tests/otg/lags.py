#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lags.py LOCATION LEFT,LEFT RIGHT,RIGHT: two LAGs of `serve` with two ports each, wired port to port: static, then LACP. Flows are counted to the
frame; without a member's link its frames go by the other. Each answer is checked against the published model (otg_schema.py). With `lacp SECONDS` as
further arguments: the configuration with LACP stays for so long, so that others may capture it."""
import sys
import time

import otg_schema
from client import Client, Wrong

location = sys.argv[1]
lefts, rights = (each.split(",") for each in sys.argv[2:4])
client = Client(location, otg_schema.model())


def need(truth, what):
    if not truth:
        raise Wrong(what)


def lag(name, number, ports, lacp, **more):
    members = [{"port_name": port, "ethernet": {"name": f"{port} eth", "mac": f"02:00:00:00:0{number}:0{i}"},
                **({"lacp": {"actor_port_number": 10 * number + i, "lacpdu_timeout": 3, "lacpdu_periodic_time_interval": 1}} if lacp else {})}
               for i, port in enumerate(ports)]
    protocol = {"choice": "lacp", "lacp": {"actor_system_id": f"02:00:00:00:00:0{number}", "actor_system_priority": number, "actor_key": 7}}
    return {"name": name, "ports": members, "protocol": protocol if lacp else {"choice": "static", "static": {}}, **more}


def device(name, on, number):
    return {"name": name, "ethernets": [{
        "name": f"{name} eth", "mac": f"02:00:00:00:01:0{number}", "connection": {"choice": "lag_name", "lag_name": on},
        "ipv4_addresses": [{"name": f"{name} ip", "address": f"192.0.2.{number}", "gateway": f"192.0.2.{3 - number}"}],
        "ipv6_addresses": [{"name": f"{name} ip6", "address": f"2001:db8::{number}", "gateway": f"2001:db8::{3 - number}"}]}]}


def flow(name, ends, rate, duration, size=256, transport="udp"):
    return {"name": name, "tx_rx": ends, "size": {"choice": "fixed", "fixed": size},
            "packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}, {"choice": transport, transport: {}}],
            "rate": {"choice": "pps", "pps": rate}, "duration": duration, "metrics": {"enable": True, "loss": True, "latency": {"enable": True}}}


def packets(count):
    return {"choice": "fixed_packets", "fixed_packets": {"packets": count}}


def config(lacp, **more):
    by_port = {"choice": "port", "port": {"tx_name": "left", "rx_names": ["right"]}}
    by_device = {"choice": "device", "device": {"mode": "one_to_one", "tx_names": ["D1 ip"], "rx_names": ["D2 ip"], "bidirectional": True}}
    ports = [{"name": f"{side}{i}", "location": where} for side, all_ in (("L", lefts), ("R", rights)) for i, where in enumerate(all_)]
    return {"ports": ports, "layer1": [{"name": "speed", "port_names": [port["name"] for port in ports], "speed": "speed_1_gbps"}],
            "lags": [lag("left", 1, ["L0", "L1"], lacp, **more), lag("right", 2, ["R0", "R1"], lacp)],
            "devices": [device("D1", "left", 1), device("D2", "right", 2)],
            "flows": [flow("ports", by_port, 1000, packets(1001)), flow("devices", by_device, 1000, packets(500)),
                      flow("short", by_port, 1000, packets(301), 64, "tcp"), flow("one", by_port, 1, packets(1)),
                      flow("long", by_port, 2000, packets(6000)), flow("endless", by_port, 500, {"choice": "continuous", "continuous": {}})]}


def rows(name):
    return client.metrics("flow", flow_names=[name])["flow_metrics"]


def ended(name, seconds=20):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = rows(name)
        if all(row["transmit"] == "stopped" for row in found):
            time.sleep(0.2)  # the last frames arrive
            return rows(name)
        time.sleep(0.05)
    raise Wrong(f"{name} does not end: {found}")


def lags(**members):
    return {row["name"]: row for row in client.metrics("lag", **members)["lag_metrics"]}


def waits_for(truth, what, seconds=10):
    until = time.monotonic() + seconds
    while not truth():
        if time.monotonic() > until:
            raise Wrong(f"{what}: {lags()} {client.metrics('lacp')['lacp_metrics']}")
        time.sleep(0.05)


def link(port, state):
    client.right("POST", "/control/state", {"choice": "port", "port": {"choice": "link", "link": {"port_names": [port], "state": state}}})


def lacp(kind, state, ports=()):
    member = {"lag_member_names": list(ports), "state": state}
    client.right("POST", "/control/state", {"choice": "protocol", "protocol": {"choice": "lacp", "lacp": {"choice": kind, kind: member}}})


def counted(name, count, ways=1):
    client.traffic("start", [name])
    found = ended(name)
    need(len(found) == ways, f"{name}: {len(found)} rows: {found}")
    for row in found:
        need((row["frames_tx"], row["frames_rx"], row["loss"]) == (count, count, 0), f"{name}: {row}")
    return found


def ports_tx():
    return {row["name"]: row["frames_tx"] for row in client.metrics("port")["port_metrics"]}


def both_kinds(name, seconds_down):
    """What holds for both protocols."""
    waits_for(lambda: all(row["oper_status"] == "up" and row["member_ports_up"] == 2 for row in lags().values()), f"{name}: both LAGs up")
    for kind in ("ipv4_neighbors", "ipv6_neighbors"):
        found = client.right("POST", "/monitor/states", {"choice": kind, kind: {}})[kind]
        need({row["ethernet_name"]: row.get("link_layer_address") for row in found} ==
             {"D1 eth": "02:00:00:00:01:02", "D2 eth": "02:00:00:00:01:01"}, f"{name}: {found}")
        need(len(found) == 2, f"{name}: a neighbour for each port: {found}")
    before = ports_tx()
    row, = counted("ports", 1001)
    need((row["port_tx"], row["port_rx"]) == ("left", "right"), f"names of the ends: {row}")
    need(row["latency"]["minimum_ns"] > 0, f"latency: {row}")
    sent = {port: count - before[port] for port, count in ports_tx().items()}
    need(sent == {"L0": 500, "L1": 501, "R0": 0, "R1": 0}, f"{name}: frames of each port: {sent}")
    for row in counted("devices", 500, 2):
        need({row["port_tx"], row["port_rx"]} == {"left", "right"}, f"names of the ends: {row}")
    counted("short", 301)  # without room for a stamp
    counted("one", 1)  # fewer than ports
    row = lags(lag_names=["left"])["left"]
    need((row["frames_tx"], row["frames_rx"]) == (1001 + 500 + 301 + 1, 500), f"{name}: {row}")
    need(lags(column_names=["frames_tx"])["left"].keys() == {"name", "frames_tx"}, f"{name}: columns")
    # A member goes down: its frames go by the other. What is on its way when it does is lost.
    client.traffic("start", ["long"])
    time.sleep(1)
    link("R1", "down")
    waits_for(lambda: all(row["member_ports_up"] == 1 for row in lags().values()), f"{name}: one port", seconds_down)
    need(lags()["left"]["oper_status"] == "up", f"{name}: min_links 1: {lags()}")
    row, = ended("long")
    need(row["frames_tx"] == 6000 and row["frames_rx"] > 6000 - 1000 * (0.5 + seconds_down), f"{name}: {row}")
    before = ports_tx()
    counted("ports", 1001)
    need(ports_tx()["L0"] - before["L0"] == 1001 and ports_tx()["L1"] == before["L1"], f"{name}: frames by one port")
    # Without any link a flow waits, and continues with the first link that comes back.
    link("R0", "down")
    waits_for(lambda: all(row["oper_status"] == "down" and row["member_ports_up"] == 0 for row in lags().values()), f"{name}: down", seconds_down)
    client.traffic("start", ["ports"])
    time.sleep(0.5)
    row, = rows("ports")
    need((row["transmit"], row["frames_tx"]) == ("started", 0), f"{name}: a flow of a LAG that is down: {row}")
    link("R1", "up")
    row, = ended("ports")
    need((row["frames_tx"], row["frames_rx"]) == (1001, 1001), f"{name}: after a link came back: {row}")
    # A ping leaves by that link, not by the first one, which is down.
    for family, to in (("ipv4", "192.0.2.2"), ("ipv6", "2001:db8::2")):
        source = "D1 ip" if family == "ipv4" else "D1 ip6"
        answer = client.right("POST", "/control/action", {"choice": "protocol", "protocol": {"choice": family, family: {
            "choice": "ping", "ping": {"requests": [{"src_name": source, "dst_ip": to}]}}}})
        need(answer["response"]["protocol"][family]["ping"]["responses"][0]["result"] == "succeeded", f"{name}: {answer}")
    link("R0", "up")
    waits_for(lambda: all(row["member_ports_up"] == 2 for row in lags().values()), f"{name}: both ports again")
    # Pauses.
    client.traffic("start", ["endless"])
    time.sleep(0.5)
    client.traffic("pause", ["endless"])
    row, = rows("endless")
    need(row["transmit"] == "paused" and row["frames_tx"] > 100, f"{name}: {row}")
    time.sleep(0.3)
    again, = rows("endless")
    need(again["frames_tx"] == row["frames_tx"] == again["frames_rx"], f"{name}: {again}")
    client.traffic("resume", ["endless"])
    time.sleep(0.3)
    client.traffic("stop", ["endless"])
    row, = ended("endless")
    need(row["frames_tx"] == row["frames_rx"] > again["frames_tx"], f"{name}: {row}")


if sys.argv[4:5] == ["lacp"]:
    client.right("POST", "/config", config(True))
    time.sleep(float(sys.argv[5]))
    sys.exit()

answer = client.right("POST", "/config", config(False))
need(len(answer["warnings"]) == 1 and "room for a stamp" in answer["warnings"][0], f"warnings: {answer}")
both_kinds("static", 3)
need(client.metrics("lacp")["lacp_metrics"] == [], "LACP of static LAGs")

answer = client.right("POST", "/config", config(True))
need(len(answer["warnings"]) == 1 and "room for a stamp" in answer["warnings"][0], f"warnings: {answer}")
both_kinds("lacp", 8)
found = client.metrics("lacp")["lacp_metrics"]
need([(row["lag_name"], row["lag_member_port_name"], row["port_num"], row["partner_port_num"]) for row in found] ==
     [("left", "L0", 10, 20), ("left", "L1", 11, 21), ("right", "R0", 20, 10), ("right", "R1", 21, 11)], f"ports: {found}")
for row in found:
    own, other = ("01", "02") if row["lag_name"] == "left" else ("02", "01")
    need((row["system_id"], row["partner_id"], row["oper_key"], row["partner_key"]) ==
         (f"02:00:00:00:00:{own}", f"02:00:00:00:00:{other}", 7, 7), f"systems: {row}")
    need((row["activity"], row["timeout"], row["synchronization"], row["aggregatable"], row["collecting"], row["distributing"]) ==
         ("active", "short", "in_sync", True, True, True), f"states: {row}")
    need(row["lacp_packets_rx"] > 3 and row["lacp_packets_tx"] > 3 and row["lacp_rx_errors"] == 0, f"packets: {row}")
one = client.metrics("lacp", lag_names=["right"], lag_member_port_names=["R1"], column_names=["collecting"])["lacp_metrics"]
need(one == [{"lag_name": "right", "lag_member_port_name": "R1", "collecting": True}], f"columns: {one}")

# The states of LACP that a script sets.
for kind in ("admin", "member_ports"):
    lacp(kind, "down", ["L1"])
    waits_for(lambda: all(row["member_ports_up"] == 1 for row in lags().values()), f"{kind} down")
    counted("ports", 1001)
    row, = client.metrics("lacp", lag_member_port_names=["L1"])["lacp_metrics"]
    need((row["synchronization"], row["distributing"]) == ("out_sync", False), f"{kind} down: {row}")
    lacp(kind, "up", ["L1"])
    waits_for(lambda: all(row["member_ports_up"] == 2 for row in lags().values()), f"{kind} up")
client.right("POST", "/control/state", {"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "stop"}}})
waits_for(lambda: all(row["member_ports_up"] == 0 for row in lags().values()), "protocols stopped")
client.right("POST", "/control/state", {"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "start"}}})
waits_for(lambda: all(row["member_ports_up"] == 2 for row in lags().values()), "protocols started")

# min_links 2: one port is not enough.
client.right("POST", "/config", config(True, min_links=2))
link("R1", "down")
waits_for(lambda: lags()["left"]["oper_status"] == "down" and lags()["right"]["oper_status"] == "up", "min_links")
link("R1", "up")
waits_for(lambda: lags()["left"]["oper_status"] == "up", "min_links again")
for wrong in ({"choice": "lag", "lag": {"lag_names": ["nobody"]}}, {"choice": "lacp", "lacp": {"lag_member_port_names": ["nobody"]}}):
    status, answer = client.call("POST", "/monitor/metrics", wrong)
    need(status == 400 and "nobody" in answer["errors"][0], f"{wrong}: {status} {answer}")
print(f"{client.checked} answers checked")
