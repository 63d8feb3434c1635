#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Live frames between namespaces: what arrives is complete, in order and right byte by byte, for
# every network and opcode place, for 10,000 QPs, several threads and rates; what they cannot do is
# refused, and `auto` says which engine it took and why.
. "$(dirname "$0")/traffic_lib.sh"
need jq setpriv tcpdump tshark
lane 4200 2
before=$(kernel_objects)

# A veth whose other end has neither XDP nor GRO.
if [[ $(uname -r | cut -d. -f1) -ge 7 || $(uname -r) =~ ^6\.([3-9]|[1-9][0-9]) ]]; then
  refused 'takes no frames that are redirected to it' xt send tx0 "${v4[@]}" "${at[@]}" send size 1k messages 5 --engine live
  grep -q 'ethtool -K' "$scratch/last.err" || fail "no hint: $(cat "$scratch/last.err")"
fi
xr attach rx0 --streams 16384
xt send tx0 "${v4[@]}" "${at[@]}" send size 1k messages 1 --engine live >/dev/null 2>"$scratch/first.err" || {
  grep -q 'no live frames' "$scratch/first.err" && skip "$(head -n 1 "$scratch/first.err")"
  fail "$(cat "$scratch/first.err")"
}
await_frames 1

# What needs answers or other frames is refused, with the other engine as a hint.
no() {
  local words=$1
  shift
  misused "$words" xt send tx0 "$@" --engine live
  grep -qE '^hint: ' "$scratch/last.err" || fail "no hint: $(cat "$scratch/last.err")"
}
flow=("${v4[@]}" "${at[@]}")
no 'reliable: live frames wait for no answers' "${flow[@]}" send size 1k messages 5 --reliable
no 'listen: live frames see no answers' "${flow[@]}" send size 1k messages 5 --listen
no 'cc: live frames' "${flow[@]}" send size 1k messages 5 cc dcqcn line 10gbit
no 'stamp: live frames' "${flow[@]}" send size 1k messages 5 stamp
no 'fault: live frames' "${flow[@]}" send size 1k messages 5 fault icrc every 2
no 'opcode: live frames' "${flow[@]}" opcode CNP,RC_SEND_ONLY size 1k messages 5
no 'size: live frames' "${flow[@]}" send size 1k,4k messages 5
no 'pfc: live frames' pfc 3 storm line 10gbit for 1s
no 'replay: live frames' replay "$(capture rc_send_cm_v4)"
refused '4154 bytes are too long for live frames' xt send tx0 "${flow[@]}" send size 64k pmtu 4096 messages 5 --engine live
no 'several flows have a rate each' --flow "${flow[*]} qp 1 send size 64" --flow "${flow[*]} qp 2 send size 64" --rate 1kpps

# seen_well FILE FRAMES: each frame is right, for `analyze` and for tshark.
seen_well() {
  assert_eq "[$2,0,0,0,0,0]" "$(analyzed '[.icrc.checked, .icrc.bad, .frames.malformed] +
    ([.streams[] | .gaps, .duplicates, .rewinds, .reordered, .missing] | [add, max]) +
    [[.streams[] | .skipped] | add]' "$1")" "frames, bad iCRCs, malformed and PSN errors of $1"
}
# watched_live FRAMES WORDS...
watched_live() {
  local frames=$1
  shift
  observe_rx "$scratch/live.pcap"
  send "$@" --engine live
  assert_sent ".finished and .sent.packets == $frames and .engine.name == \"live\" and ([.overflow | del(.schedule_given_up_ms) | .[]] | add) == 0"
  observed_rx "$frames"
  seen_well "$scratch/live.pcap" "$frames"
  assert_eq "$(sent_of .sent.bytes)" "$(jq .bytes.total "$scratch/analyzed.json")" "bytes of: $*"
  no_sums_bad "$scratch/live.pcap"
}
# Messages of 10 packets with FIRST, MIDDLE and a LAST that is shorter; and of one packet.
for network in "${v4[*]}" "${v6[*]}" "${v4[*]} vlan 7/3" "${v6[*]} vlan 9,10" "${v4[*]} v1"; do
  read -ra words <<<"$network"
  watched_live 4000 "${words[@]}" "${at[@]}" qp 0x20 qps 20 write size 10001 pmtu 1024 messages 20 rate 40kpps psn 0xffff00
  assert_analyzed '[.opcodes[] | [.opcode, .packets]] | sort == [[6, 400], [7, 3200], [8, 400]]'
done
# The order of opcodes, PSNs, AckReq and QPs, by tshark's fields.
watched_live 600 "${flow[@]}" qp 0x30 qps 3 send size 5000 pmtu 1024 messages 40 ack-every 2 psn 0xfffff0 rate 20kpps
tshark -r "$scratch/live.pcap" -T fields -e infiniband.bth.destqp -e infiniband.bth.psn -e infiniband.bth.opcode \
  -e infiniband.bth.a -e udp.length 2>/dev/null >"$scratch/fields"
python3 - "$scratch/fields" <<'PYTHON' || fail "order: $(head -n 5 "$scratch/fields")"
import sys
rows = [line.split("\t") for line in open(sys.argv[1])]
assert len(rows) == 600, len(rows)
for i, (qp, psn, opcode, ask, length) in enumerate(rows):
    k = i // 3  # of its QP
    place = k % 5
    assert int(qp, 0) == 0x30 + i % 3, (i, qp)
    assert int(psn, 0) == (0xfffff0 + k) % 2**24, (i, psn)
    assert int(opcode, 0) == (0 if place == 0 else 2 if place == 4 else 1), (i, opcode)
    payload = 1024 if place < 4 else 5000 - 4 * 1024
    assert int(length) == 8 + 12 + payload + 4, (i, length)
    wanted = place == 4 or (k + 1) % 2 == 0
    assert (ask.strip() in ("1", "True")) == wanted, (i, ask)
