#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""suites.py [OPTIONS] DIR LOCATION PORT PORT [PORT PORT]: public test suites of the Open Traffic Generator, with the stock client snappi,
against the server at LOCATION; ports 1 and 2, 3 and 4 are wired to each other. The tests are those that need no vendor's objects and no routing
protocol. They run as they are: suites_plugin.py gives them the location and the ports. Needs python3-pytest, python3-requests, python3-yaml,
python3-semantic-version, python3-protobuf, python3-grpcio, python3-dpkt and python3-numpy.

DIR holds checkouts side by side, and `snappi/snappi` as the client's own build makes it:

    cd DIR
    for name in conformance snappi-tests snappi-ixnetwork otg-examples snappi; do git clone https://github.com/open-traffic-generator/$name; done
    python3 -m pip download --no-deps --no-binary :none: snappi && unzip -o snappi-*.whl 'snappi/*' -d snappi

Where snappi/snappi/snappi.py comes from openapiart's generator instead, `otg_pb2.py` and `otg_pb2_grpc.py` beside it may be empty: HTTP is the transport.
A file .commit in a checkout says its commit and date where git does not.

Exit status: 0; 1 where a test fails that is not in KNOWN; 2 where the server does not answer or DIR has no suite."""
import argparse
import contextlib
import datetime
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT = 90  # seconds for a file of tests, where LIMITS says nothing else
LIMITS = {"py/test_rfc2544.py": 240, "imix/*": 120, "pfc/*": 120, "test_ip_*.py": 300}  # the last read 200,000 frames


@dataclass
class Suite:
    name: str
    root: str  # in DIR: where its conftest is
    tests: str  # files, each with ::TEST where it is not all of it
    scripts: str = ""  # run by python, not pytest
    options: tuple = ()
    stand_ins: tuple = ()
    older: bool = False  # written for an older client
    copied: dict = field(default_factory=dict)  # texts of a copy that users have to replace


SUITES = [
    Suite("snappi", "snappi", "tests/test_capture.py tests/test_e2e_port_flow_config.py tests/test_exceptions.py tests/test_gtpu.py"
          " tests/test_port_metrics.py tests/test_snappi_lists.py tests/test_snappi_object_serialization.py",
          stand_ins=("mock server",)),
    Suite("conformance", "conformance", "examples/test_quickstart.py feature/b2b/interfaces/test_ip_neighbors.py"
          " feature/b2b/packet/tcp/test_tcp_port_incr_decr.py feature/b2b/packet/tcp/test_tcp_port_value.py feature/b2b/packet/tcp/test_tcp_port_values.py"
          " feature/b2b/packet/udp/test_ipv6_udp_port_values.py feature/b2b/packet/udp/test_udp_port_incr_decr.py feature/b2b/packet/udp/test_udp_port_value.py"
          " feature/b2b/packet/udp/test_udp_port_values.py feature/b2b/packet/vxlan/test_vxlan_inner_ipv4.py feature/b2b/packet/vxlan/test_vxlan_inner_ipv6.py",
          stand_ins=("pcapfile",)),
    Suite("snappi-tests", "snappi-tests/tests", "ip/test_ip_device_and_flow.py ip/test_ip_many_to_many.py ip/test_ip_one_to_one.py"
          " ip/test_ip_v4v6_device_raw_capture.py misc/test_raw_tcp_flow_capture.py misc/test_stats_filter.py raw/test_basic_flow_stats.py"
          " raw/test_tcp_bidir_flows.py raw/test_tcp_unidir_flows.py tcp/test_counter_tcp_ports.py tcp/test_list_tcp_ports.py tcp/test_tcp_flow_capture.py"
          " udp/test_udp_fixed_ports.py udp/test_udp_header_with_counter.py udp/test_udp_header_with_list.py", older=True),
    Suite("snappi-ixnetwork", "snappi-ixnetwork/tests", "arp/test_arp_packet_e2e.py capture/test_combined_capture_filters.py"
          " imix/test_custom_imix_e2e.py imix/test_imix_predefined_e2e.py imix/test_ipsec_imix_predefined_e2e.py imix/test_ipv6_imix_predefined_e2e.py"
          " imix/test_standard_imix_predefined_e2e.py imix/test_tcp_imix_predefined_e2e.py metrics/test_diff_latency_mode.py metrics/test_flow_metrics.py"
          " metrics/test_latency_metrics.py pfc/test_global_pause_e2e.py pfc/test_global_unpause_e2e.py pfc/test_pfc_pause_e2e.py pfc/test_pfc_unpause_e2e.py"
          " ping/test_ping.py ping/test_ping_cvg.py rocev2/test_rocev2_stats.py rocev2/test_rocev2_stats_multipleQPs.py rocev2/test_rocev2_traffic.py"
          " tcp/test_counter_tcp_ports_e2e.py tcp/test_list_tcp_ports_e2e.py"
          " test_device_connection.py::test_device_connection test_device_connection.py::test_device_without_port_name test_phb_ecn.py test_ports.py"
          " traffic-properties/test_append_flow.py traffic-properties/test_append_flow_validation.py traffic-properties/test_delete_flows.py"
          " traffic-properties/test_delete_flows_validation.py traffic-properties/test_flow_size.py traffic-properties/test_short_duration_flow_results.py"
          " traffic/test_ip_device_and_flow.py traffic/test_ip_many_to_many.py traffic/test_ip_one_to_one.py traffic/test_stats_filter.py"
          " traffic/test_stats_filter_e2e.py traffic/test_tcp_flow_capture.py traffic/test_traffic_custom_frame_payload.py traffic/test_traffic_custom_header.py"
          " traffic/test_traffic_device.py traffic/test_traffic_ethernet_pause.py traffic/test_traffic_gptv_config.py traffic/test_traffic_transmit_state.py"
          " udp/test_udp_fixed_ports_e2e.py udp/test_udp_header_with_counter_e2e.py udp/test_udp_header_with_fixed_length_checksum_e2e.py"
          " udp/test_udp_header_with_list_e2e.py vlan/test_vlan.py vxlan/test_vxlan_e2e.py"),
    Suite("otg-examples", "otg-examples", "snappi/data-plane-performance/py/test_unidirectional.py snappi/data-plane-performance/py/test_bidirectional.py"
          " snappi/data-plane-performance/py/test_rfc2544.py", scripts="snappi/otg-flows.py clab/ixia-c-b2b/otg.py",
          options=("--frame_size=1024", "--frame_sizes=1024", "--duration=3", "--line_rate_per_flow=10"), stand_ins=("opentelemetry",),
          copied={"Agent1Eth1MacAddress": "02:00:00:00:00:01", "Agent2Eth1MacAddress": "02:00:00:00:00:02",
                  "Agent1Eth1IpAddress": "198.18.0.1", "Agent2Eth1IpAddress": "198.18.0.2"}),
]

# What is left out, for the page.
NOT_RUN = {
    "sonic-mgmt": "its RoCEv2 tests read queue counters of a switch with SONiC; `tools/otg/sonic_checks.py` has their conditions",
}

# SUITE/FILE::TEST, with * as in file names: why it fails here.
KNOWN = {
    "conformance/feature/b2b/packet/vxlan/*": "counts 4 bytes for an FCS of the inner frame, which VXLAN does not carry (RFC 7348)",
    "snappi/tests/test_capture.py::*": "its ports have no locations, and a filter by offset after others is not supported",
    "snappi/tests/test_port_metrics.py::*": "one of its ethernets has no connection; the client's mock server checks nothing",
    "snappi/tests/test_snappi_object_serialization.py::*": "one of its ethernets has no connection; the client's mock server checks nothing",
    "snappi-tests/misc/test_stats_filter.py::*": "asks for metrics of ports that its configuration does not have",
    "snappi-ixnetwork/traffic/test_stats_filter*.py::*": "asks for metrics of ports that its configuration does not have",
    "snappi-ixnetwork/imix/test_ipv6_imix_predefined_e2e.py::*": "expects frames of less than 64 bytes, the smallest of Ethernet",
    "snappi-ixnetwork/imix/test_standard_imix_predefined_e2e.py::*": "expects frames of less than 64 bytes, the smallest of Ethernet",
    "snappi-ixnetwork/test_ports.py::*": "one of its ports has no location",
    "snappi-ixnetwork/traffic/test_traffic_custom_frame_payload.py::*": "its only header is `custom`, before which it expects those of Ethernet and IPv4",
    "snappi/tests/test_snappi_lists.py::*": "its flows name a port that its configuration does not have; the client's mock server checks nothing",
    "snappi-tests/ip/test_ip_v4v6_device_raw_capture.py::*": "written for a client whose devices had one ethernet each; it fails before a request is sent",
    "snappi-tests/raw/test_basic_flow_stats.py::*": "calls `capture_state` and `transmit_state`, which the client no longer has",
    "snappi-ixnetwork/traffic/test_ip_many_to_many.py::*": "written for a client whose devices had one ethernet each; it fails before a request is sent",
    "snappi-ixnetwork/traffic/test_ip_one_to_one.py::*": "written for a client whose devices had one ethernet each; it fails before a request is sent",
    "snappi-ixnetwork/capture/test_combined_capture_filters.py::*": "its filter excludes priority 7 (`negate`); the frame that it expects has priority 7",
    "snappi-ixnetwork/pfc/*": "gives hexadecimal strings where the model has integers; the client refuses them before a request is sent",
    "snappi-ixnetwork/test_device_connection.py::test_device_without_port_name": "compares the error with the text of another server",
}


def settings(name, location, ports):
    """The suite's own settings, as its users write them."""
    if name == "conformance":
        return {"otg_host": location, "otg_ports": ports, "otg_speed": "speed_1_gbps", "otg_capture_check": True, "otg_iterations": 10,
                "otg_grpc_transport": False}
    return {"username": "", "psd": "", "location": location, "http_server": location, "grpc_server": None, "http_transport": True, "ports": ports, "ext": None,
            "speed": "speed_1_gbps", "media": None, "timeout_seconds": 30, "interval_seconds": 0.5, "log_level": "info", "dynamic_stats_output": False,
            "license_servers": [], "promiscuous": True, "uhd": False, "mtu": 1500, "line_rate": 10, "capture_validation": False,
            "flow_metric_validation": False, "otlp_grpc_server": None, "soft_dut": ""}


