#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""grpc_client.py PROTO ADDRESS HTTP LEFT RIGHT [CERT]: every call of `serve --grpc` at ADDRESS, with the messages of PROTO, beside the
same server's HTTP: what both answer is equal. With TOKEN in the environment, only the version, with that token."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

proto, address, http, left, right = sys.argv[1:6]
with tempfile.TemporaryDirectory() as scratch:
    made = pathlib.Path(scratch, "set")
    subprocess.run(["protoc", f"-I{pathlib.Path(proto).parent}", "--include_imports", f"--descriptor_set_out={made}", pathlib.Path(proto).name],
                   check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file
pool = descriptor_pool.DescriptorPool()
for file in files:
    pool.Add(file)
service = pool.FindServiceByName("otg.Openapi")
factory = message_factory.MessageFactory(pool)
metadata = [("authorization", f"Bearer {os.environ['TOKEN']}")] if "TOKEN" in os.environ else []
options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
if len(sys.argv) > 6:
    channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(pathlib.Path(sys.argv[6]).read_bytes()), options)
else:
    channel = grpc.insecure_channel(address, options)


def made_of(name, value):
    return json_format.ParseDict(value, factory.GetPrototype(pool.FindMessageTypeByName(f"otg.{name}"))())


def raw(name, data, timeout=60, **how):
    """The answer's bytes, as they come."""
    return channel.unary_unary(f"/otg.Openapi/{name}", **how)(data, timeout=timeout, metadata=metadata)


def call(name, value=None):
    """By the wrapper's only member, as clients do."""
    method = service.methods_by_name[name]
    request = factory.GetPrototype(method.input_type)()
    if method.input_type.fields:
        json_format.ParseDict({method.input_type.fields[0].name: value}, request)
    data = raw(name, request.SerializeToString())
    answer = factory.GetPrototype(method.output_type)()
    answer.ParseFromString(data)
    member = method.output_type.fields[0]
    body = getattr(answer, member.name)
    return body if member.type == member.TYPE_BYTES else json_format.MessageToDict(body, preserving_proto_field_name=True)


def refused(what, code, data=None):
    """The Error in the details of a call's status."""
    try:
        data() if callable(data) else raw(what, data)
    except grpc.RpcError as error:
        equal(code, error.code().name, f"code of {what}")
        return json.loads(error.details())
    sys.exit(f"{what} is not refused")


def equal(wanted, found, what):
    if wanted != found:
        sys.exit(f"{what}: expected {str(wanted)[:2000]}, got {str(found)[:2000]}")


def numbers(value):
    """Integers of 64 bits are strings in protobuf's JSON; its floats have 32 bits. None is absent."""
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [numbers(each) for each in value]
    if isinstance(value, str):
        try:
            return float(f"{float(value):.5g}")
        except ValueError:
            return value
    return value if isinstance(value, bool) else float(f"{value:.5g}")


