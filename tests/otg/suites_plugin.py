#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What suites.py puts before a public test: pytest loads it by `-p suites_plugin`, and `suites_plugin.py SCRIPT [ARGUMENT...]` runs a script under it.

The client's location is the server's, over HTTP. Port locations that a test has in its text become the server's ports, in their order, in a
configuration that is set, and its own again in one that is read. Modules that a test imports and this machine lacks have stand-ins. Marks that skip a
test are taken off. A suite that was written for an older client has its names. Results, refused requests and warnings go to a file of JSON lines.
XR_SUITES_SETTINGS names a JSON file: location, ports, report, stand_ins, older."""
import importlib
import json
import os
import re
import runpy
import struct
import sys
import types

import pytest

SETTINGS = json.load(open(os.environ["XR_SUITES_SETTINGS"], encoding="utf-8"))


def report(**row):
    with open(SETTINGS["report"], "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")


class Anything:
    """In place of what is called for its side effects alone: traces of telemetry."""

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return self

    def __getattr__(self, _):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


class Frame:
    def __init__(self, octets):
        self._octets = octets

    def raw(self):
        return self._octets


def load_savefile(file):
    """As pypcapfile's: the frames of a pcap file."""
    magic = file.read(24)[:4]
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}[magic]
    frames = []
    while len(header := file.read(16)) == 16:
        frames.append(Frame(file.read(struct.unpack(order + "4I", header)[2])))
    return types.SimpleNamespace(packets=frames)


class NoServer:
    """In place of the client's own mock server."""

    def start(self):
        return self


STAND_INS = {
    "pcapfile": {"pcapfile.savefile": {"load_savefile": load_savefile}},
    "opentelemetry": {f"opentelemetry.{name}": {value: Anything() for value in values} for name, values in {
        "trace": [], "instrumentation.grpc": ["GrpcInstrumentorClient"], "sdk.trace": ["TracerProvider"], "sdk.resources": ["Resource"],
        "sdk.trace.export": ["BatchSpanProcessor"], "exporter.otlp.proto.grpc.trace_exporter": ["OTLPSpanExporter"]}.items()},
    "mock server": {"tests.snappiserver": {"SnappiServer": NoServer}},
}


def stand_in(name):
    """Modules for those that cannot be imported; the mock server is always replaced."""
    try:
        if name != "mock server":
            importlib.import_module(name)
            return
    except ImportError:
        pass
    for path, values in STAND_INS[name].items():
        parts = path.split(".")
        first = len(parts) if name == "mock server" else 1  # `tests` itself is the suite's
        for end in range(first, len(parts) + 1):
            module = sys.modules.setdefault(".".join(parts[:end]), types.ModuleType(".".join(parts[:end])))
            module.__path__ = []
            if end > first:
                setattr(sys.modules[".".join(parts[:end - 1])], parts[end - 1], module)
        for key, value in values.items():
            setattr(module, key, value)


def placed(body, locations):
    """A configuration with the server's ports; what it had is in `locations`, by the names of its ports."""
    config = json.loads(body)
    locations.clear()
    for port, place in zip(config.get("ports", []), SETTINGS["ports"]):
        if port.get("location", place) not in SETTINGS["ports"]:
            locations[port["name"]] = port["location"]
            port["location"] = place
    return json.dumps(config)


def returned(content, locations):
    config = json.loads(content)
    for port in config.get("ports", []):
        port["location"] = locations.get(port["name"], port.get("location"))
    return json.dumps(config).encode()


def sentences(content):
    """The errors of an answer, or its text."""
    try:
        return "; ".join(json.loads(content)["errors"])
    except (ValueError, KeyError, TypeError):
        return content.decode(errors="replace")[:400]


def noted(method, path, answer):
    if answer.status_code >= 400:
        report(refused=f"{method} {path}: {answer.status_code} {sentences(answer.content)}")
    elif method == "POST" and path == "/config" and (warnings := re.findall(rb'"warnings":.*', answer.content, re.S)):
        report(warned=warnings[0].decode()[:400])


def older_names(snappi):
    """What an ethernet's port was called when the suite was written."""
    def connect(ethernet, name):
        ethernet.connection.port_name = name
    snappi.DeviceEthernet.port_name = property(lambda ethernet: ethernet.connection.port_name, connect)


def install():
    """Before the first test: the client's factory and its HTTP session."""
    for name in SETTINGS["stand_ins"]:
        stand_in(name)
    import requests
    import snappi
    if SETTINGS.get("older"):
        older_names(snappi)
    made, request = snappi.api, requests.Session.request
    locations = {}

    def api(location=None, version_check=False, **_):
        return made(location=SETTINGS["location"], version_check=version_check)

    def send(session, method, url, data=None, **more):
        path = url[len(SETTINGS["location"]):]
        if (method.upper(), path) == ("POST", "/config"):
            data = placed(data, locations)
        answer = request(session, method=method, url=url, data=data, timeout=60, **more)
        if (method.upper(), path) == ("GET", "/config") and answer.ok and locations:
            answer._content = returned(answer.content, locations)
        noted(method.upper(), path, answer)
        return answer

    snappi.api, requests.Session.request = api, send


def pytest_collection_modifyitems(items):
    for item in items:
        item.own_markers = [mark for mark in item.own_markers if mark.name not in ("skip", "skipif")]


def said(excinfo):
    """The exception's own text, and the line of the test that raised it."""
    last = excinfo.traceback[-1]
    mine = [entry for entry in excinfo.traceback if os.sep + "site-packages" + os.sep not in str(entry.path)
            and os.path.basename(str(entry.path)).startswith("test_")]
    entry = mine[-1] if mine else last
    line = str(entry.statement).strip().replace("\n", " ")
    return f"{excinfo.typename}: {' '.join(str(excinfo.value).split())[:500]} [{os.path.basename(str(entry.path))}:{entry.lineno + 1}: {line[:160]}]"


def pytest_runtest_logstart(nodeid):
    report(began=nodeid.rsplit("::", 1)[-1])


@pytest.hookimpl(tryfirst=True)  # a suite's own one may end the session
def pytest_exception_interact(node, call, report):
    if hasattr(node, "nodeid") and call.excinfo is not None:
        results(node.nodeid, getattr(report, "when", "collect"), "failed", said(call.excinfo))


def pytest_runtest_logreport(report):
    if report.when == "call" and report.outcome != "failed":
        results(report.nodeid, report.when, report.outcome, "")


def results(nodeid, when, outcome, cause):
    report(test=nodeid.rsplit("::", 1)[-1] if "::" in nodeid else "", when=when, outcome=outcome, cause=cause)


def main():
    install()
    sys.argv = sys.argv[1:]
    results("script", "call", "began", "")
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
else:
    install()
