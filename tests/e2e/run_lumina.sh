#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `run --import lumina`: a configuration as Lumina has them becomes an experiment, whose events hit exactly the packets that it
# names: shown by captures before and after, in tshark. And `--import otg`, which runs in virtual time.
. "$(dirname "$0")/run_lib.sh"
need_root
need jq tshark mergecap

cat >"$scratch/lumina.yml" <<'END'
local-workspace: /somewhere/lumina/
result-path: /somewhere/results/
aggregate-pcap-filename: merge.pcap
rewrite-udp-dst-port: 9741
num-repeats: 1
switch:
  sde-path: /opt/sde/
  control-ip: 192.0.2.1
  username: user
  port-speed: 1G
requester:
  control-ip: 192.0.2.2
  nic:
    type: CX5
    if-name: ens1
    switch-port: 132
    ip-list: [198.51.100.1/24]
  roce-parameters: {dcqcn-rp-enable: False, dcqcn-np-enable: True, min-time-between-cnps: 0, adaptive-retrans: False, slow-restart: True}
responder:
  control-ip: 192.0.2.3
  nic: {type: CX5, ip-list: [198.51.100.2/24]}
  roce-parameters: {dcqcn-rp-enable: True, dcqcn-np-enable: True, min-time-between-cnps: 0}
traffic:
  num-qps: 4
  rdma-verb: write
  num-msgs-per-qp: 1
  mtu: 1024
  message-size: 102400
  listen-port: 13579
  multi-gid: true
  barrier-sync: false
  tx-depth: 1
  min-retransmit-timeout: 8
  max-retransmit-retry: 7
  data-pkt-events:
    - {qpn: 0, psn: 4, type: ecn, iter: 1}
    - {qpn: 1, psn: 3, type: drop, iter: 1}
    - {qpn: 1, psn: 5, type: drop, iter: 2}
    - {qpn: 2, psn: 7, type: bit-error, iter: 1}
END
exits 0 "$XDP_ROCE" run --import lumina "$scratch/lumina.yml"
grep -q "^note: run --import: of Lumina's testbed, and not used: local-workspace" "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
cp "$scratch/last.out" "$scratch/printed.yaml"
grep -q 'qp 3 psn 8 iter 1 corrupt icrc' "$scratch/printed.yaml" || fail "$(cat "$scratch/printed.yaml")"
# What is printed runs, and so does the file itself.
measures 0 "$scratch/printed.yaml" --scale 1/50 --out "$scratch/printed"
measures 0 --import lumina "$scratch/lumina.yml" --scale 1/50 --out "$scratch/out"
assert_json "$scratch/last.out" '[.flows[].name] == ["qp-0", "qp-1", "qp-2", "qp-3"] and ([.rules[].acted] == [1, 1, 1, 1]) and
  .flows[0].cnps == 1 and .flows[1].naks == 2 and .flows[2].naks == 1 and .flows[3].retransmitted == 0'

# In virtual time, at the rates of the file, the same events have the same effects.
effects() { jq -c '[.rules[] | [.words, .acted]], [.flows[] | [.name, .cnps, .naks, .timeouts]]' "$1"; }
exits 0 "$XDP_ROCE" run --import lumina "$scratch/lumina.yml" --on virtual --out "$scratch/virtual"
assert_eq "$(effects "$scratch/out/result.json")" "$(effects "$scratch/virtual/result.json")" "effects in namespaces and in virtual time"
assert_json <("$XDP_ROCE" --json analyze "$scratch/virtual/receivers.pcapng") '.icrc.bad == 1'
assert_json <("$XDP_ROCE" --json analyze "$scratch/virtual/left.pcapng") '.icrc.bad == 0'

