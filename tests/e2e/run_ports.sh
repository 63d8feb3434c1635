#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `run --on ports`: in line between other hosts, as which `send` and `respond` play; with both ends of this tool; a process for each
# role, with a start that they agree on. What it cannot do is refused; after a kill -9 the next run detaches what was left.
. "$(dirname "$0")/traffic_lib.sh"
need_root
need jq ip
lane3
wired=(--on ports "left=box0,right=box1")

cat >"$scratch/inline.yaml" <<'END'
experiment: in line
seed: 1
duration: 10s
sample: 20ms
measure: {from: 0s}
topology:
  star: {senders: 2, rate: 20mbit, delay: 200us}
queue: {words: "buffer 1MB"}
congestion: none
reliability: {timeout: 16}
flows:
  - {name: hurt, from: sender-1, to: receiver, words: "write size 20k messages 10 rate 2mbit psn 1000"}
  - {name: spared, from: sender-2, to: receiver, words: "write size 20k messages 10 rate 2mbit psn 5000"}
rules:
  - "qp 1 psn 30 iter 1 drop name lose"
expect:
  - "rule('lose').acted == 1"
  - "flow('hurt').retransmitted > 0 and flow('spared').retransmitted == 0"
  - "min(flows.packets) >= 200"
  - "max(flows.goodput_bps) > 100kbit"
  - "queue('bottleneck').packets > 400"
END

# A run in $box in the background: its report is in $scratch/NAME.json when it has ended.
begin_run() {
  local name=$1
  shift
  endpoint_run "$box" "$name" "${wired[@]}" --out "$scratch/$name" "$@"
  wait_for 30 samples "$name" || fail "the run does not begin: $(cat "$scratch/$name.json.err")"
}
endpoint_run() {
  local ns=$1 name=$2
  shift 2
  in_background endpoint "$scratch/$name.json" --json --netns "$ns" run "$scratch/inline.yaml" "$@"
  running=${background[-1]}
}
samples() {
  kill -0 "$running" 2>/dev/null || fail "the run ended: $(cat "$scratch/$name.json.err" "$scratch/$name.json")"
  grep -qsE ',(flow|queue|total),' "$scratch/$1/series.csv"
}
# end_run STATUS NAME PID
end_run() {
  local status=0
  wait "$3" || status=$?
  forget "$3"
  has_ended "$1" "$status" "$2"
}
has_ended() {
  assert_eq "$1" "$2" "exit status of the run $3 ($(cat "$scratch/$3.json.err"; jq -c '[.why_void, .expectations]' "$scratch/$3.json"))"
}
# in_line STATUS NAME TRAFFIC ARGUMENT...: a run with that traffic; again, and longer, where the machine was too busy to measure, or
# to send all of it within the run: the bridge goes with the run.
in_line() {
  local wanted=$1 name=$2 traffic=$3 status whole seconds
  shift 3
  for seconds in 4 10 10 10; do
    begin_run "$name" --set "duration=${seconds}s" "$@"
    whole=0
    "$traffic" && kill -0 "$running" 2>/dev/null && whole=1
    status=0
    wait "$running" || status=$?
    forget "$running"
    if ((whole)) && { ((status != 1)) || ! grep -q 'too busy' "$scratch/$name.json"; }; then break; fi
    rm -rf "${scratch:?}/$name"
  done
  ((whole)) || fail "the run ended before the traffic: $(cat "$scratch/last.err")"
  has_ended "$wanted" "$status" "$name"
}
# Each life of a QP begins far from the one before, as the responder takes what is near for a retransmission.
psn=0
traffic_from_other_hosts() {
  psn=$((psn + 0x300000))
  keep "$XDP_ROCE" --netns "$left" send left0 --reliable --timeout 16 \
    --flow "dst 192.0.2.2 qp 0x11 write size 20k messages 10 rate 2mbit psn $psn" \
    --flow "dst 192.0.2.2 qp 0x12 write size 20k messages 10 rate 2mbit psn $psn start 50ms"
}
# attached NETNS: this scenario's ports with a program or pins. A namespace may have the number of a previous one, whose pins remain.
attached() {
  "$XDP_ROCE" --netns "$1" --json status |
    jq -r '.attachments[].interface | select(test("^(box|left|right|end)[01]$"))' | paste -sd ' '
}
nothing_left() {
  local ns
  for ns in "$left" "$box" "$right"; do assert_eq "" "$(attached "$ns")" "attached in $ns $1"; done
}

