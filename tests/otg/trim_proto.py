#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""trim_proto.py PUBLISHED.proto >userspace/serve/otg_grpc/otg.proto: the messages of OTG's gRPC service that `serve` reads and writes.
trim_proto.py --compare OURS PUBLISHED.proto: fails where a field of OURS differs from the published one.
Messages of what `serve` refuses whole stay, without fields. Those of header patterns that have the same fields become one: the wire has no
names of messages. Needs protoc and python3-protobuf; exits with 77 where PUBLISHED.proto is not there."""
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    from google.protobuf import descriptor_pb2
except ImportError:
    print("needs python3-protobuf", file=sys.stderr)
    sys.exit(77)

REFUSED = re.compile(r"(?!Flow|PatternFlow|.*ActionResponse)\w*"
                     r"(Bgp|Bmp|Dhcp|Isis|Ospf|Rsvp|Macsec|Mka|Convergence|Loopback|DeviceVxlan|ProtocolRoute)")
Field = descriptor_pb2.FieldDescriptorProto
HEAD = """// SPDX-License-Identifier: MIT
// The part of the Open Traffic Generator's gRPC API (https://otg.dev, model 1.61) that `serve` reads and writes, made by
// tests/otg/trim_proto.py.
syntax = "proto3";
package otg;
import "google/protobuf/empty.proto";
"""


def parsed(path):
    path = pathlib.Path(path)
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch, "set")
        subprocess.run(["protoc", f"-I{path.parent}", f"--descriptor_set_out={made}", path.name], check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(made.read_bytes()).file[0]


class Model:
    def __init__(self, path):
        self.file = parsed(path)
        self.messages = {}
        for message in self.file.message_type:
            self.messages[f".otg.{message.name}"] = message
        self.enums = {f".otg.{message.name}.{inner.name}.{enum.name}": enum
                      for message in self.file.message_type for inner in message.nested_type for enum in inner.enum_type}


def enum_names(enum):
    return sorted((value.number, value.name) for value in enum.value)


class Trimmed:
    """What is reachable from the service, in the order of the published file."""

    def __init__(self, model):
        self.model = model
        self.emptied, self.kept = set(), set()
        for method in model.file.service[0].method:
            self.keep(method.input_type)
            self.keep(method.output_type)
        self.name_of = self.merged()

    def keep(self, name):
        if name in self.kept or name not in self.model.messages:
            return
        self.kept.add(name)
        if REFUSED.match(self.model.messages[name].name):
            self.emptied.add(name)
            return
        for field in self.model.messages[name].field:
            if field.type == Field.TYPE_MESSAGE:
                self.keep(field.type_name)

    def merged(self):
        """Name -> the name of the message that is used for it."""
        stands = {name: name for name in self.kept}
        patterns = [name for name in self.model.messages if name in self.kept and name.startswith(".otg.PatternFlow")]
        while True:
            first = {}
            for name in patterns:
                message = self.model.messages[name]
                shape = (tuple((f.name, f.number, f.type, f.label, f.proto3_optional,
                                str(enum_names(self.model.enums[f.type_name])) if f.type == Field.TYPE_ENUM else stands.get(f.type_name))
                               for f in message.field))
                first.setdefault(shape, []).append(name)
            new = dict(stands)
            for names in first.values():
                for name in names:
                    new[name] = names[0]
            if new == stands:
                break
            stands = new
        return self.named(stands)

    @staticmethod
    def named(stands):
        """Messages that are used for several get a name of their own: Pattern1, Counter1, MetricTag1."""
        members = {}
        for name, other in stands.items():
            members.setdefault(other, []).append(name)
        counts, names = {}, {}
        for other in sorted(members):
            if len(members[other]) == 1:
                names[other] = other
                continue
            kind = next((kind for kind in ("Counter", "MetricTag", "Random") if other.endswith(kind)), "Pattern")
            counts[kind] = counts.get(kind, 0) + 1
            names[other] = f".otg.{kind}{counts[kind]}"
        return {name: names[other] for name, other in stands.items()}

    def text(self):
        lines = [HEAD]
        written = set()
        for name, message in self.model.messages.items():
            if name not in self.kept or self.name_of[name] in written:
                continue
            written.add(self.name_of[name])
            short = self.name_of[name].rsplit(".", 1)[1]
            fields = [] if name in self.emptied else message.field
            if not fields:
                lines.append(f"message {short} {{}}")
                continue
            lines.append(f"message {short} {{")
            for inner in message.nested_type:
                values = " ".join(f"{value.name} = {value.number};" for value in inner.enum_type[0].value)
                lines += wrapped(f"  message {inner.name} {{ enum {inner.enum_type[0].name} {{ {values} }} }}")
            for field in fields:
                lines.append(f"  {label(field)}{self.type_of(field)} {field.name} = {field.number};")
            lines.append("}")
        lines.append("service Openapi {")
        for method in self.model.file.service[0].method:
            lines.append(f"  rpc {method.name}({'stream ' * method.client_streaming}{self.short(method.input_type)}) returns "
                         f"({'stream ' * method.server_streaming}{self.short(method.output_type)});")
        lines.append("}")
        return "\n".join(lines) + "\n"

    def short(self, name):
        return self.name_of.get(name, name).removeprefix(".otg.").removeprefix(".")

    def type_of(self, field):
        if field.type == Field.TYPE_MESSAGE:
            return self.short(field.type_name)
        if field.type == Field.TYPE_ENUM:
            return ".".join(field.type_name.split(".")[-2:])
        return Field.Type.Name(field.type).removeprefix("TYPE_").lower()


def label(field):
    if field.label == Field.LABEL_REPEATED:
        return "repeated "
    return "optional " if field.proto3_optional else ""


def wrapped(line):
    """At most 150 columns, broken between values."""
    lines = []
    while len(line) > 150:
        at = line.rindex(" ", 0, 150)
        lines.append(line[:at])
        line = "    " + line[at + 1:]
    return [*lines, line]


def compare(ours, published):
    """Faults, by a walk over both from the service."""
    faults, seen = [], set()

    def walk(name, other, path):
        if (name, other) in seen or name not in ours.messages:
            if name not in ours.messages and name != other:
                faults.append(f"{path}: {name} is {other}")
            return
        seen.add((name, other))
        theirs = {field.name: field for field in published.messages[other].field}
        for field in ours.messages[name].field:
            where = f"{path}.{field.name}"
            known = theirs.get(field.name)
            if known is None:
                faults.append(f"{where}: not in the published model")
                continue
            for what in ("number", "type", "label", "proto3_optional"):
                if getattr(field, what) != getattr(known, what):
                    faults.append(f"{where}: {what} {getattr(field, what)} is {getattr(known, what)}")
            if field.type == Field.TYPE_MESSAGE:
                walk(field.type_name, known.type_name, where)
            elif field.type == Field.TYPE_ENUM:
                if enum_names(ours.enums[field.type_name]) != enum_names(published.enums[known.type_name]):
                    faults.append(f"{where}: other words")

    theirs = {method.name: method for method in published.file.service[0].method}
    for method in ours.file.service[0].method:
        known = theirs.pop(method.name, None)
        if known is None or (method.client_streaming, method.server_streaming) != (known.client_streaming, known.server_streaming):
            faults.append(f"{method.name} is another call")
            continue
        walk(method.input_type, known.input_type, method.name)
        walk(method.output_type, known.output_type, method.name)
    faults += [f"{name} is missing" for name in theirs]
    return faults, len(seen)


def main():
    if not pathlib.Path(sys.argv[-1]).exists():
        print(f"{sys.argv[-1]} is not there", file=sys.stderr)
        return 77
    if sys.argv[1] != "--compare":
        sys.stdout.write(Trimmed(Model(sys.argv[1])).text())
        return 0
    faults, compared = compare(Model(sys.argv[2]), Model(sys.argv[3]))
    if pathlib.Path(sys.argv[2]).read_text() != Trimmed(Model(sys.argv[3])).text():
        faults.append(f"{sys.argv[2]} is not what trim_proto.py makes")
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{compared} messages compared")
    return bool(faults)


sys.exit(main())
