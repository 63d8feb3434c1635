#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""api.py LOCATION FIXTURES PORT PORT [FLAGS]: every call of OTG's API, right and wrong, against a server; each answer is checked against the
published model (otg_schema.py). FIXTURES: a folder of configurations; their ports get the locations PORT in turn."""
import json
import pathlib
import socket
import sys
import threading
import time

import otg_schema
from client import Client, Wrong


def need(truth, what):
    if not truth:
        raise Wrong(what)


def numbers(value):
    """Without the difference between 98 and "98"."""
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    return int(value) if isinstance(value, str) and value.isdigit() else value


def within(given, got, path=""):
    """Every key that was given is in what came back, with its value."""
    if isinstance(given, dict):
        for key, value in given.items():
            need(key in got, f"{path}.{key} is lost")
            within(value, got[key], f"{path}.{key}")
    elif isinstance(given, list):
        need(len(given) == len(got), f"{path} has {len(got)} of {len(given)}")
        for i, (a, b) in enumerate(zip(given, got)):
            within(a, b, f"{path}[{i}]")
    else:
        need(numbers(given) == numbers(got), f"{path}: {given!r} is {got!r}")


def fixtures(client, folder, ports):
    """Both directions: what is set comes back, valid by the model, and is the same when it is set again."""
    names = sorted(folder.glob("*.json"))
    need(names, f"no fixtures in {folder}")
    for name in names:
        config = json.loads(name.read_text())
        for port, location in zip(config["ports"], ports):
            port["location"] = location
        answer = client.right("POST", "/config", config)
        got = client.right("GET", "/config")
        within(config, got, name.stem)
        client.right("POST", "/config", got)
        again = client.right("GET", "/config")
        need(got == again, f"{name}: what GET gave is another configuration after POST")
        client.right("POST", "/control/state", {"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "start"}}})
        for choice in ("port", "flow", "rocev2_flow", "rocev2_ipv4", "rocev2_ipv6"):
            client.metrics(choice)
        for choice in ("ipv4_neighbors", "ipv6_neighbors"):
            client.right("POST", "/monitor/states", {"choice": choice, choice: {}})
        print(f"{name.stem}: {len(answer.get('warnings', []))} warnings")


def refused(client, status, method, path, body, words=""):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    got, _, text = client.raw(method, path, body)
    need(got == status, f"{method} {path} {body[:80]}: status {got}, not {status}: {text[:300]}")
    need(words.lower() in text.decode().lower(), f"{method} {path} {body[:80]}: no '{words}' in {text[:300]}")


def wrong_input(client, config):
    for body, words in ((b"", "JSON"), (b"{", "JSON"), (b"[]", ""), (b"null", ""), (b'"x"', ""), (b"\xff\xfe", ""), (b"{}{}", "JSON"),
                        (b'{"ports": [], "ports": []}', "twice"), (b"[" * 100000, ""), (b'{"a":' * 100000, ""),
                        ({"prots": []}, "prots"), ({"ports": {}}, "ports"), ({"ports": [7]}, "ports[0]"),
                        ({"ports": [{"name": 7, "location": "x"}]}, "ports[0].name"), ({"ports": [{"name": "a"}, {"name": "a"}]}, "ports[1].name"),
                        ({"ports": [{"name": "p", "location": "no-such-0"}]}, "ports[0].location"),
                        ({"ports": [{"name": "p"}]}, "location"), ({"lags": [{"name": "lag"}]}, "lags"),
                        ({"ports": [{"name": "\ud800", "location": "\u0000"}]}, "")):
        refused(client, 400, "POST", "/config", body, words)
    changes = [
        (lambda c: c["devices"][0]["ethernets"][0].update(mtu="large"), "devices[0].ethernets[0].mtu"),
        (lambda c: c["devices"][0]["ethernets"][0].update(mac="10:22"), "devices[0].ethernets[0].mac"),
        (lambda c: c["devices"][0]["ethernets"][0].update(mtu=128), "mtu"),
        (lambda c: c["devices"][0]["ethernets"][0]["ipv4_addresses"][0].update(address="192.0.2.300"), "address"),
        (lambda c: c["devices"][0]["ethernets"][0]["ipv4_addresses"][0].update(prefix=33), "prefix"),
        (lambda c: c["devices"][0].update(bgp={"router_id": "192.0.2.1"}), "bgp"),
        (lambda c: tx_port(c).update(port_name="nowhere"), "port_name"),
        (lambda c: tx_port(c)["transmit_type"]["target_line_rate"].update(value="101"), "value"),
        (lambda c: tx_port(c)["transmit_type"]["target_line_rate"]["flows"][0].update(tx_endpoint="nobody"), "tx_endpoint"),
        (lambda c: tx_port(c)["transmit_type"]["target_line_rate"]["flows"][0].update(message_size_unit="tb"), "message_size_unit"),
        (lambda c: tx_port(c)["transmit_type"]["target_line_rate"]["flows"][0]["rocev2_verb"].update(choice="sned"), "choice"),
    ]
    client.right("POST", "/config", config)
    before = client.right("GET", "/config")
    for change, words in changes:
        wrong = json.loads(json.dumps(config))
        change(wrong)
        refused(client, 400, "POST", "/config", wrong, words)
        need(client.right("GET", "/config") == before, f"a configuration that is wrong in {words} changed the one before")
    refused(client, 404, "GET", "/confg", b"", "/config")
    refused(client, 404, "POST", "/", b"{}")
    refused(client, 404, "GET", "/config/../config%00", b"")
    for method, path in (("GET", "/control/state"), ("GET", "/monitor/metrics"), ("POST", "/capabilities/version")):
        refused(client, 405, method, path, b"" if method == "GET" else b"{}")
    for path in ("/control/state", "/monitor/metrics", "/monitor/states"):
        for body in (b"", b"{", b'{"choice": 7}', b'{"choice": "nothing"}', b'{"choise": "port"}', b"[1]"):
            refused(client, 400, "POST", path, body)
    for choice in ("rocev2_flow", "port"):
        refused(client, 400, "POST", "/monitor/metrics", {"choice": choice, choice: {"no_such_key": 1}}, "no_such_key")
    refused(client, 400, "POST", "/monitor/metrics", {"choice": "port", "port": {"port_names": ["nowhere"]}}, "nowhere")
    refused(client, 400, "POST", "/monitor/metrics", {"choice": "bgpv4", "bgpv4": {}}, "bgpv4")
    flow = {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start", "flow_names": ["nobody"]}}}
    refused(client, 400, "POST", "/control/state", flow, "nobody")
    flow["traffic"]["flow_transmit"] = {"state": "begin"}
    refused(client, 400, "POST", "/control/state", flow, "state")
    for method, path in (("PATCH", "/config"), ("PATCH", "/config/append"), ("PATCH", "/config/delete"), ("POST", "/control/action")):
        status, _, text = client.raw(method, path, b"{}")
        need(status in (200, 400, 501), f"{method} {path}: status {status}: {text}")


def tx_port(config):
    flows = config["stateful_flows"]["rocev2"]
    return (flows[0] if isinstance(flows, list) else flows)["tx_ports"][0]


def columns(client):
    """The columns that are asked for; names of no column, as SONiC sends them, are ignored."""
    def rows(names):
        return client.metrics("rocev2_flow", choice="per_qp", per_qp={"column_names": names})["rocev2_flow_per_qp_metrics"]
    need(rows(["flow_name", "ack_tx"]) and set(rows(["flow_name", "ack_tx"])[0]) == {"flow_name", "ack_tx"}, "not the columns that were asked for")
    # The model's enumeration has no names of flows; a client that checks what it sends cannot send them.
    status, _, text = client.raw("POST", "/monitor/metrics", json.dumps(
        {"choice": "rocev2_flow", "rocev2_flow": {"choice": "per_qp", "per_qp": {"column_names": ["QP0_0"]}}}).encode())
    need(status == 200 and len(json.loads(text)["rocev2_flow_per_qp_metrics"][0]) > 20, f"names of flows as columns: {status} {text[:200]}")


def traffic(client):
    client.traffic("start")
    time.sleep(0.5)
    flowing = client.metrics("rocev2_flow")["rocev2_flow_per_qp_metrics"]
    need(all(row["data_frames_tx"] > 0 for row in flowing), f"nothing is sent: {flowing}")
    client.traffic("pause")
    time.sleep(0.3)
    first = client.metrics("rocev2_flow")["rocev2_flow_per_qp_metrics"]
    time.sleep(0.3)
    need([row["message_tx"] for row in first] == [row["message_tx"] for row in client.metrics("rocev2_flow")["rocev2_flow_per_qp_metrics"]],
         "messages begin in a pause")
    client.traffic("resume")
    time.sleep(0.3)
    client.traffic("stop")
    time.sleep(0.5)
    last = client.metrics("rocev2_flow")["rocev2_flow_per_qp_metrics"]
    need(all(b["message_tx"] > a["message_tx"] for a, b in zip(first, last)), "nothing was sent after the pause, or a stop clears counters")
    client.traffic("start", [last[0]["flow_name"]])
    time.sleep(0.2)
    client.traffic("stop")
    again = client.metrics("rocev2_flow")["rocev2_flow_per_qp_metrics"]
    need(again[0]["data_frames_tx"] < last[0]["data_frames_tx"], "a start does not clear counters")
    need([row["data_frames_tx"] for row in again[1:]] == [row["data_frames_tx"] for row in last[1:]], "the other flows' counters changed")


def capture(client, config):
    """Of the port that receives: the file has frames of RoCEv2."""
    client.right("POST", "/config", {**config, "captures": [{"name": "c", "port_names": ["Port 1"], "format": "pcap"}]})

    def state(state):
        client.right("POST", "/control/state", {"choice": "port", "port": {"choice": "capture", "capture": {"port_names": ["Port 1"], "state": state}}})
    state("start")
    client.traffic("start")
    time.sleep(0.3)
    client.traffic("stop")
    state("stop")
    status, _, file = client.raw("POST", "/monitor/capture", b'{"port_name": "Port 1"}')
    need(status == 200 and file[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"), f"a capture: status {status}, {file[:40]!r}")
    need(file.count(b"\x12\xb7") > 100, "the capture has no frames to UDP port 4791")
    refused(client, 400, "POST", "/monitor/capture", {"port_name": "nowhere"}, "nowhere")
    refused(client, 400, "POST", "/monitor/capture", {"port_name": "Port 0"})


def large(client):
    """A body above 64 MiB: the server may close before it has read all."""
    connection = client.connection()
    connection.connect()
    status = None
    try:
        connection.putrequest("POST", "/config")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(65 << 20))
        connection.endheaders()
        for _ in range(65):
            connection.send(b" " * (1 << 20))
    except OSError:
        pass
    try:
        answer = connection.getresponse()
        status = answer.status
        client.check("POST", "/config", status, answer.getheader("Content-Type"), answer.read())
    except OSError as error:
        raise Wrong(f"a body of 65 MiB: no answer: {error}") from None
    finally:
        connection.close()
    need(status == 413, f"a body of 65 MiB: status {status}")


def hanging(client):
    """Connections that say nothing, half a request line, headers without an end, a body that stops."""
    beginnings = (b"", b"POST /con", b"POST /config HTTP/1.1\r\nHost: x\r\n", b"POST /config HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{")
    made = []
    for i in range(20):
        connection = socket.create_connection((client.url.hostname, client.url.port), timeout=30)
        connection.sendall(beginnings[i % len(beginnings)])
        made.append(connection)
    return made


def crowd(client):
    """100 clients at once while 20 others hang: all are answered."""
    stuck, failed = hanging(client), []

    def one(i):
        try:
            mine = Client(client.url.geturl(), client.model)
            for _ in range(3):
                mine.metrics(("port", "rocev2_flow")[i % 2])
        except Exception as error:  # pylint: disable=broad-except
            failed.append(repr(error))

    begun = time.monotonic()
    threads = [threading.Thread(target=one, args=(i,)) for i in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    need(not failed, f"{len(failed)} of 100 clients: {failed[:3]}")
    print(f"100 clients in {time.monotonic() - begun:.1f} s")
    for i, connection in enumerate(stuck):
        if i % 2:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset
        connection.close()


def slow(client):
    """A body of one byte after the other gets its answer; one that stops does not hold anybody up."""
    body = json.dumps({"choice": "port"}).encode()
    with socket.create_connection((client.url.hostname, client.url.port), timeout=60) as connection:
        connection.sendall(b"POST /monitor/metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
        for byte in body:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)
        text = b""
        while part := connection.recv(65536):
            text += part
    need(text.startswith(b"HTTP/1.1 200 "), f"a slow body: {text[:100]}")


def main():
    location, folder, *ports = sys.argv[1:]
    client = Client(location, otg_schema.model())
    need("api_spec_version" in client.right("GET", "/capabilities/version"), "no version")
    need(client.right("GET", "/config") == {}, "a configuration before the first")
    refused(client, 400, "POST", "/monitor/metrics", {"choice": "port"}, "/config")
    fixtures(client, pathlib.Path(folder), ports)
    config = json.loads((pathlib.Path(folder) / "rc_one_way.json").read_text())
    for port, location in zip(config["ports"], ports):
        port["location"] = location
    config["layer1"][0]["speed"] = "speed_1_gbps"
    wrong_input(client, config)
    client.right("POST", "/config", config)
    traffic(client)
    columns(client)
    capture(client, config)
    slow(client)
    large(client)
    crowd(client)
    client.right("POST", "/config", config)
    print(f"{client.checked} answers by the model")


if __name__ == "__main__":
    try:
        main()
    except Wrong as wrong:
        print(f"FAIL: {wrong}", file=sys.stderr)
        sys.exit(1)
