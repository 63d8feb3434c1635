#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""SONiC's RoCEv2 checks against any OTG server (Open Traffic Generator): its calls in its order, and its conditions on the 32 columns of
each QP. Ports but the last send to the last, and with --both-ways two ports to each other. Needs Python alone. Exit status: 0 all conditions hold, 1 one does not, 2 the command line or
the server is wrong. docs/otg.md has an example."""
import argparse
import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from xml.sax.saxutils import quoteattr

COLUMNS = """flow_name port_tx port_rx src_qp dest_qp src_ipv4 dest_ipv4 data_frames_tx data_frames_rx frame_delta data_frames_retransmitted
frame_sequence_error tx_bytes rx_bytes data_tx_rate data_rx_rate message_tx message_complete_rx message_fail flow_completion_time avg_latency
min_latency max_latency ecn_ce_rx cnp_tx cnp_rx ack_tx ack_rx nak_tx nak_rx first_timestamp last_timestamp""".split()


class Failed(Exception):
    """Of the server or of what was asked of it: exit status 2."""


class Server:
    def __init__(self, location, token, ca):
        self.location = location.rstrip("/")
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token
        self.context = ssl.create_default_context(cafile=ca) if ca else ssl._create_unverified_context()  # as snappi: not verified

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body, indent=2, sort_keys=True).encode()
        request = urllib.request.Request(self.location + path, data, self.headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300, context=self.context) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            raise Failed(f"{method} {path}: status {error.code}: {errors_of(error.read())}") from None
        except (OSError, ValueError) as error:
            raise Failed(f"{method} {self.location}{path}: {error}; is the server there? xdp-roce serve --listen ADDRESS:PORT") from None
        try:
            return json.loads(text)
        except ValueError:
            raise Failed(f"{method} {path}: the answer is not JSON: {text[:80]!r}") from None

    def post(self, path, body):
        return self.call("POST", path, body)

    def traffic(self, state):
        self.post("/control/state", {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": state}}})

    def rows(self):
        answer = self.post("/monitor/metrics", {"choice": "rocev2_flow", "rocev2_flow": {"choice": "per_qp", "per_qp": {}}})
        return [number_columns(row) for row in answer.get("rocev2_flow_per_qp_metrics", [])]


def errors_of(text):
    try:
        return "; ".join(json.loads(text)["errors"])
    except (ValueError, KeyError, TypeError):
        return text[:200].decode(errors="replace")


def number_columns(row):
    """Counters may be strings, as 64-bit integers are in protobuf's JSON."""
    return {name: int(value) if isinstance(value, str) and value.isdigit() else value for name, value in row.items()}


# What snappi adds to an object that a script uses: the model's defaults, 64-bit integers as strings.
LAYER1 = {"auto_negotiate": False, "ieee_media_defaults": False, "mtu": 1500, "promiscuous": True,
          "auto_negotiation": {"advertise_1000_mbps": True, "advertise_100_fd_mbps": True, "advertise_100_hd_mbps": True, "advertise_10_fd_mbps": True,
                               "advertise_10_hd_mbps": True, "link_training": False, "rs_fec": True},
          "flow_control": {"choice": "ieee_802_1qbb", "directed_address": "01:80:C2:00:00:01",
                           "ieee_802_1qbb": {"pfc_delay": 0, **{f"pfc_class_{n}": n for n in range(8)}}}}
QP = {"initial_psn": "0", "remote_key": "00000000", "udp_source_port": 49152, "virtual_address": "0" * 16}
DCQCN = {"additive_increment_rate": 0.001, "alpha_g": "1020", "alpha_update_period": "21", "clamp_target_rate": False, "hyper_increment_rate": 0.001,
         "initial_alpha": "1000", "initial_rate_after_first_cnp": 0.002, "maximum_rate_decrement_at_time": 12, "minimum_rate_limmit": 0.002,
         "rate_increment_byte_counter": "32767", "rate_increment_threshold": 25, "rate_increment_time": "250", "rate_reduction_time_period": "21"}