# In line: the flows are other hosts', the file's in their order.
respond on "$right" right0
in_line 0 green traffic_from_other_hosts
assert_json "$scratch/green.json" '.place == "ports" and .verdict == "pass" and [.flows[].qp] == [17, 18] and .rules[0].acted == 1 and
  all(.flows[]; .fct_ns == null and .drops == null and .start_ns == null and .packets >= 200) and .other_qps == 0'
[[ -s $scratch/green/report.html ]] || fail "no report.html"
grep -q "^note: run: xdp-roce --netns $box run .* --role wire --at 20..-" "$scratch/green.json.err" || fail "no command: $(cat "$scratch/green.json.err")"
assert_eq "" "$(attached "$box")" "attached after the run"

# One turned round.
in_line 3 red traffic_from_other_hosts --set "expect=[\"rule('lose').acted == 0\", \"min(flows.packets) >= 200\"]"
assert_json "$scratch/red.json" '[.expectations[].holds] == [false, true] and .expectations[0].row == "lose"'

# A queue that pauses the other hosts by PFC: they send at four times its rate, and nothing is lost. Without PFC much is.
# The path is long, so that frames may be late on a busy machine.
lossless=(--set rules=[] --set topology.star.delay=20ms --set "expect=[\"queue('bottleneck').dropped == 0\", \"queue('bottleneck').packets > 1000\"]")
fast_traffic_from_other_hosts() {
  psn=$((psn + 0x300000))
  keep "$XDP_ROCE" --netns "$left" send left0 --reliable --timeout 16 \
    --flow "dst 192.0.2.2 qp 0x11 qps 2 write size 20k messages 30 rate 80mbit psn $psn"
}
in_line 0 pfc fast_traffic_from_other_hosts "${lossless[@]}" --set 'queue.words=buffer 60k pfc xoff 40k xon 20k headroom 2M priorities 0'
grep -q 'PFC received' "$scratch/last.out" || fail "the sender got no PFC frame: $(cat "$scratch/last.out")"
assert_json "$scratch/pfc.json" '.queues | length == 1 and .[0].pfc_sent > 1 and .[0].dropped == 0 and .[0].pauses == 0'
in_line 3 lossy fast_traffic_from_other_hosts "${lossless[@]}" --set 'queue.words=buffer 60k'
assert_json "$scratch/lossy.json" '.queues[0].pfc_sent == 0 and .expectations[0].value > 0'

# Without traffic nothing was measured.
begin_run void --set duration=500ms
end_run 1 void "$running"
assert_json "$scratch/void.json" '.verdict == "void" and any(.why_void[]; test("hurt: no request of its QPs came"))'

# Ended by a signal: void, and nothing remains.
begin_run term
kill -TERM "$running"
end_run 1 term "$running"
assert_json "$scratch/term.json" '.verdict == "void" and any(.why_void[]; test("the run ended at"))'
assert_eq "" "$(attached "$box")" "attached after SIGTERM"

# Killed: the next run detaches the ports.
begin_run killed
{ kill -KILL "$running"; wait "$running"; } 2>/dev/null || true
forget "$running"
assert_eq "box0 box1" "$(attached "$box")" "attached after a kill"
begin_run after --set duration=500ms
grep -q '^note: run: box0: detached, as the run that had attached it has ended' "$scratch/after.json.err" || fail "$(cat "$scratch/after.json.err")"
end_run 1 after "$running"
end_respond
nothing_left "after a run that was killed, and the next one"

# Both ends are this tool's, without a wire.
ip -n "$box" link add end0 type veth peer name end1
ip -n "$box" link set end0 up
ip -n "$box" link set end1 up
short=(--set duration=3s)
whole=(--set rules=[] --set schedule=[])
exits 0 xr --json run "$scratch/inline.yaml" --on ports send=end0,respond=end1 "${whole[@]}" "${short[@]}" --out "$scratch/ends" \
  --set 'expect=["max(flows.fct_ns) < 2s", "min(flows.bytes) between 180KB and 200KB", "sum(flows.timeouts) + sum(flows.naks) == 0"]'
