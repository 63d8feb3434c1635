#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""random_config.py LOCATION PORT PORT [SECONDS [SEED]]: configurations made by chance from OTG's published model, and changed ones that are right, to a
server. Each answer is 200, or 400 with errors that begin with a path; never a crash. Some of both must come. Prints the seed of a failure."""
import copy
import json
import random
import re
import sys
import time

import otg_schema
from client import Client, Wrong

DEPTH = 9
WORDS = ("a", "Port 0", "QP0_0", "", "x" * 300, "\u00fc\u0000", "192.0.2.1", "10:22:00:00:00:01")
SIGNED = 1 << 63
# What is in an error's path: the model's keys, with the place in a list.
PATH = re.compile(r"^(?:[a-z0-9_]+(?:\[\d+\])?)(?:\.[a-z0-9_]+(?:\[\d+\])*)*: ", re.I)
WHOLE = re.compile(r"^(the body|a configuration|\d+ more|and \d+)")


class Maker:
    """Values by chance that the model's schema allows, mostly."""

    def __init__(self, model, seed):
        self.schemas, self.random = model.schemas, random.Random(seed)

    def resolve(self, node):
        while "$ref" in node:
            node = self.schemas[node["$ref"].rsplit("/", 1)[-1]]
        return node

    def value(self, node, depth):
        node, draw = self.resolve(node), self.random
        kind = node.get("type")
        if "enum" in node:
            return draw.choice(node["enum"])
        if kind == "object" or "properties" in node:
            return self.object(node, depth)
        if kind == "array":
            count = draw.choice((0, 1, 1, 2)) if depth else 0
            return [self.value(node["items"], depth - 1) for _ in range(max(count, node.get("minItems", 0)))]
        if kind == "boolean":
            return draw.random() < 0.5
        if kind in ("integer", "number"):
            return self.number(node)
        return self.text(node)

    def object(self, node, depth):
        draw, made, properties = self.random, {}, node.get("properties", {})
        needed = set(node.get("required", ()))
        choices = self.resolve(properties["choice"]).get("enum") if "choice" in properties else None
        chosen = draw.choice(choices) if choices else None
        for key, property_ in properties.items():
            if key == "choice" and chosen and draw.random() < 0.9:
                made[key] = chosen
            elif key in needed or depth and (key == chosen or choices is None and draw.random() < 0.35 or draw.random() < 0.02):
                made[key] = self.value(property_, depth - 1)
        return made

    def number(self, node):
        draw = self.random
        low, high = node.get("minimum", 0), node.get("maximum", (1 << 32) - 1)
        if draw.random() < 0.05:
            return draw.choice((low - 1, high + 1, -1, SIGNED, -SIGNED, 1.5, 1e300))
        number = draw.choice((low, high, node.get("default", low), draw.randint(int(low), int(high))))
        wide = node.get("format") in ("uint64", "int64") and draw.random() < 0.5
        return str(number) if wide else number

    def text(self, node):
        draw, form = self.random, node.get("format")
        if draw.random() < 0.05:
            return draw.choice(WORDS)
        if form == "ipv4":
            return ".".join(str(draw.randint(0, 255)) for _ in range(4))
        if form == "ipv6":
            return "2001:db8::" + format(draw.randint(0, 65535), "x")
        if form == "mac":
            return ":".join(f"{draw.randint(0, 255):02x}" for _ in range(6))
        if form == "hex":
            return format(draw.randint(0, (1 << 32) - 1), "x")
        return draw.choice(("a", "b", "Port 0", "Port 1", "QP0_0"))

    def config(self, ports):
        """Mostly few sections, so that one that is not supported does not end all."""
        draw, properties = self.random, self.schemas["Config"]["properties"]
        sections = draw.sample(sorted(properties), draw.randint(0, 3))
        made = {name: self.value(properties[name], draw.randint(2, DEPTH)) for name in sections}
        if "ports" not in made or draw.random() < 0.8:
            made["ports"] = [{"name": f"Port {i}", "location": port} for i, port in enumerate(ports)]
        return made

    def changed(self, config):
        """One to three of its values others of their kind, another key, or gone."""
        config, draw = copy.deepcopy(config), self.random
        for _ in range(draw.randint(1, 3)):
            places = []

            def walk(node):
                for key, value in node.items() if isinstance(node, dict) else enumerate(node):
                    places.append((node, key))
                    if isinstance(value, (dict, list)):
                        walk(value)

            walk(config)
            node, key = draw.choice(places)
            value, how = node[key], draw.random()
            if how < 0.2:
                del node[key]
            elif how < 0.3 and isinstance(node, list):
                node.append(copy.deepcopy(value))
            elif how < 0.4:
                node[key] = draw.choice((None, [], {}, "x", 7, True, -1, 1.5, [[]], {"x": 1}))
            elif isinstance(value, bool):
                node[key] = not value
            elif isinstance(value, int) or isinstance(value, str) and value.isdigit():
                number = draw.choice((0, 1, 2, 255, 1024, 4096, 65535, 1 << 24, 1 << 32, (1 << 64) - 1, int(value) + 1))
                node[key] = str(number) if isinstance(value, str) else number
            elif isinstance(value, str):
                node[key] = draw.choice(WORDS)
        return config


