#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# More than 1,000 changes of rules and links under traffic: every frame arrives once, as tshark reads their
# PSNs at the other end. Streams that a rule or a link holds all the while keep their order, also the one
# whose delay is replaced; a stream whose only rule comes and goes may be overtaken by itself. A command that
# takes long does not stop the process.
. "$(dirname "$0")/wire_lib.sh"
need tshark ping flock taskset
lane3
begin_wire

# Rules that hold: QP 5 the same in both sets, QP 6 with another delay, 22 that match nothing here.
rule_set() {
  printf 'rules:\n  - dest-qp 5 delay 2ms name base\n  - dest-qp 6 delay %s name other\n' "$1"
  for ((i = 0; i < 22; i++)); do printf '  - dest-qp 0x1%02x delay %s name r%d next\n' "$i" "$1" "$i"; done
}
rule_set 1ms >"$scratch/one.yaml"
rule_set 4ms >"$scratch/two.yaml"
# do_ COMMAND...: and count it as so many changes.
changes=0
do_() {
  local count=$1
  shift
  keep xr "$@" || fail "$*: $(cat "$scratch/last.err")"
  changes=$((changes + count))
}
do_ 24 impair box0 apply "$scratch/one.yaml"
do_ 1 link box1 rate 1gbit delay 1ms

observe_right "$scratch/right.pcap" udp port 4791
"$XDP_ROCE" --netns "$left" --json send left0 dst 192.0.2.2 dst-mac "$right_mac" qp 5 qps 3 psn 1 send size 64 rate 2kpps \
  --for 600s >"$scratch/sent" 2>"$scratch/sent.err" &
load=$!
background+=("$load")
some_left() { xr --json link box1 show | jq -e '.queue.frames_out > 100' >/dev/null; }
wait_for 30 some_left || fail "no traffic: $(cat "$scratch/sent.err")"
for ((round = 0; changes < 1050; round++)); do
  do_ 23 impair box0 apply "$scratch/two.yaml"
  do_ 1 impair box0 add name once dest-qp 7 delay 3ms
  do_ 1 impair box0 disable once
  do_ 1 link box1 rate 100mbit delay 3ms buffer 2M
  do_ 1 impair box0 enable once
  do_ 1 impair box0 del once
  do_ 23 impair box0 apply "$scratch/one.yaml"
  do_ 1 link box1 rate 1gbit delay 1ms
done
kill -INT "$load"
wait "$load" || fail "send: $(cat "$scratch/sent.err")"
sent=$(jq .sent.packets "$scratch/sent")
((sent > 3000)) || fail "only $sent frames were sent"
observed "$sent"
xr --json link box0 show >"$scratch/link"
end_wire

fields() { tshark -r "$scratch/right.pcap" -T fields -e infiniband.bth.destqp -e infiniband.bth.psn 2>/dev/null; }
fields >"$scratch/psns"
assert_eq "$sent" "$(wc -l <"$scratch/psns")" "frames that arrived"
assert_eq "$sent" "$(sort -u "$scratch/psns" | wc -l)" "different frames that arrived"
# late DESTQP: packets that came after one with a higher PSN.
late() { awk -v qp="0x00000$1" '$1 == qp { late += $2 < most; if ($2 > most) most = $2; n++ } END { print n ? late + 0 : "no packets" }' "$scratch/psns"; }
echo "$changes changes, $sent frames; $(late 7) of the stream without a rule of its own came late"
wire_said '.first_in.left > 3000 and .first_in.taken == .first_in.left'
wire_said '.ports[0].lost | del(.unknown_rules) | add == 0'
# A process that gets no processor for longer than the time between two changes misses a set of rules: it
# counts the frames that these would have held.
unknown=$(jq '.first_lost.unknown_rules // 0' "$scratch/wire.out")
if ((unknown > 0)); then
  echo "the order is not compared: rules of $unknown frames were replaced before the process read them"
else
  assert_eq 0 "$(late 5)" "late packets of the stream with the same rule"
  assert_eq 0 "$(late 6)" "late packets of the stream whose delay is replaced"
fi

# With one thread, while another process has the lock of all commands for 5 s.
taskset -c 0 "$XDP_ROCE" --netns "$box" --json wire box0 box1 >"$scratch/wire.out" 2>"$scratch/wire.err" &
wire_pid=$!
background+=("$wire_pid")
wait_for 30 wire_runs || fail "wire does not run: $(cat "$scratch/wire.err")"
xr impair box0 add non-roce delay 5ms >/dev/null
rtt 5 >/dev/null
in_background flock /run/xdp-roce/lock sleep 5
is_taken() { ! flock --nonblock --shared /run/xdp-roce/lock true; }
wait_for 10 is_taken || fail "the lock is not taken"
read -r _ _ most < <(rtt 150)
within "longest RTT while the lock is taken, us" "$most" 5000 3000000
grep -q ' 0% packet loss' "$scratch/ping" || fail "frames waited for the lock: $(cat "$scratch/ping")"
wait "${background[-1]}" || fail "flock"
unset 'background[-1]'
end_wire
wire_said '.wire.threads == 1'
