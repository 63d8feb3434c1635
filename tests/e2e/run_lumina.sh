#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `run --import lumina`: a configuration as Lumina has them becomes an experiment, whose events hit exactly the packets that it
# names: shown by captures before and after, in tshark. And `--import otg`, which runs in virtual time.
. "$(dirname "$0")/run_lib.sh"
need_root
need jq tshark python3

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
everywhere='capture=[left, right, receivers]'
measures 0 --import lumina "$scratch/lumina.yml" --scale 1/50 --set "$everywhere" --out "$scratch/out"
assert_json "$scratch/last.out" '[.flows[].name] == ["qp-0", "qp-1", "qp-2", "qp-3"] and ([.rules[].acted] == [1, 1, 1, 1]) and
  .flows[0].cnps == 1 and .flows[1].naks == 2 and .flows[2].naks == 1 and .flows[3].retransmitted == 0'

# In virtual time, at the rates of the file, the same events have the same effects.
effects() { jq -c '[.rules[] | [.words, .acted]], [.flows[] | [.name, .cnps, .naks, .timeouts]]' "$1"; }
exits 0 "$XDP_ROCE" run --import lumina "$scratch/lumina.yml" --on virtual --set "$everywhere" --out "$scratch/virtual"
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
# What Lumina's analysers ask: each event with its packet and what came of it, in both places.
answers() {
  local result=$1/result.json
  assert_json "$result" '.events | (map([.rule, .flow, .packet, .did]) | sort) ==
    [["event-1", "qp-0", 5, "marked CE"], ["event-2", "qp-1", 4, "dropped"], ["event-3", "qp-1", 6, "dropped"], ["event-4", "qp-2", 8, "corrupted the iCRC"]]'
  # The retransmission that each lost packet has is of its QP, for its PSN.
  assert_json "$result" '.retransmissions as $r | [.events[] | select(.rule != "event-1")] | length == 3 and all(. as $e | $r[.retransmission - 1] |
    .dest_qp == $e.dest_qp and .first_missing_psn == $e.psn and .missing == 1 and .cause == "nak" and .at_ns > $e.at_ns)'
  assert_json "$result" '.retransmissions | length == 3 and all(.nak_generation_ns > 0 and .nak_reaction_ns > 0 and .recovery_ns + 2 >= .nak_generation_ns + .nak_reaction_ns)'
  assert_json "$result" '.go_back_n | length == 4 and (map(select(.flow == "qp-1"))[0] | .gaps == 2 and .naks == 2 and .resumes_at_missing and .naks_once_a_gap) and
    (map(select(.flow == "qp-3"))[0] | .gaps == 0 and .resumes_at_missing == null) and all(.wrong_psn_resumed == 0 and .repeated_nak == 0)'
  assert_json "$result" '(.events[] | select(.rule == "event-1").cnp_ns) > 0 and (.cnp_pacing | length == 1 and .[0].marked == 1 and .[0].cnps == 1 and
    .[0].qps_without_ce == 0 and .[0].qps_without_cnp == 0)'
  assert_json "$result" '(.count_checks | length == 10 and all(.equal)) and .not_answered == []'
  # What the importer expects of them holds, of each event by its packet.
  assert_json "$result" '[.expectations[] | select(.text | test("events")) | [.text, .holds]] == [["all(events('"'event-1'"'), packet == 5)", true],
    ["all(events('"'event-2'"'), packet == 4)", true], ["all(events('"'event-3'"'), packet == 6)", true], ["all(events('"'event-4'"'), packet == 8)", true],
    ["min(events.recovered) == 1", true]]'
  grep -q '"title":"RETRANSMISSIONS"' "$1/report.html" || fail "no table of retransmissions in report.html"
}
answers "$scratch/out"
answers "$scratch/virtual"
# frame_of CAPTURE NUMBER: the PSN and the time of that frame, from tshark.
frame_of() { tshark -r "$1" -Y "frame.number == $2" -T fields -e infiniband.bth.psn -e frame.time_epoch 2>/dev/null; }
for rule in event-1 event-2 event-3 event-4; do
  event=$(jq -c --arg rule "$rule" '.events[] | select(.rule == $rule)' "$scratch/out/result.json")
  assert_eq "$(jq .psn <<<"$event")" "$(frame_of "$scratch/out/left.pcapng" "$(jq .frame <<<"$event")" | cut -f 1)" "PSN of the frame of $rule"
done
# For the dropped packet 3 of QP 1: times of the next one that passed, of the NAK and of the packet sent again, at the wire's two ports.
event=$(jq -c '.events[] | select(.rule == "event-2")' "$scratch/virtual/result.json")
psn=$(jq .psn <<<"$event")
split=$(python3 - "$psn" <(tshark -r "$scratch/virtual/left.pcapng" -Y 'infiniband.bth.destqp == 0x12' -T fields -e infiniband.bth.psn -e frame.time_epoch 2>/dev/null) \
  <(tshark -r "$scratch/virtual/right.pcapng" -Y 'infiniband.aeth.syndrome == 0x60' -T fields -e infiniband.bth.psn -e frame.time_epoch 2>/dev/null) <<'END'
import sys
from decimal import Decimal
psn = int(sys.argv[1])
left = [(int(p), Decimal(t)) for p, t in (line.split() for line in open(sys.argv[2]))]
naks = [(int(p), Decimal(t)) for p, t in (line.split() for line in open(sys.argv[3]))]
seen = min(t for p, t in left if p > psn)
nak = min(t for p, t in naks if p == psn)
again = [t for p, t in left if p == psn][1]
print(int((nak - seen) * 10**9), int((again - nak) * 10**9))
END
)
assert_eq "$(jq -r --argjson psn "$psn" '.retransmissions[] | select(.first_missing_psn == $psn) | "\(.nak_generation_ns) \(.nak_reaction_ns)"' "$scratch/virtual/result.json")" \
  "$split" "NAK generation and reaction"

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
 "stateful_flows": {"choice": "rocev2", "rocev2": [{"tx_ports": [{"port_name": "p1", "transmit_type": {"choice": "target_line_rate",
   "target_line_rate": {"value": 50, "flows": [{"name": "f1", "tx_endpoint": "q1", "rocev2_verb": {"choice": "write"},
     "message_size": 64, "message_size_unit": "kb"}]}}}]}]},
 "options": {"per_port_options": [{"port_name": "p1", "protocols": [{"choice": "rocev2", "rocev2":
   {"cnp": {"cnp_delay_timer": 50}, "connection_type": {"choice": "reliable_connection", "reliable_connection":
     {"retransmission_timeout_value": 5, "retransmission_retry_count": 3}}}}]}]}}
END
exits 0 "$XDP_ROCE" --json run --import otg "$scratch/otg.json" --on virtual --set duration=2ms
assert_json "$scratch/last.out" '.verdict == "pass" and .flows[0].name == "f1" and (.flows[0].wire_bps > 45e9 and .flows[0].wire_bps < 51e9)'
sed 's/"dscp"/"dcsp"/' "$scratch/otg.json" >"$scratch/wrong.json"
refused "'dcsp' is not a key of reliable_connection" "$XDP_ROCE" run --import otg "$scratch/wrong.json"