assert_json "$scratch/last.out" '.verdict == "pass" and .queues == [] and all(.flows[]; .fct_ns > 0 and .packets == 200 and .drops == 0 and .retransmitted == null)'
nothing_left "after a run of both ends"

# A process for each role, on their own hosts, so to speak. Again, with more time before the start, where a busy machine needs it.
three=(--on ports "left=box0,right=box1,send=left0,respond=right0")
shared=(--set "expect=[\"rule('lose').acted == 1\", \"flow('hurt').naks == 1\", \"sum(flows.marked) == 0\", \"flow('hurt').retransmitted > 0\"]")
three_roles() {
  local role ns pids=()
  agreed=$(date -u -d "+$1 seconds" +%FT%TZ)
  for role in wire send respond; do
    case $role in wire) ns=$box ;; send) ns=$left ;; *) ns=$right ;; esac
    rm -rf "${scratch:?}/$role"
    endpoint_run "$ns" "$role" "${three[@]}" "${short[@]}" "${shared[@]}" --role "$role" --at "$agreed" --out "$scratch/$role"
    pids+=("$running")
  done
  statuses=''
  for running in "${pids[@]}"; do
    status=0
    wait "$running" || status=$?
    forget "$running"
    statuses+=$status
  done
}
for ahead in 8 30; do
  three_roles "$ahead"
  [[ $statuses != 000 ]] || break
done
for role in wire send respond; do
  has_ended 0 "${statuses:0:1}" "$role"
  statuses=${statuses:1}
done
assert_json "$scratch/wire.json" '[.expectations[].text] == ["rule('"'lose'"').acted == 1", "flow('"'hurt'"').retransmitted > 0"] and .flows[0].naks == null'
assert_json "$scratch/send.json" '[.expectations[].text] == ["flow('"'hurt'"').naks == 1"] and .queues == [] and .jain == null and .packets > 0'
! grep -q ',goodput_bps,' "$scratch/send/series.csv" || fail "the role send has samples of what it does not count"
assert_json "$scratch/respond.json" '[.expectations[].text] == ["sum(flows.marked) == 0"] and all(.flows[]; .fct_ns > 0)'
for role in wire send respond; do
  grep -q -- "--role $role --at $agreed" "$scratch/send.json.err" || fail "no command of $role: $(cat "$scratch/send.json.err")"
done
nothing_left "after the three roles"

# What is wrong, before anything runs.
no() { refused "$1" xr run "$scratch/inline.yaml" --on ports "${@:2}"; }
no 'box7: no such interface' left=box0,right=box7
no 'fct_ns is not measured here' left=box0,right=box1 --set 'expect=["max(flows.fct_ns) < 2s"]'
no 'a rule needs a wire' send=end0,respond=end1
no 'more than its' left=box0,right=box1 --set topology.star.rate=40gbit
grep -q '^hint: --scale 1/4' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
no 'hurt is not started or stopped here' left=box0,right=box1 --set 'schedule=[{at: 1s, do: "stop hurt"}]'
no 'there is no port senders' left=box0,right=box1 --set 'capture=[senders]' --out "$scratch/none"
fails() {
  exits 1 xr run "$scratch/inline.yaml" --on ports "${@:2}"
  grep -q -- "$1" "$scratch/last.err" || fail "no '$1': $(cat "$scratch/last.err")"
}
fails '198.19.0.1 does not answer ARP' send=end0 "${whole[@]}" --set 'expect=[]'
fails 'the ports were ready .* too late' send=end0,respond=end1 "${whole[@]}" --set 'expect=[]' --at +10ms
ip -n "$box" link set lo up
no 'does not report its speed' send=lo,respond=end1 "${whole[@]}" --set 'expect=[]'
xr attach box0 >/dev/null 2>&1
no 'it is attached already' left=box0,right=box1
xr detach box0 >/dev/null 2>&1
wrong() { exits 2 xr run "$scratch/inline.yaml" "$@"; }
wrong --on ports
wrong --on ports left=box0
wrong --on ports lft=box0,right=box1
wrong --on ports left=box0,right=box1 --role send
wrong "${three[@]}" --role send
wrong "${three[@]}" --role send --at 2020-01-01T00:00:00Z
wrong --on virtual --role wire
wrong --on ports left=box0,right=box1 --set 'sweep={seed: [1, 2]}'
grep -qz 'a sweep is not possible on ports.*a run for each point' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
nothing_left "after all"
