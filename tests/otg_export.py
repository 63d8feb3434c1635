#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""otg_export.py PROGRAM EXPERIMENTS SCHEMA: what `run --export otg` prints is valid by OTG's published model.

Exports each experiment of the folder EXPERIMENTS, and some with what those do not have. An experiment that is refused is named in
the error. SCHEMA is a folder with the model's openapi.yaml, which is not part of the project: without it, or without
python3-jsonschema, the test is skipped (77).
"""
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'otg'))
import otg_schema  # noqa: E402

LEAST = 8  # experiments that are not refused
MORE = {
    'every-verb': '''experiment: verbs
duration: 1ms
topology: {star: {senders: 5, rate: 400gbit, delay: 1us}}
queue: {words: "buffer 1MB pfc xoff 200k xon 150k priorities 3,4"}
flows:
  - {from: sender-1, to: receiver, words: "write size 65535 pmtu 4096 port 50000 psn 7 rate 40%"}
  - {from: sender-2, to: receiver, words: "write-imm size 4k pmtu 4096 imm 0xbb va 0x10 rkey 0x20"}
  - {from: sender-3, to: receiver, words: "send size 2M pmtu 4096 ecn ect1 qps 3"}
  - {from: sender-4, to: receiver, words: "send-imm size 1G pmtu 4096 dscp 63 ecn not-ect"}
  - {from: sender-5, to: receiver, words: "read size 1 pmtu 4096 cc dcqcn preset nvidia"}
''',
    'many-hosts': '''experiment: many
duration: 1ms
topology: {leaf-spine: {leaves: 10, spines: 2, hosts: 30, rate: 25gbit, delay: 1us}}
reliability: {timeout: 0}
flows:
  - {from: all, to: host-1, words: "size 1M cc dcqcn preset paper"}
''',
}


def schema_of(node, name=''):
    """The model as JSON Schema: unknown keys are errors; a PFC class may be null, as its description says."""
    if isinstance(node, list):
        return [schema_of(item) for item in node]
    if not isinstance(node, dict):
        return node
    nullable = 'null' in str(node.get('description', '')) and name.startswith('pfc_class_')
    made = {key: schema_of(value, key) for key, value in node.items() if key not in otg_schema.NOT_SCHEMA}
    if nullable:
        made['type'] = [made['type'], 'null']
    if made.get('type') == 'object' and 'properties' in made:
        made['additionalProperties'] = False
    return made


def names(node, key):
    """Values of `key` at any depth."""
    if isinstance(node, list):
        return [name for item in node for name in names(item, key)]
    if not isinstance(node, dict):
        return []
    own = [node[key]] if isinstance(node.get(key), str) else []
    return own + [name for value in node.values() for name in names(value, key)]


def main():
    program, experiments, folder = sys.argv[1:]
    schema = schema_of(otg_schema.document(folder))
    import jsonschema
    import yaml
    schema['$ref'] = '#/components/schemas/Config'
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    bad, valid, refused = [], 0, 0
    with tempfile.TemporaryDirectory() as work:
        files = sorted(glob.glob(os.path.join(experiments, '*.yaml')))
        for name, text in MORE.items():
            files.append(os.path.join(work, name + '.yaml'))
            with open(files[-1], 'w') as f:
                f.write(text)
        for file in files:
            run = subprocess.run([program, 'run', '--export', 'otg', file], capture_output=True, text=True, check=False)
            name = os.path.basename(file)
            if run.returncode:
                refused += 1
                if run.stdout or name not in run.stderr or 'OTG' not in run.stderr or file.startswith(work):
                    bad.append(f'{name}: {run.returncode} {run.stderr}')
                continue
            config = json.loads(run.stdout)
            # As Python clients read it: a number that PyYAML takes for text would differ.
            if yaml.safe_load(run.stdout) != config:
                bad.append(f'{name}: it is not the same as YAML')
            bad += [f'{name}: {"/".join(map(str, e.absolute_path))}: {e.message[:160]}' for e in validator.iter_errors(config)]
            flows = [flow for group in config['stateful_flows']['rocev2'] for port in group['tx_ports']
                     for flow in port['transmit_type']['target_line_rate']['flows']]
            qps = names(config['devices'], 'qp_name')
            ends = [end for flow in flows for end in (flow['tx_endpoint'], flow['rx_endpoint'])]
            if not flows or sorted(ends) != sorted(qps) or len(set(qps)) != len(qps):
                bad.append(f'{name}: {len(flows)} flows have the ends {ends[:4]}..., of the QPs {qps[:4]}...')
            valid += 1
    if valid < LEAST + len(MORE):
        bad.append(f'only {valid} are valid')
    return otg_schema.verdict(f'{valid} configurations, {refused} experiments refused', bad)


if __name__ == '__main__':
    sys.exit(main())