def call(location, method, path, body=None):
    request = urllib.request.Request(location + path, body, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return answer.read()


def answers(location):
    """Whether the server does; a configuration that the last test has left is taken away."""
    try:
        call(location, "GET", "/capabilities/version")
        with contextlib.suppress(urllib.error.HTTPError):
            call(location, "POST", "/config", b"{}")
        return True
    except OSError:
        return False


class Run:
    """One suite: its settings and copies are in a folder of their own, so that the checkout stays as it is."""

    def __init__(self, suite, folder, arguments):
        self.suite, self.folder, self.arguments = suite, folder, arguments
        self.root = os.path.join(arguments.dir, suite.root)
        if suite.copied:
            self.root = self.copy()
        self.settings = os.path.join(folder, "settings.json")
        self.plugin = os.path.join(folder, "plugin.json")
        self.report = os.path.join(folder, "report.jsonl")
        own = json.dumps(settings(suite.name, arguments.location, arguments.ports))
        for path in (self.settings, os.path.join(folder, "test-config.yaml")):  # JSON is YAML
            with open(path, "w", encoding="utf-8") as file:
                file.write(own)
        with open(self.plugin, "w", encoding="utf-8") as file:
            json.dump({"location": arguments.location, "report": self.report, "stand_ins": suite.stand_ins, "older": suite.older,
                       "ports": arguments.ports}, file)

    def copy(self):
        target = os.path.join(self.folder, "copy")
        for path in {os.path.dirname(path).removesuffix("/py") for path in self.suite.tests.split()}:
            shutil.copytree(os.path.join(self.root, path), os.path.join(target, path))
        for path in self.suite.scripts.split():
            os.makedirs(os.path.dirname(os.path.join(target, path)), exist_ok=True)
            shutil.copy(os.path.join(self.root, path), os.path.join(target, path))
        for folder, _, names in os.walk(target):
            for name in fnmatch.filter(names, "*.json"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                for old, new in self.suite.copied.items():
                    text = text.replace(old, new)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
        return target

    def environment(self):
        ports = self.arguments.ports
        return {**os.environ, "PYTHONPATH": os.pathsep.join([HERE, os.path.join(self.arguments.dir, "snappi"), self.root]),
                "PYTHONPYCACHEPREFIX": os.path.join(os.path.dirname(self.folder), "bytecode"),
                "XR_SUITES_SETTINGS": self.plugin, "SETTINGS_FILE": self.settings, "OTG_API": self.arguments.location, "OTG_LOCATION_P1": ports[0], "OTG_LOCATION_P2": ports[1]}

    def command(self, test, script):
        path = os.path.join(self.root, test)
        if script:
            return [sys.executable, os.path.join(HERE, "suites_plugin.py"), path]
        return [sys.executable, "-m", "pytest", "-p", "suites_plugin", "-p", "no:cacheprovider", "-q", "--tb=short", "--rootdir", self.root,
                path, *self.suite.options]

    def one(self, test, script=False):
        """The rows of one file: test, outcome, cause."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.report)
        limit = next((seconds for name, seconds in LIMITS.items() if fnmatch.fnmatch(test, "*" + name)), LIMIT)
        output = os.path.join(self.folder, re.sub(r"\W+", "_", test) + ".out")
        with open(output, "w", encoding="utf-8") as file:
            try:
                status = subprocess.run(self.command(test, script), cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL, stdout=file,
                                        stderr=subprocess.STDOUT, timeout=limit, check=False).returncode
            except subprocess.TimeoutExpired:
                status = None
        rows = []
        with contextlib.suppress(FileNotFoundError), open(self.report, encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        if self.arguments.logs:
            os.makedirs(os.path.join(self.arguments.logs, self.suite.name), exist_ok=True)
            shutil.copy(output, os.path.join(self.arguments.logs, self.suite.name))
        with open(output, encoding="utf-8", errors="replace") as file:
            last = [line.strip() for line in file if line.strip()][-1:]
        return judged(test, status, rows, f"no answer in {limit} s" if status is None else last[0] if last else "no output", script)


def judged(test, status, rows, end, script):
    """Of the plugin's rows and the end of the process: one row for each test."""
    found, order, refused = {}, [], []
    name = ""
    for row in rows:
        if "began" in row:
            name = row["began"]
            order.append(name)
            refused = []
        elif "refused" in row:
            refused.append(row["refused"])
        elif "test" in row and not script:
            key = row["test"] or name
            if row["outcome"] != "passed" or key not in found:
                found.setdefault(key, (row["outcome"], with_refusal(row["cause"], refused)))
    if script:
        return [row_of(test, "", "passed" if status == 0 else "failed", "" if status == 0 else with_refusal(end, refused))]
    for key in order:
        found.setdefault(key, ("failed", with_refusal(end, refused)))
    if not found:
        found[test.partition("::")[2]] = ("failed", end)
    return [row_of(test, key, *value) for key, value in found.items()]


def with_refusal(cause, refused):
    """A cause, and the last refused request where the cause does not say it."""
    if not refused or not cause or refused[-1].split(": ", 1)[1][4:80] in cause:
        return cause
    return f"{cause} | {refused[-1]}"


def row_of(test, key, outcome, cause):
    path = test.partition("::")[0]
    return {"test": f"{path}::{key}" if key else path, "passed": outcome == "passed", "cause": "" if outcome == "passed" else cause or outcome}


def known(suite, row):
    name = f"{suite}/{row['test']}"
    return next((why for pattern, why in KNOWN.items() if fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))), "")