def configuration(args):
    """As SONiC's configure_rocev2_topology makes it: flows have the names of their QPs."""
    number, unit = re.fullmatch(r"(\d+)(kb|mb|bytes)", args.message_size).groups()
    count = len(args.ports)
    ports, devices, senders, options = [], [], [], []
    for i, location in enumerate(args.ports):
        name, last = f"Port {i}", i == count - 1
        address, other = f"{args.network}.{i + 1}", f"{args.network}.{1 if last else count}"
        sends = args.both_ways or not last
        ports.append({"name": name, "location": location})
        qps = [{"qp_name": f"QP{i}_{k}",
                "connection_type": {"choice": "reliable_connection",
                                    "reliable_connection": {**QP, "source_qp_number": 33 + k, "dscp": args.dscp, "ecn": args.ecn}}}
               for k in range(args.qps)]
        peer = {"name": f"RoCEv2 {i}", "destination_ip_address": other if sends else "0.0.0.0", "qps": qps}
        ipv4 = {"name": f"Ipv4 Port {i}", "address": address, "prefix": 24, "gateway": other}
        ethernet = {"name": f"Ethernet Port {i}", "mac": f"10:17:00:00:00:{i + 1:02x}", "mtu": args.mtu,
                    "connection": {"choice": "port_name", "port_name": name}, "ipv4_addresses": [ipv4]}
        devices.append({"name": f"Device Port {i}", "ethernets": [ethernet],
                        "rocev2": {"ipv4_interfaces": [{"ipv4_name": ipv4["name"], "ib_mtu": args.mtu, "peers": [peer]}]}})
        # SONiC gives a port that only receives flows too: without a destination they send nothing.
        flows = [{"name": qp["qp_name"], "tx_endpoint": qp["qp_name"], "message_size": int(number), "message_size_unit": unit,
                  "rocev2_verb": {"choice": "send_with_immediate", "send_with_immediate": {"immediate_data": "bb"}}} for qp in qps]
        senders.append({"port_name": name, "transmit_type": {
            "choice": "target_line_rate", "target_line_rate": {"value": str(args.line_rate), "flows": flows}}})
        marking = {"choice": "ip_dscp", "ip_dscp": {"value": 48}, "ecn_value": "non_ect"}
        options.append({"port_name": name, "protocols": [{"choice": "rocev2", "rocev2": {
            "cnp": {**marking, "cnp_delay_timer": 111},
            "connection_type": {"choice": "reliable_connection", "reliable_connection": {
                "ack": marking, "nak": marking, "enable_retransmission_timeout": True, "retransmission_timeout_value": args.timeout,
                "retransmission_retry_count": 254}},
            "dcqcn_settings": {**DCQCN, "enable_dcqcn": args.dcqcn}}}]})
    return {"ports": ports, "devices": devices, "stateful_flows": {"rocev2": [{"tx_ports": [sender]} for sender in senders]},
            "layer1": [{**LAYER1, "name": "L1 config", "port_names": [port["name"] for port in ports], "speed": f"speed_{args.speed}_gbps"}],
            "options": {"port_options": {"data_integrity": False, "location_preemption": True}, "per_port_options": options}}


def wait_until(what, seconds, done):
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            raise Failed(f"after {seconds} s {what}")
        time.sleep(0.5)


def resolved(server, config):
    """Each ethernet's gateway has a MAC: what SONiC's wait_for_arp asks of the states."""
    wanted = {ethernet["name"] for device in config["devices"] for ethernet in device["ethernets"]}
    answer = server.post("/monitor/states", {"choice": "ipv4_neighbors", "ipv4_neighbors": {}})
    return wanted <= {row["ethernet_name"] for row in answer.get("ipv4_neighbors", []) if row.get("link_layer_address")}


def run(server, args):
    """SONiC's run_rocev2_step: three samples while it runs, and the rows at the end."""
    server.post("/config", configuration(args))
    config = server.call("GET", "/config")
    server.post("/control/state", {"choice": "protocol", "protocol": {"choice": "all", "all": {"state": "start"}}})
    wait_until("a neighbour has not answered: POST /monitor/states shows which", args.wait, lambda: resolved(server, config))
    server.traffic("start")
    begun, samples = time.monotonic(), []
    try:
        wait_until("no QP sends: data_tx_rate is 0 for all", args.wait, lambda: any(row.get("data_tx_rate", 0) > 0 for row in server.rows()))
        for _ in range(3):
            time.sleep(min(2, args.seconds / 4))
            samples.append(server.rows())
        time.sleep(max(0, begun + args.seconds - time.monotonic()))
    finally:
        server.traffic("stop")
    wait_until("a QP still sends: its data_tx_rate is not 0", args.wait, lambda: all(row.get("data_tx_rate", 0) == 0 for row in server.rows()))
    time.sleep(1)  # the last answers
    return samples, server.rows()