def by_http(method, path, value=None):
    request = urllib.request.Request(http + path, None if value is None else json.dumps(value).encode(), {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        body = answer.read()
        return json.loads(body) if answer.headers["Content-Type"] == "application/json" else body


def pieces(data, size=50):
    part = factory.GetPrototype(pool.FindMessageTypeByName("otg.Data"))
    return [part(chunk_size=size, datum=data[at:at + size]).SerializeToString() for at in range(0, len(data), size)]


def joined(name, data):
    part = factory.GetPrototype(pool.FindMessageTypeByName("otg.Data"))
    return b"".join(part.FromString(each).datum for each in channel.unary_stream(f"/otg.Openapi/{name}")(data, timeout=60, metadata=metadata))


def frames(capture):
    """Of a pcap. Times are those of the machine's clock when it was asked for."""
    at, found = 24, []
    while at < len(capture):
        length = int.from_bytes(capture[at + 8:at + 12], "little")
        found.append(capture[at + 16:at + 16 + length])
        at += 16 + length
    return found


version = call("GetVersion")
equal(by_http("GET", "/capabilities/version") if not metadata else version, {"sdk_version": "", **version}, "version")
if metadata:
    print("let in")
    sys.exit()

PACKETS = 1000
config = {
    "ports": [{"name": "A", "location": left}, {"name": "B", "location": right}],
    "captures": [{"name": "c", "port_names": ["B"], "format": "pcap"}],
    "flows": [{"name": "f", "tx_rx": {"choice": "port", "port": {"tx_name": "A", "rx_name": "B"}},
               "packet": [{"choice": "ethernet", "ethernet": {"src": {"choice": "value", "value": "02:00:00:00:00:0a"}}},
                          {"choice": "ipv4", "ipv4": {"src": {"choice": "value", "value": "198.18.0.1"},
                                                      "dst": {"choice": "increment", "increment": {"start": "198.18.1.1", "step": "0.0.0.1", "count": 4}}}},
                          {"choice": "udp", "udp": {"dst_port": {"choice": "values", "values": [6000, 6001]}}}],
               "size": {"choice": "fixed", "fixed": 256}, "rate": {"choice": "pps", "pps": 5000},
               "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": PACKETS}},
               "metrics": {"enable": True, "loss": True}}]}
equal({}, call("GetConfig"), "configuration before the first")

# LLDP, with all that a neighbour says.
call("SetConfig", {"ports": config["ports"], "lldp": [
    {"name": name, "connection": {"choice": "port_name", "port_name": name}, "system_name": {"choice": "value", "value": "tester"},
     "org_infos": [{"oui": "AABBCC", "subtype": 9, "information": {"choice": "info", "info": "0A"}}]} for name in "AB"]})
equal(numbers(by_http("GET", "/config")), numbers(call("GetConfig")), "configuration of LLDP")
asked = {"choice": "lldp_neighbors", "lldp_neighbors": {}}
for _ in range(100):
    found = call("GetStates", asked).get("lldp_neighbors", [])
    if len(found) == 2:
        break
    time.sleep(0.05)
other = by_http("POST", "/monitor/states", asked)["lldp_neighbors"]
for row in (*found, *other):
    del row["age"], row["last_update"]
equal(numbers(other), numbers(found), "neighbours by LLDP")
equal("aabbcc", found[0]["custom_tlvs"][0]["oui"], "the organisation of a neighbour's TLV")
asked = {"choice": "lldp", "lldp": {}}
equal(numbers(by_http("POST", "/monitor/metrics", asked)["lldp_metrics"]), numbers(call("GetMetrics", asked)["lldp_metrics"]), "metrics of LLDP")
call("SetConfig", config)
equal(numbers(by_http("GET", "/config")), numbers(call("GetConfig")), "configuration")


def state(**what):
    choice = next(iter(what))
    return call("SetControlState", {"choice": choice, choice: what[choice]})


def flow_row():
    return call("GetMetrics", {"choice": "flow", "flow": {"flow_names": ["f"]}})["flow_metrics"][0]


def run():
    state(port={"choice": "capture", "capture": {"port_names": ["B"], "state": "start"}})
    state(traffic={"choice": "flow_transmit", "flow_transmit": {"flow_names": ["f"], "state": "start"}})
    for _ in range(200):
        row = flow_row()
        if row["transmit"] == "stopped":
            break
        time.sleep(0.05)
    time.sleep(0.2)  # the last frames arrive
    row = flow_row()
    equal((str(PACKETS), str(PACKETS)), (row["frames_tx"], row["frames_rx"]), "frames sent and received")


run()
for choice in ("port", "flow"):
    asked = {"choice": choice, choice: {}}
    # Rates differ from one moment to the next.
    rows = [{key: value for key, value in row.items() if "rate" not in key} for row in call("GetMetrics", asked)[f"{choice}_metrics"]]
    other = [{key: value for key, value in row.items() if "rate" not in key} for row in by_http("POST", "/monitor/metrics", asked)[f"{choice}_metrics"]]
    equal(numbers(other), numbers(rows), f"metrics of {choice}")