def commit(folder):
    """Commit and date of a checkout: git's, or the file .commit."""
    if os.path.exists(os.path.join(folder, ".git")):
        return subprocess.run(["git", "-C", folder, "log", "-1", "--date=short", "--format=%h %cd"], capture_output=True, text=True, check=False).stdout.strip()
    with contextlib.suppress(FileNotFoundError), open(os.path.join(folder, ".commit"), encoding="utf-8") as file:
        return file.read().strip()
    return "?"


def run(arguments):
    """Every suite that DIR has: its rows."""
    found = []
    with tempfile.TemporaryDirectory(prefix="suites-") as folder:
        for suite in SUITES:
            checkout = os.path.join(arguments.dir, suite.name)
            if not os.path.isdir(os.path.join(arguments.dir, suite.root)):
                print(f"{suite.name}: not in {arguments.dir}", file=sys.stderr)
                continue
            own = os.path.join(folder, suite.name)
            os.mkdir(own)
            one = Run(suite, own, arguments)
            rows = []
            for test, script in [(test, False) for test in suite.tests.split()] + [(test, True) for test in suite.scripts.split()]:
                if not any(fnmatch.fnmatch(f"{suite.name}/{test}", only) for only in arguments.only or ["*"]):
                    continue
                if not answers(arguments.location):
                    sys.exit(f"the server at {arguments.location} does not answer before {suite.name}/{test}")
                for row in one.one(test, script):
                    row["known"] = known(suite.name, row) if not row["passed"] else ""
                    rows.append(row)
                    print("ok  " if row["passed"] else "FAIL", f"{suite.name}/{row['test']}", row["cause"], flush=True, file=sys.stderr)
            if rows:
                found.append({"suite": suite.name, "commit": commit(checkout), "tests": rows})
    return found