PYTHON
watched_live 300 "${flow[@]}" qp 0x40 qps 3 write size 1k messages 100 by message rate 20kpps
watched_live 300 "${v6[@]}" "${at[@]}" qp 0x40 transport ud send size 700 messages 300 rate 20kpps

# 10,000 QPs in turn as fast as possible, counted by the port's program: no gap, nothing lost.
zero() { xr detach rx0 >/dev/null && xr attach rx0 --streams 16384; }
zero
send "${flow[@]}" qp 0x10000 qps 10000 send size 300 pmtu 256 messages 20 --engine live
assert_sent '.sent.packets == 400000 and .sent.messages == 200000 and .engine.batch > 0 and
  .engine.port_counted == 400000 and ([.overflow | del(.schedule_given_up_ms) | .[]] | add) == 0'
await_frames 400000
xr --json streams rx0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams | length == 10000 and (map(.dest_qp) | unique | length == 10000) and
  all(.packets == 40 and .messages == 20 and .gaps == 0 and .duplicates == 0 and .rewinds == 0 and .reordered == 0)'

# Two threads, each with QPs of its own. What they give to the veth too fast for its other end is lost, and counted.
zero
send "${flow[@]}" qp 0x10000 qps 8 send size 64 messages 20000 --threads 2 --engine live
assert_sent '.port.queues == 2 and .port.af_xdp == null and .sent.packets == 160000 and
  .overflow.not_taken == 160000 - .engine.port_counted and .overflow.not_taken == .overflow.port_dropped'
await_frames "$(sent_of .engine.port_counted)"
xr --json streams rx0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" ".streams | length == 8 and all(.reordered == 0 and .duplicates == 0 and .rewinds == 0)
  and (map(.packets) | add) == $(sent_of .engine.port_counted) and (map(.skipped) | add) <= $(sent_of .overflow.not_taken)"
# Rates are exact together: 7 QPs among three threads.
zero
send "${flow[@]}" qp 0x10000 qps 7 send size 64 messages 300 rate 21kpps --threads 3 --engine live
assert_sent '.port.queues == 3 and .sent.packets == 2100 and .asked.packets_per_second == 21000 and .seconds > 0.099'
await_frames 2100
# For a time.
zero
send "${flow[@]}" qp 0x11 send size 64 for 300ms --engine live
assert_sent '.finished and .seconds > 0.29 and .seconds < 5 and .sent.packets > 10000'
await_frames "$(sent_of .sent.packets)"

# Rates: as many as asked, and how evenly. A busy machine may take more time than a schedule can make up for.
zero
send "${flow[@]}" qp 0x11 qps 4 send size 64 rate 200kpps for 500ms --engine live
assert_sent '(.sent.packets + 200 * .overflow.schedule_given_up_ms | . > 99500 and . <= 100010) and .asked.packets_per_second == 200000
  and ([.times[] | .what] == ["late", "jitter"])'
await_frames "$(sent_of .sent.packets)"
send "${flow[@]}" qp 0x11 send size 64 rate 200pps for 500ms --engine live
assert_sent '.sent.packets + .overflow.schedule_given_up_ms / 5 | . > 98 and . < 102'
send "${flow[@]}" qp 0x11 send size 64 messages 1000 start 200ms --rate 100kpps --engine live
assert_sent '.sent.packets == 1000 and .seconds > 0.2 and .asked.packets_per_second == 100000'

# Without a place of its own, it sends all the same, in longer calls.
few=-all,+bpf,+perfmon,+net_admin,+net_raw,+ipc_lock
ip netns exec "$sender_netns" setpriv --bounding-set "$few" --inh-caps "$few" "$XDP_ROCE" --json send "$sender_port" "${flow[@]}" qp 0x11 \
  send size 64 messages 3000 rate 100kpps --engine live >"$scratch/send.json" 2>"$scratch/last.err" || fail "few capabilities: $(cat "$scratch/last.err")"
assert_sent '.sent.packets == 3000 and (.engine.why | test("25 ms: cannot make a network namespace"))'

# auto: live where it can and is worth it.
auto() {
  local name=$1 why=$2
  shift 2
  send "$@" --engine auto
  assert_sent ".engine.name == \"$name\" and (.engine.why | test(\"$why\")) and .finished"
}
auto live 'need no answers' "${flow[@]}" qp 0x11 send size 64 messages 1000
auto afxdp 'keeps rates this low' "${flow[@]}" qp 0x11 send size 64 messages 100 rate 10kpps
auto afxdp 'faults' "${flow[@]}" qp 0x11 send size 64 messages 100 fault icrc every 10
auto afxdp 'too long for live frames' "${flow[@]}" qp 0x11 send size 64k pmtu 4096 messages 2
send "${flow[@]}" qp 0x11 send size 64 messages 10
assert_sent 'has("engine") | not'
keep xt send tx0 "${flow[@]}" qp 0x11 send size 64 messages 1000 --engine live || fail "$(cat "$scratch/last.err")"
grep -qE 'sent by +live' "$scratch/last.out" || fail "the engine is not in: $(cat "$scratch/last.out")"

xr detach rx0
wait_for 10 nothing_since "$before" || fail "left behind: $(since "$before" | paste -sd ,)"
