#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""otg_words.py PROGRAM DATA SCHEMA: no key of OTG's published model is dropped silently by `run --import otg`.

Puts each property of the objects that the importer reads into a configuration that has none of it. What is printed must differ,
or a note or an error must name the key. SCHEMA is a folder with the model's openapi.yaml and validate.py, which is not part of the
project: without it the test is skipped (77). The configurations of DATA must pass validate.py.
"""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'otg'))
import otg_schema  # noqa: E402

# The path of each object in tests/data/otg/words.json, and its schema.
OBJECTS = {
    '': 'Config',
    'ports.0': 'Port',
    'layer1.0': 'Layer1',
    'layer1.0.flow_control': 'Layer1.FlowControl',
    'layer1.0.flow_control.ieee_802_1qbb': 'Layer1.Ieee8021qbb',
    'devices.0': 'Device',
    'devices.0.ethernets.0': 'Device.Ethernet',
    'devices.0.ethernets.0.connection': 'Ethernet.Connection',
    'devices.0.ethernets.0.ipv4_addresses.0': 'Device.Ipv4',
    'devices.0.ethernets.0.ipv4_addresses.0.gateway_mac': 'Device.Ipv4GatewayMAC',
    'devices.0.rocev2': 'Device.Rocev2Peer',
    'devices.0.rocev2.ipv4_interfaces.0': 'Rocev2.V4Interface',
    'devices.0.rocev2.ipv4_interfaces.0.peers.0': 'Rocev2.V4Peer',
    'devices.0.rocev2.ipv4_interfaces.0.peers.0.qps.0': 'Rocev2.QPs',
    'devices.0.rocev2.ipv4_interfaces.0.peers.0.qps.0.connection_type': 'Rocev2.ConnectionType',
    'devices.0.rocev2.ipv4_interfaces.0.peers.0.qps.0.connection_type.reliable_connection': 'Rocev2.QPParameters',
    'stateful_flows': 'StatefulFlow',
    'stateful_flows.rocev2.0': 'Rocev2.Flows',
    'stateful_flows.rocev2.0.tx_ports.0': 'Rocev2.TxPorts',
    'stateful_flows.rocev2.0.tx_ports.0.transmit_type': 'Rocev2.TransmitType',
    'stateful_flows.rocev2.0.tx_ports.0.transmit_type.target_line_rate': 'Rocev2.TargetLineRate',
    'stateful_flows.rocev2.0.tx_ports.0.transmit_type.target_line_rate.flows.0': 'Rocev2.Flow',
    'stateful_flows.rocev2.0.tx_ports.0.transmit_type.target_line_rate.flows.0.rocev2_verb': 'Rocev2.Verb',
    'stateful_flows.rocev2.0.tx_ports.1.transmit_type.target_line_rate.flows.0.rocev2_verb.send_with_immediate': 'Rocev2.ImmediateData',
    'captures.0': 'Capture',
    'options': 'Config.Options',
    'options.port_options': 'Port.Options',
    'options.protocol_options': 'Protocol.Options',
    'options.flow_options': 'Flow.Options',
    'options.per_port_options.0': 'PerPort.Options',
    'options.per_port_options.0.protocols.0': 'Port.Protocol',
    'options.per_port_options.0.protocols.0.rocev2': 'Rocev2.PerPortSettings',
    'options.per_port_options.0.protocols.0.rocev2.cnp': 'Rocev2.CNP',
    'options.per_port_options.0.protocols.0.rocev2.cnp.ip_dscp': 'Rocev2.PriorityValue',
    'options.per_port_options.0.protocols.0.rocev2.connection_type': 'Rocev2.QPConnectionType',
    'options.per_port_options.0.protocols.0.rocev2.connection_type.reliable_connection': 'Rocev2.AckAndNak',
    'options.per_port_options.0.protocols.0.rocev2.connection_type.reliable_connection.ack': 'Rocev2.ACK',
    'options.per_port_options.0.protocols.0.rocev2.connection_type.reliable_connection.ack.ip_dscp': 'Rocev2.PriorityValue',
    'options.per_port_options.0.protocols.0.rocev2.connection_type.reliable_connection.nak': 'Rocev2.NAK',
    'options.per_port_options.0.protocols.0.rocev2.connection_type.reliable_connection.nak.ip_dscp': 'Rocev2.PriorityValue',
    'options.per_port_options.0.protocols.0.rocev2.dcqcn_settings': 'Rocev2.DCQCN',
}
# Names by which objects refer to one another, and `choice`, which names a member that is there anyway.
NAMES = {'name', 'qp_name', 'choice'}


def at(config, path):
    for part in filter(None, path.split('.')):
        config = config[int(part) if part.isdigit() else part]
    return config


def sample(schemas, prop):
    """A value that is not the default; of an object, one with a member, as an empty one says nothing."""
    if '$ref' in prop:
        schema = schemas[prop['$ref'].rsplit('/', 1)[-1]]
        for name, inner in schema.get('properties', {}).items():
            if inner.get('type') in ('string', 'integer', 'number', 'boolean'):
                return {name: sample(schemas, inner)}
        return {'x': {}}
    kind = prop.get('type')
    if kind == 'array':
        return [sample(schemas, prop['items'])]
    if kind == 'boolean':
        return not prop.get('default', False)
    if kind in ('integer', 'number'):
        low, high, default = prop.get('minimum', 0), prop.get('maximum', 1 << 20), prop.get('default')
        return next(v for v in (min(low + 5, high), high, low) if v != default)
    words = [w for w in prop.get('x-enum', {}) if w != prop.get('default')]
    return words[-1] if words else {'hex': 'ab', 'ipv4': '192.0.2.77', 'mac': '02:00:00:00:00:77'}.get(prop.get('format'), 'x')


def printed(program, config, folder):
    path = os.path.join(folder, 'c.json')
    with open(path, 'w') as f:
        json.dump(config, f)
    run = subprocess.run([program, 'run', '--import', 'otg', path], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout, run.stderr


def main():
    program, data, schema = sys.argv[1:]
    schemas = otg_schema.document(schema)['components']['schemas']
    files = sorted(glob.glob(os.path.join(data, '*.json')))
    checked = subprocess.run([sys.executable, otg_schema.folder(schema) / 'validate.py', *files], check=False)
    bad = [] if checked.returncode == 0 else ['a configuration does not pass validate.py']
    with open(os.path.join(data, 'words.json')) as f:
        base = json.load(f)
    tried = 0
    with tempfile.TemporaryDirectory() as folder:
        first = printed(program, base, folder)
        if first[0]:
            bad.append(f'words.json: {first[2]}')
        for path, name in OBJECTS.items():
            for key, prop in schemas[name].get('properties', {}).items():
                config = copy.deepcopy(base)
                if key in NAMES or isinstance(at(config, path).get(key), (dict, list)):
                    continue  # objects below are tried by themselves
                tried += 1
                at(config, path)[key] = sample(schemas, prop)
                status, out, err = printed(program, config, folder)
                named = key in err or status and f"'{at(config, path)[key]}'" in err
                if not named and (status or out == first[1]):
                    bad.append(f'{path}.{key} = {at(config, path)[key]}: {"refused without its name: " + err if status else "dropped silently"}')
            config = copy.deepcopy(base)
            at(config, path)['no_such_key'] = 1
            status, _, err = printed(program, config, folder)
            if not status or 'no_such_key' not in err:
                bad.append(f'{path}: a key that the model does not have is not refused')
    return otg_schema.verdict(f'{tried} keys of {len(OBJECTS)} objects', bad)


if __name__ == '__main__':
    sys.exit(main())