def counts(found):
    return [(one["suite"], one["commit"], len(one["tests"]), sum(row["passed"] for row in one["tests"])) for one in found]


def text(found):
    lines = [f"{'suite':20} {'commit':22} {'tests':>5} {'passed':>6}"]
    rows = counts(found)
    lines += [f"{name:20} {version:22} {tests:5} {passed:6}" for name, version, tests, passed in rows]
    lines.append(f"{'all':20} {'':22} {sum(row[2] for row in rows):5} {sum(row[3] for row in rows):6}")
    for one in found:
        lines += [f"{one['suite']}/{row['test']}: {row['cause']}" + (f" (known: {row['known']})" if row["known"] else "")
                  for row in one["tests"] if not row["passed"]]
    return "\n".join(lines)


def section(found):
    """What is between the markers of the page."""
    rows = counts(found)
    lines = ["| suite | commit | tests | passed |", "| --- | --- | --- | --- |"]
    lines += [f"| [{name}](https://github.com/open-traffic-generator/{name}) | {version} | {tests} | {passed} |" for name, version, tests, passed in rows]
    lines.append(f"| all | | {sum(row[2] for row in rows)} | {sum(row[3] for row in rows)} |")
    whys = {}
    for one in found:
        for row in one["tests"]:
            if not row["passed"]:
                whys.setdefault(row["known"] or row["cause"].replace("|", "\\|"), []).append(f"{one['suite']}/{row['test']}")
    lines += ["", f"Run on {datetime.date.today()}. What does not pass:" if whys else f"Run on {datetime.date.today()}."]
    lines += [""] * bool(whys) + [f"- {', '.join(f'`{name}`' for name in names)}: {why}" for why, names in whys.items()]
    return "\n".join(lines + [""] + [f"Not run: {name}: {why}." for name, why in NOT_RUN.items()])