def groups_of(args):
    """The QPs of a pair of ports, by the names of their flows."""
    last = len(args.ports) - 1
    ways = [(i, last) for i in range(last)] + ([(last, 0)] if args.both_ways else [])
    return {(f"Port {tx}", f"Port {rx}"): [f"QP{tx}_{k}" for k in range(args.qps)] for tx, rx in ways}


def conditions(args):
    """A name, and what of a QP's columns contradicts it (None: nothing)."""
    def zero(column):
        return lambda row: None if row.get(column) == 0 else shown(row, column)

    def shown(row, *columns):
        return ", ".join(f"{column} {row[column] if column in row else 'absent'}" for column in columns)

    def holds(test, *columns):
        return lambda row: None if all(column in row for column in columns) and test(*[row[column] for column in columns]) else shown(row, *columns)

    made = [("all 32 columns", lambda row: " ".join(sorted(set(COLUMNS) - set(row))) + " absent" if set(COLUMNS) - set(row) else None)]
    made += [(f"{column} == 0", zero(column)) for column in
             ("message_fail", "frame_delta", "nak_tx", "nak_rx", "frame_sequence_error", "data_frames_retransmitted")]
    made += [(f"avg_latency <= {args.latency} ns", holds(lambda value: value <= args.latency, "avg_latency")),
             ("ack_tx == ack_rx", holds(lambda tx, rx: tx == rx, "ack_tx", "ack_rx")),
             ("data_frames_rx > 0", holds(lambda value: value > 0, "data_frames_rx")),
             ("message_complete_rx == message_tx", holds(lambda rx, tx: rx == tx, "message_complete_rx", "message_tx"))]
    if args.expect_cnp:
        made += [("ecn_ce_rx > 0", holds(lambda value: value > 0, "ecn_ce_rx")), ("cnp_tx > 0", holds(lambda value: value > 0, "cnp_tx")),
                 ("cnp_rx == cnp_tx", holds(lambda rx, tx: rx == tx, "cnp_rx", "cnp_tx"))]
    else:
        made += [(f"{column} == 0", zero(column)) for column in ("ecn_ce_rx", "cnp_tx", "cnp_rx")]
    return made


def near(sample, flows, tolerance):
    """Rates of a group's sample, if they are further apart than the tolerance."""
    rows = [row for row in sample if row.get("flow_name") in flows]
    tx, rx = (sum(row.get(column, 0) for row in rows) for column in ("data_tx_rate", "data_rx_rate"))
    return None if tx > 0 and abs(tx - rx) <= tolerance / 100 * tx else f"data_tx_rate {tx:.3f}, data_rx_rate {rx:.3f} Gbit/s"


def judge(args, samples, rows):
    """Results: a sentence, and what contradicts it, a QP or sample each."""
    by_flow, results = {row.get("flow_name"): row for row in rows}, []
    for (port_tx, port_rx), flows in groups_of(args).items():
        group = f"{port_tx} -> {port_rx}, {len(flows)} QP{'s' if len(flows) > 1 else ''}: "
        results.append((group + "a row for each", [f"{flow}: no row" for flow in flows if flow not in by_flow]))
        there = [by_flow[flow] for flow in flows if flow in by_flow]
        results.append((group + "port_tx and port_rx as configured", [
            f"{row['flow_name']}: {row.get('port_tx')} -> {row.get('port_rx')}" for row in there
            if (row.get("port_tx"), row.get("port_rx")) != (port_tx, port_rx)]))
        for name, contradicts in conditions(args):
            found = [(row["flow_name"], contradicts(row)) for row in there]
            results.append((group + name, [f"{flow}: {why}" for flow, why in found if why]))
        rates = [(i + 1, near(sample, flows, args.tolerance)) for i, sample in enumerate(samples)]
        results.append((group + f"data_rx_rate within {args.tolerance:g} % of data_tx_rate", [f"sample {i}: {why}" for i, why in rates if why]))
    return results


def print_text(results):
    for name, why in results:
        print(f"{'FAIL' if why else 'ok  '} {name}" + (f"  ({'; '.join(why[:3])}{', ...' if len(why) > 3 else ''})" if why else ""))
    bad = sum(bool(why) for _, why in results)
    print(f"{bad} of {len(results)} conditions do not hold" if bad else f"all {len(results)} conditions hold")


def print_tap(results):
    print(f"TAP version 13\n1..{len(results)}")
    for i, (name, why) in enumerate(results, 1):
        print(f"{'not ok' if why else 'ok'} {i} - {name}")
        for each in why:
            print(f"# {each}")