by_http("POST", "/monitor/states", {"choice": "ipv4_neighbors"})
call("GetStates", {"choice": "ipv4_neighbors"})
capture = call("GetCapture", {"port_name": "B"})
equal(frames(by_http("POST", "/monitor/capture", {"port_name": "B"})), frames(capture), "frames of the capture")
equal([256] * PACKETS, [len(frame) for frame in frames(capture)], "lengths of frames in the capture")

# In pieces: the messages themselves, without the wrapper.
one = made_of("Config", config).SerializeToString()
answer = channel.stream_unary("/otg.Openapi/streamSetConfig")(iter(pieces(one)), timeout=60)
wanted = call("SetConfig", config)
equal(wanted, json_format.MessageToDict(factory.GetPrototype(pool.FindMessageTypeByName("otg.SetConfigResponse")).FromString(answer).warning), "answer to pieces")
equal(joined("streamGetConfig", b""), factory.GetPrototype(pool.FindMessageTypeByName("otg.GetConfigResponse")).FromString(raw("GetConfig", b"")).config.SerializeToString(), "configuration in pieces")
run()
asked = made_of("GetCaptureRequest", {"capture_request": {"port_name": "B"}}).SerializeToString()
equal(frames(call("GetCapture", {"port_name": "B"})), frames(joined("streamGetCapture", asked)), "capture in pieces")

# Errors, each with the JSON of HTTP.
error = refused("SetConfig", "INVALID_ARGUMENT", lambda: call("SetConfig", {"ports": [{"name": "A", "location": "nowhere"}]}))
equal((400, "validation", 1), (error["code"], error["kind"], len(error["errors"])), "error")
if not error["errors"][0].startswith("ports[0].location"):
    sys.exit(f"error without its path: {error}")
many = refused("SetConfig", "INVALID_ARGUMENT", lambda: call("SetConfig", {"ports": [{"name": f"port {n}", "location": "nowhere" * 20} for n in range(200)]}))
if not many["errors"][-1].startswith("and "):
    sys.exit(f"errors are not cut: {many['errors'][-1]}")
refused("GetCapture", "INVALID_ARGUMENT", lambda: call("GetCapture", {"port_name": "C"}))

# A field that the otg.proto of the server does not have, in devices[0].bgp.
def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


bgp = pool.FindMessageTypeByName("otg.Device").fields_by_name["bgp"].number
error = refused("SetConfig", "INVALID_ARGUMENT", field(1, field(5, field(bgp, field(3, b"x")))))
equal(["devices[0].bgp: field 3 of DeviceBgpRouter is not supported"], error["errors"], "unknown field")
error = refused("SetConfig", "INVALID_ARGUMENT", field(9, b"x"))
equal(["field 9 of SetConfigRequest is not supported"], error["errors"], "unknown field of a request")

# Bytes of no message.
for data in (b"\xff", b"\x0a\x7f", b"\x0b", b"\x0a\x04\x0a\x02\x0a\x05", os.urandom(10000) + b"\xff", field(1, field(5, b"\x0b")), b"\x0a" + b"\xff" * 9 + b"\x01"):
    refused("SetConfig", "INVALID_ARGUMENT", data)
big = b"\x0a\x00" * (8 << 20)
length = len(big)
varint = bytearray()
while length:
    varint.append(length & 0x7f | (0x80 if length > 0x7f else 0))
    length >>= 7
error = refused("SetConfig", "INVALID_ARGUMENT", b"\x0a" + bytes(varint) + big)
equal(["a message has at most 4000000 fields"], error["errors"], "too many fields")
refused("no such call", "UNIMPLEMENTED", lambda: raw("Nothing", b""))
try:
    raw("SetConfig", b"\x0a" + b"x" * (65 << 20))
    sys.exit("a message of 65 MiB is taken")
except grpc.RpcError as error:
    equal("RESOURCE_EXHAUSTED", error.code().name, "code of a message that is too large")
equal(version, call("GetVersion"), "version after all this")
print("as by HTTP")