def write(path, found):
    with open(path, encoding="utf-8") as file:
        before, rest = file.read().split("<!-- suites -->\n", 1)
    after = rest.split("<!-- /suites -->", 1)[1]
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}<!-- suites -->\n{section(found)}\n<!-- /suites -->{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0], formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="the rows")
    parser.add_argument("--write", metavar="PAGE", help="the counts, between the markers of the page")
    parser.add_argument("--only", metavar="PATTERN", action="append", help="SUITE/FILE, with * and ?; may be repeated")
    parser.add_argument("--logs", metavar="FOLDER", help="the output of each file of tests")
    parser.add_argument("dir")
    parser.add_argument("location")
    parser.add_argument("ports", nargs="+")
    arguments = parser.parse_args()
    arguments.dir, arguments.location = os.path.abspath(arguments.dir), arguments.location.rstrip("/")
    if len(arguments.ports) not in (2, 4):
        parser.error("two ports or four")
    if not os.path.isfile(os.path.join(arguments.dir, "snappi", "snappi", "snappi.py")):
        parser.error(f"{arguments.dir} has no snappi/snappi/snappi.py: see the head of this file")
    found = run(arguments)
    if not found:
        parser.error(f"{arguments.dir} has no such suite")
    print(text(found))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    if arguments.write:
        write(arguments.write, found)
    return int(any(not row["passed"] and not row["known"] for one in found for row in one["tests"]))


if __name__ == "__main__":
    sys.exit(main())