def write_junit(results, path):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite name="sonic_checks" tests="{len(results)}" '
                   f'failures="{sum(bool(why) for _, why in results)}">\n')
        for name, why in results:
            group, _, condition = name.rpartition(": ")
            file.write(f"  <testcase classname={quoteattr(group)} name={quoteattr(condition)}")
            file.write(f"><failure message={quoteattr('; '.join(why))}/></testcase>\n" if why else "/>\n")
        file.write("</testsuite>\n")


def print_columns(rows):
    for column in COLUMNS:
        print(f"{column:26}", *(f"{str(row.get(column, '-')):>20}" for row in rows))


def arguments():
    def size(text):
        if not re.fullmatch(r"[1-9]\d*(kb|mb|bytes)", text):
            raise argparse.ArgumentTypeError(f"'{text}' is no size, like 1mb, 128kb or 4kb")
        return text

    def locations(text):
        ports = [port for port in text.split(",") if port]
        if len(ports) < 2 or len(set(ports)) < len(ports):
            raise argparse.ArgumentTypeError("two ports or more, each once: IF,IF or NETNS/IF,NETNS/IF")
        return ports

    def positive(text):
        if not text.isdigit() or int(text) == 0:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number above 0")
        return int(text)

    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--location", required=True, metavar="URL", help="of the server: http://127.0.0.1:8443")
    add("--ports", required=True, type=locations, metavar="IF,IF", help="the ports' locations; the last receives")
    add("--token", metavar="FILE", help="the first line of FILE is the server's token")
    add("--ca", metavar="FILE", help="the certificate of an https server must be signed by it (default: not verified, as in snappi)")
    add("--seconds", type=positive, default=10, help="how long flows send (default: %(default)s)")
    add("--line-rate", type=positive, default=100, help="percent of the speed, of a port's flows together (default: %(default)s)")
    add("--speed", type=int, default=100, choices=(1, 10, 25, 40, 50, 100, 200, 400, 800), help="of ports, Gbit/s (default: %(default)s)")
    add("--message-size", type=size, default="1mb", metavar="SIZE", help="1mb, 128kb, 4kb ... (default: %(default)s)")
    add("--qps", type=positive, default=1, help="of each sending port (default: %(default)s)")
    add("--both-ways", action="store_true", help="two ports, which send to each other")
    add("--mtu", type=positive, default=9100, help="of ethernets, and ib_mtu, bytes (default: %(default)s); an interface with less has smaller packets")
    add("--dscp", type=int, default=3, help="of data (default: %(default)s)")
    add("--ecn", default="non_ect", choices=("non_ect", "ect_0", "ect_1"), help="of data (default: %(default)s)")
    add("--dcqcn", action="store_true", help="CNPs slow the flows down")
    add("--timeout", type=positive, default=5000, metavar="MS", help="of retransmission (default: %(default)s)")
    add("--latency", type=positive, default=5000, metavar="NS", help="the most that avg_latency may be (default: %(default)s, SONiC's for a switch)")
    add("--tolerance", type=float, default=10, metavar="PERCENT", help="between the rates of both ends (default: %(default)s)")
    add("--expect-cnp", action="store_true", help="CE marks and CNPs must be there (default: must not)")
    add("--network", default="192.0.2", metavar="A.B.C", help="addresses are A.B.C.1, A.B.C.2, ... (default: %(default)s)")
    add("--wait", type=positive, default=60, metavar="S", help="for neighbours, and for flows to begin and end (default: %(default)s)")
    add("--columns", action="store_true", help="prints the 32 columns of each QP too")
    add("--tap", action="store_true", help="prints TAP (Test Anything Protocol)")
    add("--junit", metavar="FILE", help="writes JUnit XML too")
    args = parser.parse_args()
    if args.both_ways and len(args.ports) != 2:
        parser.error("--both-ways is for two ports")
    return args


def main():
    args = arguments()
    try:
        token = ""
        if args.token:
            with open(args.token, encoding="utf-8") as file:
                token = file.readline().strip()
        samples, rows = run(Server(args.location, token, args.ca), args)
    except (Failed, OSError) as error:
        print(f"sonic_checks.py: {error}", file=sys.stderr)
        return 2
    results = judge(args, samples, rows)
    if args.tap:
        print_tap(results)
    else:
        print_text(results)
    if args.junit:
        write_junit(results, args.junit)
    if args.columns:
        print_columns(sorted(rows, key=lambda row: row.get("flow_name", "")))
    return int(any(why for _, why in results))


if __name__ == "__main__":
    sys.exit(main())