for port in left receivers; do requests "$scratch/out/$port.pcapng" >"$scratch/$port"; done
# place QPN K: the PSN of the packet K of a QP, from 0.
place() { echo $(($(psns_of "$1" <"$scratch/left" | head -n 1) + $2)); }
# The ECN mark: that packet, and no other.
assert_eq "0x000100 $(place 0x000100 4)" "$(awk -F '\t' '$3 == 3 { print $1, $2 }' "$scratch/receivers")" "marked"
# Dropped: packet 3 as it went first, then packet 5 as it went again; each later copy arrived.
first=$(place 0x000101 3) second=$(place 0x000101 5)
assert_eq "$first $second" "$(awk -F '\t' '/dropped/ { print $2 }' "$scratch/left" | paste -sd ' ')" "dropped, in this order"
assert_eq 0x000101 "$(awk -F '\t' '/dropped/ { print $1 }' "$scratch/left" | sort -u)" "QP of what was dropped"
seen=$(awk -F '\t' -v psn="$second" '$1 == "0x000101" && $2 == psn { print (/dropped/ ? "dropped" : "passed") }' "$scratch/left" | paste -sd ' ')
[[ $seen == *"dropped passed" ]] || fail "packet 5 of QP 1, by transmission: $seen"
assert_eq 1 "$(psns_of 0x000101 <"$scratch/receivers" | grep -cx "$first")" "packet 3 that arrived"
# Corrupted: one frame's iCRC is wrong, that packet's, and it goes again.
assert_json <("$XDP_ROCE" --json analyze "$scratch/out/receivers.pcapng") '.icrc.bad == 1'
assert_json <("$XDP_ROCE" --json analyze "$scratch/out/left.pcapng") '.icrc.bad == 0'
assert_eq "0x000102 $(place 0x000102 7)" "$(awk -F '\t' '/corrupted/ { print $1, $2 }' "$scratch/left")" "corrupted"
assert_eq 2 "$(psns_of 0x000102 <"$scratch/receivers" | grep -cx "$(place 0x000102 7)")" "copies of the corrupted packet"
# What Lumina's analysers ask: each go-back with its latencies, from both directions at the wire.
mergecap -w "$scratch/both.pcapng" "$scratch/out/left.pcapng" "$scratch/out/right.pcapng"
exits 0 "$XDP_ROCE" --json analyze --episodes "$scratch/both.pcapng"
assert_json "$scratch/last.out" '.episodes | (map([.dest_qp, .cause]) | sort) == [[257, "nak"], [257, "nak"], [258, "nak"]] and all(.nak_reaction_ns > 0)'

# Refused by name.
sed 's/rdma-verb: write/rdma-verb: read/' "$scratch/lumina.yml" >"$scratch/read.yml"
refused 'read.yml:[0-9]*: rdma-verb: read is not possible' "$XDP_ROCE" run --import lumina "$scratch/read.yml"
sed 's/tx-depth: 1/tx-deep: 1/' "$scratch/lumina.yml" >"$scratch/key.yml"
refused "'tx-deep' is not a key of traffic" "$XDP_ROCE" run --import lumina "$scratch/key.yml"

# OTG: two devices, a flow at half the line.
cat >"$scratch/otg.json" <<'END'
{"ports": [{"name": "p1", "location": "x"}, {"name": "p2"}],
 "layer1": [{"name": "l", "port_names": ["p1", "p2"], "speed": "speed_100_gbps"}],
 "devices": [{"name": "d1", "ethernets": [{"name": "e1", "connection": {"choice": "port_name", "port_name": "p1"}, "mac": "02:00:00:00:00:01",
    "ipv4_addresses": [{"name": "a1", "address": "192.0.2.1", "gateway": "192.0.2.2"}]}],
  "rocev2": {"ipv4_interfaces": [{"ipv4_name": "a1", "ib_mtu": 1024, "peers": [{"name": "r1", "destination_ip_address": "192.0.2.2",
    "qps": [{"qp_name": "q1", "connection_type": {"choice": "reliable_connection", "reliable_connection":
      {"source_qp_number": 100, "dscp": 26, "ecn": "ect_0", "udp_source_port": 50000}}}]}]}]}}],
 "stateful_flows": [{"choice": "rocev2", "rocev2": [{"tx_ports": [{"port_name": "p1", "transmit_type": {"choice": "target_line_rate",
   "target_line_rate": {"value": 50, "flows": [{"name": "f1", "tx_endpoint": "q1", "rocev2_verb": {"choice": "write"},
     "message_size": 64, "message_size_unit": "kb"}]}}}]}]}],
 "options": {"per_port_options": [{"port_name": "p1", "protocols": [{"choice": "rocev2", "rocev2":
   {"cnp": {"cnp_delay_timer": 50}, "connection_type": {"choice": "reliable_connection", "reliable_connection":
     {"retransmission_timeout_value": 5, "retransmission_retry_count": 3}}}}]}]}}
END
exits 0 "$XDP_ROCE" --json run --import otg "$scratch/otg.json" --on virtual --set duration=2ms
assert_json "$scratch/last.out" '.verdict == "pass" and .flows[0].name == "f1" and (.flows[0].rate_bps > 45e9 and .flows[0].rate_bps < 51e9)'
sed 's/"dscp"/"dcsp"/' "$scratch/otg.json" >"$scratch/wrong.json"
refused "'dcsp' is not a key of reliable_connection" "$XDP_ROCE" run --import otg "$scratch/wrong.json"
