#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""model_table.py LOCATION LEFT RIGHT PAGE [--write]: what the server takes of OTG's published model. Each property and each choice of a configuration
and of the calls is asked for: refused with an error at its path, taken with a warning, or taken. The table between <!-- model --> and <!-- /model -->
of PAGE must say the same; --write writes it."""
import collections
import copy
import json
import re
import sys

import otg_schema
from client import Client

NAMES = {"Port": "A", "Lag": "G", "Device.Ethernet": "E", "Device.Ipv4": "I4", "Device.Ipv6": "I6", "Flow": "f", "Device": "D", "Capture": "C"}
TEXTS = {"ipv4": "198.18.0.7", "ipv6": "2001:db8::7", "mac": "02:00:00:00:00:07", "hex": "0a", "oid": "1.3.6", "checksum": "0a"}
# Where the model's default or least value makes no sense alone.
VALUES = {("Port", "location"): "{left}", ("Flow.Custom", "bytes"): "0011", ("Device.Ethernet", "mac"): "02:00:00:00:00:01",
          ("Device.Ipv4", "gateway"): "198.18.0.1", ("Device.Ipv6", "gateway"): "2001:db8::1", ("Flow.Port", "rx_name"): "B",
          ("Flow.Router", "rx_names"): ["I4b"], ("Flow.Router", "tx_names"): ["I4"], ("Capture", "packet_size"): 64,
          ("Flow.Lacpdu.Collector", "reserved"): "00" * 12, ("Flow.Lacpdu.Terminator", "reserved"): "00" * 50,
          ("Lldp.PortId", "mac_address_subtype"): TEXTS["mac"], ("Lldp.OrgInfo", "oui"): "00005e",
          ("Flow.Ipv6.UsidDst", "usids"): ["0001"], ("Flow.Ipv6SegmentRoutingUsid.Segment", "usids"): ["0001"],
          ("Pattern.Flow.Ipv6.UsidDst.Locator", "value"): "2001:db8::",
          ("Pattern.Flow.Ipv6SegmentRoutingUsid.Segment.Locator", "value"): "2001:db8::"}
# What the model does not require, and these make no sense without.
NEEDED = {"PerPort.Options": ["port_name"], "Device.Ethernet": ["connection"]}
# Headers that come before one.
BEFORE = {"tcp": "ipv4", "udp": "ipv4", "icmp": "ipv4", "igmpv1": "ipv4", "icmpv6": "ipv6", "ipv6_extension_header": "ipv6"}


class Prober:
    def __init__(self, location, left, right):
        self.model = otg_schema.model()
        self.schemas = self.model.schemas
        self.client = Client(location, self.model)
        self.left, self.right = left, right
        self.asked = self.named = 0
        self.found = []  # (path without indexes, "yes" | "other" | "no", text)

    def value(self, name, key, prop, depth=0):
        """A value that is right by the model, as small as it may be."""
        if (name, key) in VALUES:
            made = VALUES[name, key]
            return made.replace("{left}", self.left) if isinstance(made, str) else made
        if "$ref" in prop:
            return self.object(prop["$ref"].rsplit("/", 1)[-1], depth + 1)
        if prop.get("type") == "array":
            return [self.value(name, key, {**prop["items"], **{k: v for k, v in prop.items() if k == "x-constraint"}}, depth)]
        if prop.get("enum"):
            return prop.get("default", prop["enum"][0])
        for constraint in prop.get("x-constraint", ()):
            target = constraint.split("/schemas/")[-1].split("/")[0]
            if target in NAMES:
                return NAMES[target]
        kind = prop.get("type")
        if kind == "boolean":
            return True
        if kind in ("integer", "number"):
            return max(prop.get("default", 1) if isinstance(prop.get("default", 1), (int, float)) else 1, prop.get("minimum", 0)) or min(1, prop.get("maximum", 1))
        if prop.get("format") in TEXTS:
            return TEXTS[prop["format"]]
        if key == "name":
            self.named += 1
            return f"name {self.named}"
        return prop.get("default") or f"{key} {depth}"

    def object(self, name, depth=0):
        schema = self.schemas[name]
        properties = schema.get("properties", {})
        needed = [key for key in schema.get("required", ()) if key != "choice"] + NEEDED.get(name, [])
        needed += [key for key, prop in properties.items() if prop.get("minItems") and key not in needed and depth < 12 and name != "Flow"]
        made = {key: self.value(name, key, properties[key], depth) for key in needed}
        choice = schema.get("properties", {}).get("choice")
        if choice and depth < 12:
            chosen = made_choice = choice.get("default", choice["enum"][0])
            inside = schema["properties"].get(made_choice)
            if inside and "auto" != chosen and chosen not in made:
                made[chosen] = self.value(name, chosen, inside, depth)
            made["choice"] = chosen
        if not made and properties and depth < 12:  # an empty object asks for nothing
            key = next(iter(properties))
            made[key] = self.value(name, key, properties[key], depth)
        return made

    def post(self, method, path, body):
        self.asked += 1
        status, _, text = self.client.raw(method, path, json.dumps(body).encode())
        answer = json.loads(text) if text[:1] == b"{" else {}
        return status, answer.get("errors", []), answer.get("warnings") or []

    def findings(self, build, instance, path):
        """What is said of each key of the instance, and whether all of it was read."""
        said, given = {}, dict(instance)
        for _ in range(8):
            status, errors, warnings = self.post("POST", "/config", build(given))
            for what, texts in (("no", errors), ("other", warnings)):
                for text in texts:
                    for key in instance:
                        if re.match(re.escape(f"{path}.{key}" if path else key) + r"(\[\d+\])?[:.\[]", text):
                            said.setdefault(key, (what, text))
            refused = [key for key in given if said.get(key, ("",))[0] == "no"]
            if status == 200 or not refused:
                return said, status == 200, errors
            for key in refused:
                del given[key]
                if given.get("choice") == key:
                    del given["choice"]
        return said, False, errors

    def note(self, where, key, said, path):
        what, text = said.get(key, ("yes", ""))
        own = re.sub(r"\[\d+\]$", "", text.split(": ", 1)[0]) in (f"{path}.{key}".strip("."), f"{path}.choice")
        text = text.split(": ", 1)[-1] if own else re.sub(r"^[^:]*\.", "", text.replace(path, "", 1))
        self.found.append((where, what, text))
        return what != "no"

    def walk(self, name, path, build, outer=""):
        """The properties of the object of that name at `path`; build(instance) is the configuration with it."""
        schema = self.schemas[name]
        properties = {key: prop for key, prop in schema.get("properties", {}).items() if key not in ("choice", "metric_tags")}
        choice = schema.get("properties", {}).get("choice", {}).get("enum", [])
        base = self.object(name)
        plain = [key for key in properties if key not in choice]
        trials = [{**base, **{key: self.value(name, key, properties[key], 1) for key in plain}}] if plain else []
        if choice:
            without = {key: value for key, value in base.items() if key not in choice and key != "choice"}
            trials += [{**without, "choice": each, **({each: self.value(name, each, properties[each], 1)} if each in properties else {})} for each in choice]
        for trial in trials:
            said, whole, errors = self.findings(build, trial, path)
            chosen = trial.get("choice") if trial is not trials[0] or not plain else None
            for key in [chosen] if chosen else plain:
                where = f"{outer}.{key}".strip(".")
                if key not in said and "choice" in said and chosen:
                    said = {**said, key: said["choice"]}
                if not self.note(where, key, said, path) or key not in trial:
                    continue
                if not whole and key not in said and errors:
                    print(f"unclear: {where}: {errors[:2]}", file=sys.stderr)
                prop = properties[key]
                listed = prop.get("type") == "array"
                inner = (prop["items"] if listed else prop).get("$ref", "").rsplit("/", 1)[-1]
                if not inner or inner.startswith("Pattern.") or (inner == "Flow.Header" and path) or where.count(".") > 7:
                    continue
                rest = {k: v for k, v in trial.items() if said.get(k, ("",))[0] != "no"}
                self.walk(inner, f"{path}.{key}".strip(".") + ("[0]" if listed else ""),
                          lambda instance, rest=rest, key=key, listed=listed: build({**rest, key: [instance] if listed else instance}), where)

    def key(self, config, key):
        """Whether the server takes anything at all of a key of the configuration."""
        said, _, errors = self.findings(lambda x: {**config, **x}, {key: self.value("Config", key, self.schemas["Config"]["properties"][key])}, "")
        if any(text.startswith(f"{key}: ") for text in errors):
            said[key] = ("no", errors[0])
        if said.get(key, ("",))[0] == "no" and not re.match(rf"{key}: ", said[key][1]):
            return True  # of something in it
        return self.note(key, key, said, "") and key not in ("events", "egress_only_tracking")

    def configuration(self):
        ports = [{"name": "A", "location": self.left}, {"name": "B", "location": self.right}]
        quiet = {"protocol_options": {"auto_start_all": False}}
        device = {"name": "D", "ethernets": [{"name": "E", "mac": "02:00:00:00:00:01", "connection": {"choice": "port_name", "port_name": "A"},
                                              "ipv4_addresses": [{"name": "I4", "address": "198.18.0.7", "gateway": "198.18.0.1"}],
                                              "ipv6_addresses": [{"name": "I6", "address": "2001:db8::7", "gateway": "2001:db8::1"}]}]}
        other = json.loads(json.dumps(device).replace('"D"', '"Db"').replace('"E"', '"Eb"').replace('"I4"', '"I4b"').replace('"I6"', '"I6b"').replace("::7", "::8").replace(":01", ":02")
                           .replace("0.7", "0.8").replace('"A"', '"B"'))
        VALUES["Device", "ethernets"] = device["ethernets"]
        config = {"ports": ports, "options": quiet}
        flow = {"name": "f", "tx_rx": {"choice": "port", "port": {"tx_name": "A", "rx_names": ["B"]}}}
        self.walk("Port", "ports[0]", lambda x: {"ports": [{**x, "name": "A"}, ports[1]], "options": quiet}, "ports")
        for key, name in (("layer1", "Layer1"), ("captures", "Capture"), ("lags", "Lag"), ("lldp", "Lldp")):
            if self.key(config, key):
                self.walk(name, f"{key}[0]", lambda x, key=key: {**config, key: [x]}, key)
        lags = [{"name": "G", "ports": [{"port_name": "B", "ethernet": {"name": "GE", "mac": "02:00:00:00:00:09"}}], "protocol": {"choice": "static", "static": {}}}]
        self.walk("Device", "devices[0]", lambda x: {**config, "lags": lags, "devices": [{**device, **x, "name": "D"}]}, "devices")
        self.walk("Flow", "flows[0]", lambda x: {**config, "devices": [device, other], "flows": [{**flow, **x, "name": "f"}]}, "flows")
        for kind in self.schemas["Flow.Header"]["properties"]["choice"]["enum"]:
            before = [{"choice": each, each: {}} for each in ("ethernet", BEFORE.get(kind)) if each]
            build = lambda x, before=before: {**config, "flows": [{**flow, "packet": [*before, x]}]}
            path = f"flows[0].packet[{len(before)}]"
            inner = self.schemas["Flow.Header"]["properties"][kind]["$ref"].rsplit("/", 1)[-1]
            said, _, _ = self.findings(build, {"choice": kind, kind: self.object(inner)}, path)
            if self.note(f"header.{kind}", kind, said, path):
                self.walk(inner, f"{path}.{kind}", lambda x, kind=kind, build=build: build({"choice": kind, kind: x}), f"header.{kind}")
        self.walk("Config.Options", "options", lambda x: {"ports": ports, "options": {**x, **quiet} if "protocol_options" not in x else x}, "options")
        for key in ("events", "egress_only_tracking"):
            self.key(config, key)
        full = {**config, "devices": [device, other], "flows": [flow]}
        self.post("POST", "/config", full)

    def call(self, method, path, name, members=2):
        """The choices of a call's body, to the depth of `members`."""
        def inside(schema, where, build, left):
            properties = self.schemas[schema].get("properties", {})
            for each in properties.get("choice", {}).get("enum", []):
                if each not in properties:
                    continue
                prop = properties[each]
                inner = prop.get("$ref", "").rsplit("/", 1)[-1]
                body = build({"choice": each, each: self.value(schema, each, prop)})
                status, errors, _ = self.post(method, path, body)
                refused = [text for text in errors if not re.search(rf"(^|\.){each}[.\[]", text)]
                label = f"{where} {each}".strip()
                if status == 200 or not refused:
                    if inner and left > 1 and self.schemas[inner].get("properties", {}).get("choice"):
                        inside(inner, label, lambda x, each=each, build=build: build({"choice": each, each: x}), left - 1)
                    else:
                        self.found.append((f"{method} {path}: {label}", "yes", ""))
                else:
                    self.found.append((f"{method} {path}: {label}", "no", re.sub(r"^'\w+' is not .*", "it is not supported", refused[0].split(": ", 1)[-1])))
        inside(name, "", (lambda x: [x]) if "Resources" in name else (lambda x: x), members)

    def calls(self):
        self.call("POST", "/control/state", "Control.State")
        self.call("POST", "/control/action", "Control.Action", 3)
        self.call("POST", "/monitor/metrics", "Metrics.Request", 1)
        self.call("POST", "/monitor/states", "States.Request", 1)
        self.call("PATCH", "/config", "Config.Update", 1)
        self.call("PATCH", "/config/append", "Config.AppendResources", 1)
        self.call("PATCH", "/config/delete", "Config.DeleteResources", 1)