# All of RoCEv2's, so that changes reach it.
RIGHT = {
    "ports": [], "layer1": [{"name": "l", "port_names": ["Port 0", "Port 1"], "speed": "speed_1_gbps"}],
    "devices": [{"name": f"d{i}", "ethernets": [{
        "name": f"e{i}", "mac": f"10:22:00:00:00:0{i}", "connection": {"choice": "port_name", "port_name": f"Port {i}"},
        "ipv4_addresses": [{"name": f"i{i}", "address": f"198.51.100.{i + 1}", "gateway": f"198.51.100.{2 - i}"}]}],
        "rocev2": {"ipv4_interfaces": [{"ipv4_name": f"i{i}", "ib_mtu": 1024, "peers": [{
            "name": f"p{i}", "destination_ip_address": f"198.51.100.{2 - i}", "qps": [{
                "qp_name": f"q{i}", "connection_type": {"choice": "reliable_connection", "reliable_connection": {"source_qp_number": 33 + i}}}]}]}]}}
                for i in range(2)],
    "stateful_flows": {"rocev2": [{"tx_ports": [{"port_name": "Port 0", "transmit_type": {"choice": "target_line_rate", "target_line_rate": {
        "value": "10", "flows": [{"name": "f", "tx_endpoint": "q0", "message_size": 4, "message_size_unit": "kb"}]}}}]}]},
    "flows": [{"name": "plain", "tx_rx": {"choice": "port", "port": {"tx_name": "Port 0", "rx_names": ["Port 1"]}}, "size": {"choice": "fixed", "fixed": 128},
               "packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}, {"choice": "udp", "udp": {}}],
               "rate": {"choice": "pps", "pps": "100"}, "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": 10}}}],
    "options": {"protocol_options": {"auto_start_all": False}},
}


def judge(client, config):
    """The status of a POST, 200 or 400; an accepted one comes back, valid by the model."""
    status, _, text = client.raw("POST", "/config", json.dumps(config).encode())
    if status == 200:
        client.right("GET", "/config")
    elif status == 400:
        errors = json.loads(text)["errors"]
        bare = [error for error in errors if not PATH.match(error) and not WHOLE.match(error)]
        if bare:
            raise Wrong(f"an error without a path: {bare[0]}")
    else:
        raise Wrong(f"status {status}: {text[:300]}")
    return status


def main():
    location, ports = sys.argv[1], sys.argv[2:4]
    seconds = float(sys.argv[4]) if len(sys.argv) > 4 else 20
    seed = int(sys.argv[5]) if len(sys.argv) > 5 else random.SystemRandom().randrange(1 << 30)
    model = otg_schema.model()
    client, counts = Client(location, model), {"made": {200: 0, 400: 0}, "changed": {200: 0, 400: 0}}
    right = {**RIGHT, "ports": [{"name": f"Port {i}", "location": port} for i, port in enumerate(ports)]}
    if judge(client, right) != 200:
        raise Wrong("the configuration that is changed is refused")
    until, once = time.monotonic() + seconds, len(sys.argv) > 5
    while time.monotonic() < until:
        maker = Maker(model, seed)
        kind = "made" if maker.random.random() < 0.5 else "changed"
        config = maker.config(ports) if kind == "made" else maker.changed(right)
        try:
            counts[kind][judge(client, config)] += 1
            if kind == "changed" and seed % 8 == 0:
                client.raw("POST", "/control/state", b'{"choice": "traffic", "traffic": {"flow_transmit": {"state": "start"}}}')
                for choice in ("flow", "rocev2_flow", "port", "rocev2_ipv4"):
                    client.metrics(choice)
        except Exception as error:  # pylint: disable=broad-except
            print(f"FAIL: seed {seed}: {error}\n{json.dumps(config)[:3000]}", file=sys.stderr)
            return 1
        if once:
            break
        seed += 1
    print(f"{json.dumps(counts)}, up to seed {seed}")
    if not once and not all(count for kind in counts.values() for count in kind.values()):
        print("FAIL: of each kind some must be accepted and some refused", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Wrong as wrong:
        print(f"FAIL: {wrong}", file=sys.stderr)
        sys.exit(1)
