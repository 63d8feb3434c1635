#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""report_schema.py PROGRAM ROOT: validates JSON documents of the program, and the golden files, against docs/report.schema.json,
and results and sweeps against their own schemas.

Runs the commands that need no privilege. Reports the document and the key that fails. A copy of a document with one
key renamed must fail, for each key. Exit status 77 without the Python package jsonschema.
report_schema.py --of DEFINITION ROOT FILE...: the same for files that hold such a document, or one a line."""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
sys.dont_write_bytecode = True
import report_tables  # noqa: E402

try:
    import jsonschema
except ImportError:
    print("report_schema: skipped, as jsonschema is missing: tools/setup --test (Debian: python3-jsonschema)")
    sys.exit(77)

ANY_KEYS = {".points[].settings", ".found[].settings", ".trials[].settings"}  # objects whose keys the user chooses
faults = []
seen = collections.Counter()
renamed = set()


class Schema:
    def __init__(self, root):
        self.all = json.loads((root / "docs/report.schema.json").read_text())
        jsonschema.Draft202012Validator.check_schema(self.all)
        self.validators = {}
        self.alone = {}  # schemas of one document, which need no other file
        for name in report_tables.DOCUMENTS:
            schema = report_tables.schema_of(self.all, name)
            jsonschema.Draft202012Validator.check_schema(schema)
            self.alone[name] = jsonschema.Draft202012Validator(schema)

    def validator(self, name):
        """Of a definition. NAME/part: some of its keys; NAME/row: a row of `analyze --rows`."""
        if name not in self.validators:
            base, _, part = name.partition("/")
            schema = {"$ref": f"#/$defs/{base}"}
            if part == "part":
                schema = {k: v for k, v in self.all["$defs"][base].items() if k != "required"}
            elif part == "row":
                prefix, row = self.all["$defs"]["row_prefix"], self.all["$defs"][base]
                schema = {"type": "object", "properties": {**row["properties"], **prefix["properties"]},
                          "required": row["required"] + prefix["required"], "additionalProperties": False}
            self.validators[name] = jsonschema.Draft202012Validator({**schema, "$defs": self.all["$defs"]})
        return self.validators[name]

    def errors(self, name, document):
        for error in self.validator(name).iter_errors(document):
            where = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
            if error.validator == "additionalProperties":
                known = error.schema["properties"]
                text = "not described: " + ", ".join(key for key in error.instance if key not in known)
            else:
                text = error.message
            yield f"${where}: {text[:300]}"


def event_definition(document):
    return {"episode": "event_episode", "finding": "event_finding", "late_step": "event_late_step"}.get(document.get("type"), "event")


def objects(document, place=""):
    """Each object of a document, one for each place in its schema."""
    if isinstance(document, dict):
        yield place, document
        for key, value in document.items():
            yield from objects(value, f"{place}.{key}")
    elif isinstance(document, list) and document:
        yield from objects(document[0], place + "[]")


def first_rows(document):
    """A copy of which each list has one element."""
    if isinstance(document, dict):
        return {key: first_rows(value) for key, value in document.items()}
    return [first_rows(one) for one in document[:1]] if isinstance(document, list) else document


def check(schema, label, name, document):
    seen[name.partition("/")[0]] += 1
    errors = list(schema.errors(name, document))
    if name in schema.alone and schema.alone[name].is_valid(document) != (not errors):
        errors.append(f"docs/{name}.schema.json does not agree with docs/report.schema.json")
    faults.extend(f"{label} ({name}): {error}" for error in errors)
    if errors:
        return
    copy = first_rows(document)
    for place, one in objects(copy):
        if place in ANY_KEYS:
            continue
        for key in list(one):
            if (name, place, key) in renamed:
                continue
            renamed.add((name, place, key))
            one["renamed_" + key] = one.pop(key)
            if not list(schema.errors(name, copy)):
                faults.append(f"{label} ({name}): ${place}.{key} can be renamed, and the copy is valid")
            one[key] = one.pop("renamed_" + key)


def check_text(schema, label, name, text):
    """A document, or one a line; name event: by the type of each."""
    try:
        documents = [json.loads(text)]
    except ValueError:
        documents = [json.loads(line) for line in text.splitlines()]
    if not documents:
        faults.append(f"{label}: no document")
    for document in documents:
        check(schema, label, event_definition(document) if name == "event" else name, document)


# Golden files, which have documents of commands that need a port. /part: of a part of a report.
GOLDENS = {"capture": "analyze/part", "empty": "analyze/part", "compare": "compare", "compare_apart": "compare",
           "counters": "counters", "counters_rates": "counters", "episode_events": "event", "events": "event",
           "episodes": "episodes/part", "no_episodes": "episodes/part", "latency": "latency_report/part",
           "no_latency": "latency_report/part", "link": "link", "microbursts": "analyze/part", "not_tracked": "streams",
           "pfc_storm": "send", "send_live": "send", "stamps": "analyze/part", "streams": "streams", "streams_rates": "streams",
           "wire": "wire", "attachments": "status", "connections": "connections", "counters_all": "counters", "detached": "detach",
           "port_capture": "capture", "port_capture_nic": "capture", "respond": "respond", "rules": "impair", "send_reliable": "send", "sink": "respond",
           "streams_nic": "streams", "checks": "checks_report/part", "peer": "peer_report"}
# Command lines; DATA and OUT are directories. /row: rows of a table.
PORTED = "analyze DATA/loss_rc_read_v4.pcap.gz --rows ndjson --episodes --table"
COMMANDS = [
    ("version", "--version"), ("experiments", "run --list"), ("doctor", "doctor"),
    ("cc_list", "cc list"), ("cc_show", "cc show"), ("cc_show", "cc show timely"), ("cc_show", "cc show hpcc swift fixed"),
    ("cc_predict", "cc predict flows 10 rate 40gbit kmin 5k kmax 200k pmax 1% delay 4us for 40ms"),
    ("cc_predict", "cc predict flows 8 rate 100gbit preset hpcc for 40ms"),
    ("cc_predict_steady", "cc predict dctcp flows 8 rate 100gbit mark 300k"), ("cc_predict_steady", "cc predict swift rate 100gbit"),
    ("imported_words", "run --import netem 'delay 10ms 2ms loss 1%'"),
    ("imported_experiments", "run --import otg DATA/otg/pairs.json"), ("imported_experiments", "run --import lumina DATA/lumina.yml"),
    ("imported_experiments", "run --import hpcc DATA/hpcc/config.txt"),
    ("compare", "compare DATA/cases/compare_corrupt_A.pcap.gz DATA/cases/compare_corrupt_B.pcap.gz"),
    ("compare", "compare DATA/cases/compare_dup_A.pcap.gz DATA/cases/compare_dup_B.pcap.gz"),
    ("compare", "compare DATA/rc_write_ect_v4.pcap DATA/rping_v4.pcap"),
    ("analyze", "analyze DATA/cases/pfc_senders.pcap --speed 100gbit"),
    ("analyze", "analyze DATA/rping_v4.pcap DATA/loss_rc_read_v4.pcap.gz --episodes --latency"),
    ("analyze", "analyze DATA/cases/erspan2_sampled_1_in_100.pcap.gz --decap auto"),
    ("analyze", "analyze DATA/cases/erspan2_sampled_1_in_100.pcap.gz"),
    ("analyze", "analyze DATA/rc_send_1024_v4.pcap --split-by stream --split-to OUT/split"),
    *[(f"{row}/row", f"{PORTED} {table}") for row, table in [("stream", "streams"), ("row_event", "events"), ("episode", "episodes"),
                                                            ("pair", "pairs")]],
    ("setup_check/row", "analyze DATA/corrupt_rc_send_v4.pcap.gz DATA/rping_v4.pcap --rows ndjson --check --table checks"),
    ("latency/row", "analyze DATA/loss_rc_read_v4.pcap.gz --rows ndjson --latency --table latency"),
    ("latency_bucket/row", "analyze DATA/loss_rc_read_v4.pcap.gz --rows ndjson --latency --table latency_histogram"),
    ("microburst/row", "analyze DATA/loss_rc_read_v4.pcap.gz --rows ndjson --microbursts --table microbursts"),
    ("result", "run DATA/cases/mixed.yaml --out OUT/mixed"), ("result", "run DATA/cases/prediction.yaml"),
    ("result", "run drop-nth --out OUT/drop"), ("result", "run DATA/cases/gbn_collapse.yaml --set duration=5ms"),
    ("sweep", "run DATA/cases/mixed.yaml --set 'sweep={seed: [1, 2]}'"),
    ("find", "run kmin"),
    ("result", "run hpcc-fig11 --set duration=1ms --set flows.1.poisson.until=500us --set expect=[] --out OUT/sizes"),
    ("run_comparison", "run compare OUT/mixed OUT/drop"), ("run_comparison", "run compare OUT/mixed OUT/drop OUT/sizes"),
]


def run(program, line, directories):
    for name, path in directories.items():
        line = line.replace(name, str(path))
    done = subprocess.run(f"exec '{program}' --json {line}", shell=True, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def main(program, root):
    schema = Schema(root)
    data = root / "tests/data"
    for golden in sorted((data / "golden").glob("*.json")):
        if golden.stem not in GOLDENS:
            faults.append(f"{golden.name} has no definition in GOLDENS of {os.path.basename(__file__)}")
        else:
            check_text(schema, golden.name, GOLDENS[golden.stem], golden.read_text())
    with tempfile.TemporaryDirectory() as out:
        commands = COMMANDS + [("analyze", f"analyze {path} --episodes --latency --microbursts --connections")
                               for path in sorted(data.glob("*.pcap*"))]
        commands += [("analyze", f"analyze {path} --decap auto --episodes")
                     for folder in ("cases", "links") for path in sorted((data / folder).glob("*.pcap*"))]
        for name, line in commands:
            status, text, errors = run(program, line, {"DATA": data, "OUT": out})
            label = line.replace(str(root) + "/", "")
            if status not in (0, 1, 3) or not text:
                faults.append(f"{label}: exit status {status}, {errors.strip()[-300:]}")
            else:
                check_text(schema, label, name, text)
        for file in pathlib.Path(out).glob("*/result.json"):
            check_text(schema, file.name, "result", file.read_text())
    names = [one["$ref"].rpartition("/")[2] for one in schema.all["anyOf"]]
    faults.extend(f"no document of {name} was validated" for name in names if not seen[name])
    print(f"{sum(seen.values())} documents and rows validated, of these definitions:", " ".join(name for name in names if seen[name]))


if __name__ == "__main__":
    if sys.argv[1] == "--of":
        known = Schema(pathlib.Path(sys.argv[3]).resolve())
        for path in sys.argv[4:]:
            check_text(known, path, sys.argv[2], pathlib.Path(path).read_text())
    else:
        main(os.path.realpath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve())
    for fault in faults:
        print("report_schema:", fault, file=sys.stderr)
    sys.exit(bool(faults))