def sections(found):
    """By the first part of a path, and for headers by their kind: keys and texts of each verdict, the deepest of a path alone."""
    made = collections.OrderedDict()
    for where, what, text in found:
        if where.startswith(("POST", "PATCH")):
            section, key = where.split(": ", 1)
        elif where.startswith("header."):
            section, key = "header " + where.split(".")[1], where.split(".", 2)[2] if where.count(".") > 1 else ""
        else:
            section, key = where.split(".", 1) if "." in where else (where, "")
        section = made.setdefault(section, {"yes": 0, "other": collections.OrderedDict(), "no": collections.OrderedDict()})
        if what == "yes":
            section["yes"] += 1
        else:
            section[what].setdefault(text, []).append(key)
    return made


def cell(texts):
    parts = []
    for text, keys in texts.items():
        keys = list(dict.fromkeys(key for key in keys if key))
        text = re.sub(r"\s*\(.*\)$", "", text).replace("|", "\\|")
        parts.append((", ".join(f"`{key}`" for key in keys) + ": " if keys else "") + text)
    return "; ".join(parts)


def table(found):
    lines = ["| part | taken | with a difference | refused |", "| --- | --- | --- | --- |"]
    for name, section in sections(found).items():
        lines.append(f"| `{name}` | {section['yes'] or ''} | {cell(section['other'])} | {cell(section['no'])} |")
    return "\n".join(lines) + "\n"


location, left, right, page = sys.argv[1:5]
prober = Prober(location, left, right)
prober.configuration()
prober.calls()
begin, end = "<!-- model -->\n", "<!-- /model -->"
with open(page, encoding="utf-8") as file:
    text = file.read()
before, rest = text.split(begin)
made = before + begin + table(prober.found) + end + rest.split(end)[1]
print(f"{prober.asked} requests, {len(prober.found)} keys and choices")
if "--write" in sys.argv:
    with open(page, "w", encoding="utf-8") as file:
        file.write(made)
elif made != text:
    import difflib
    sys.exit("".join(difflib.unified_diff(text.splitlines(True), made.splitlines(True), page, "the server")))
