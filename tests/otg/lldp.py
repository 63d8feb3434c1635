#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lldp.py LOCATION LEFT RIGHT: LLDP of `serve` on two ports that are wired: each is the other's neighbour, frames are counted, a stop removes them.
Each answer is checked against the published model (otg_schema.py). `lldp.py LOCATION LEFT alone`: the configuration of one port."""
import sys
import time

import otg_schema
from client import Client, Wrong

location, left, right = sys.argv[1:4]
client = Client(location, otg_schema.model())


def need(truth, what):
    if not truth:
        raise Wrong(what)


def waits_for(truth, what, seconds=10):
    until = time.monotonic() + seconds
    while not truth():
        need(time.monotonic() < until, f"{what}: {counts()} {neighbours()}")
        time.sleep(0.05)


def lldp(name, port, **more):
    return {"name": name, "connection": {"choice": "port_name", "port_name": port}, **more}


# By name of LLDP.
def counts(**members):
    return {row["name"]: row for row in client.metrics("lldp", **members)["lldp_metrics"]}


def neighbours(**members):
    return client.right("POST", "/monitor/states", {"choice": "lldp_neighbors", "lldp_neighbors": members})["lldp_neighbors"]


def protocols(state):
    client.right("POST", "/control/state", {"choice": "protocol", "protocol": {"choice": "all", "all": {"state": state}}})


NAMED = lldp("L", "A", chassis_id={"choice": "local_subtype", "local_subtype": "box"}, hold_time=12, advertisement_interval=5,
             port_id={"choice": "interface_name_subtype", "interface_name_subtype": {"choice": "value", "value": "eth7"}},
             system_name={"choice": "value", "value": "tester"},
             org_infos=[{"oui": "0080C2", "subtype": 1, "information": {"choice": "info", "info": "000A"}},
                        {"oui": "AABBCC", "subtype": 127, "information": {"choice": "info", "info": "FF"}}])
if right == "alone":
    client.right("POST", "/config", {"ports": [{"name": "A", "location": left}], "lldp": [NAMED]})
    sys.exit()

ports = [{"name": "A", "location": left}, {"name": "B", "location": right}]
AUTOMATIC = lldp("R", "B", system_name={"choice": "auto"})
began = time.monotonic()
answer = client.right("POST", "/config", {"ports": ports, "lldp": [NAMED, AUTOMATIC]})
need(answer["warnings"] == [], f"warnings: {answer}")
# What the port gives is shown, and taken again.
shown = client.right("GET", "/config")
automatic = shown["lldp"][1]
mac = automatic["chassis_id"]["mac_address_subtype"]["auto"]
need(automatic["port_id"]["interface_name_subtype"]["auto"] == right.rsplit("/", 1)[-1] and automatic["hold_time"] == 120, f"shown: {automatic}")
waits_for(lambda: len(neighbours()) == 2, "neighbours")
there, = neighbours(lldp_names=["R"])
here, = neighbours(lldp_names=["L"])
wanted = {"lldp_name": "R", "neighbor_id": "1", "chassis_id": "box", "chassis_id_type": "local", "port_id": "eth7", "port_id_type": "interface_name",
          "ttl": 12, "system_name": "tester",
          "custom_tlvs": [{"custom_type": 127, "oui": "0080c2", "oui_subtype": 1, "information": "000a"},
                          {"custom_type": 127, "oui": "aabbcc", "oui_subtype": 127, "information": "ff"}]}
need({key: there[key] for key in wanted} == wanted and set(there) == set(wanted) | {"age", "last_update"}, f"the named one: {there}")
wanted = {"lldp_name": "L", "neighbor_id": "1", "chassis_id": mac, "chassis_id_type": "mac_address", "port_id": right.rsplit("/", 1)[-1],
          "port_id_type": "interface_name", "ttl": 120, "system_name": automatic["system_name"]["auto"]}
need({key: here[key] for key in wanted} == wanted and set(here) == set(wanted) | {"age", "last_update"}, f"the automatic one: {here}")
need(neighbours(neighbor_id_filters=["1"], lldp_names=["L"]) == [here] and neighbours(neighbor_id_filters=["2"]) == [], "filters")

# Each interval; not in the port's own counts.
waits_for(lambda: counts()["R"]["frames_rx"] >= 2, "the second LLDPDU")
need(4 < time.monotonic() - began, "the second LLDPDU came too soon")
rows = counts()
need(rows["L"] == {"name": "L", "frames_rx": 1, "frames_tx": 2, "frames_error_rx": 0, "frames_discard": 0, "tlvs_discard": 0, "tlvs_unknown": 0},
     f"counts: {rows}")
need(rows["R"] == {"name": "R", "frames_rx": 2, "frames_tx": 1, "frames_error_rx": 0, "frames_discard": 0, "tlvs_discard": 0, "tlvs_unknown": 2},
     f"counts: {rows}")
there, = neighbours(lldp_names=["R"])
need(there["age"] >= 4 and there["last_update"] <= 2, f"ages: {there}")
need(counts(lldp_names=["R"], column_names=["frames_tx"]) == {"R": {"name": "R", "frames_tx": 1}}, "columns")
for row in client.metrics("port")["port_metrics"]:
    need((row["frames_tx"], row["frames_rx"], row["bytes_tx"], row["bytes_rx"]) == (0, 0, 0, 0), f"port: {row}")

# A stop and a start of protocols.
protocols("stop")
need(neighbours() == [], "neighbours of stopped protocols")
before = counts()
waits_for(lambda: all(row["frames_rx"] == before[name]["frames_rx"] for name, row in counts().items()), "quiet")
need([before[name]["frames_tx"] for name in "LR"] == [3, 2], f"shutdown: {before}")
protocols("start")
waits_for(lambda: len(neighbours()) == 2, "neighbours again")

# What GET shows is a configuration; without auto_start_all nothing is sent.
client.right("POST", "/config", shown)
waits_for(lambda: len(neighbours()) == 2, "neighbours of the configuration that was shown")
client.right("POST", "/config", {"ports": ports, "lldp": [NAMED], "options": {"protocol_options": {"auto_start_all": False}}})
need(counts()["L"]["frames_tx"] == 0 and neighbours() == [], "protocols that were not started")
for path, wrong in (("metrics", {"choice": "lldp", "lldp": {"lldp_names": ["nobody"]}}),
                    ("states", {"choice": "lldp_neighbors", "lldp_neighbors": {"lldp_names": ["nobody"]}})):
    status, answer = client.call("POST", f"/monitor/{path}", wrong)
    need(status == 400 and "there is no LLDP 'nobody'" in answer["errors"][0], f"{wrong}: {status} {answer}")
print(f"{client.checked} answers checked")
