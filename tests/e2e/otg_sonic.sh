#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SONiC's RoCEv2 checks (tools/otg/sonic_checks.py) against `serve`: green on a wire; with one packet lost, what a NAK and a
# retransmission change is red and nothing else; with marks, the columns of ECN and CNPs are what a bridge counted.
. "$(dirname "$0")/otg_lib.sh"
need python3
lane3
direct
before=$(kernel_objects)
serve

# checks STATUS PORTS OPTIONS...: TAP in $scratch/tap, the conditions that are red in $scratch/red, columns by `column`.
# Latencies here are those of a busy machine, no switch's.
checks() {
  local status=0
  "$otg_tools/sonic_checks.py" --location "$location" --ports "$2" --network 198.51.100 --seconds 2 --speed 1 --line-rate 20 --latency 1000000000 \
    --message-size 128kb --tap --columns --junit "$scratch/junit.xml" "${@:3}" >"$scratch/tap" 2>"$scratch/last.err" || status=$?
  assert_eq "$1" "$status" "exit status of the checks ($(grep -A 3 -h '^not ok' "$scratch/tap") $(cat "$scratch/last.err"))"
  sed -n 's/^not ok [0-9]* - .*QPs\{0,1\}: //p' "$scratch/tap" | sort >"$scratch/red"
}
# The sum of a column over QPs.
column() { awk -v name="$1" '$1 == name { for (i = 2; i <= NF; i++) sum += $i } END { print sum + 0 }' "$scratch/tap"; }
one_plan() {
  local lines
  lines=$(grep -cE '^(not )?ok ' "$scratch/tap")
  grep -qx "1\.\.$lines" "$scratch/tap" || fail "the plan of TAP is not $lines"
  assert_eq "$lines" "$(grep -c '<testcase ' "$scratch/junit.xml")" "test cases of JUnit"
  assert_eq "$(grep -c '^not ok' "$scratch/tap")" "$(grep -c '<failure ' "$scratch/junit.xml")" "failures of JUnit"
  python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$scratch/junit.xml" || fail "JUnit is no XML"
}

checks 0 "$left/direct0,$right/direct1" --qps 4
one_plan
# A fifth of a gigabit for two seconds: the conditions are not green because nothing passed.
(($(column rx_bytes) > 25000000)) || fail "only $(column rx_bytes) bytes arrived"
# Two ways at once: the same of each.
checks 0 "$left/direct0,$right/direct1" --qps 2 --both-ways
one_plan
grep -q '^ok .* Port 1 -> Port 0, 2 QPs: data_frames_rx > 0$' "$scratch/tap" || fail "no way back: $(cat "$scratch/tap")"
# Every condition on a number that is above its limit is red.
checks 1 "$left/direct0,$right/direct1" --qps 2 --latency 1 --expect-cnp
one_plan
assert_eq "avg_latency <= 1 ns|cnp_tx > 0|ecn_ce_rx > 0" "$(paste -sd '|' "$scratch/red")" "conditions that are red"

# One packet of the second QP is lost on its first way: a gap, a NAK, and what was sent again.
bridge
keep xr impair box0 add name loss qp 0x22 psn 50 iter 1 drop || fail "rule: $(cat "$scratch/last.err")"
checks 1 "$left/left0,$right/right0" --qps 2
one_plan
assert_eq 1 "$(xr --json impair box0 list | jq '.rules[0].acted')" "packets that the rule dropped"
assert_eq "data_frames_retransmitted == 0|frame_delta == 0|frame_sequence_error == 0|nak_rx == 0|nak_tx == 0" \
  "$(paste -sd '|' "$scratch/red")" "conditions that are red after a loss"
assert_eq 1 "$(column frame_delta)" "frames lost"
assert_eq "1 1" "$(column nak_tx) $(column nak_rx)" "NAKs sent and received"
! grep -A 1 '^not ok' "$scratch/tap" | grep 'QP0_0' || fail "the other QP is named"

# Marks of RED, which two QPs send faster than its queue drains: CE and CNPs are what the bridge counted.
keep xr impair box0 clear
keep xr impair box0 add ecn ect0 red 10k 100k 50% rate 100mbit max 100M || fail "rule: $(cat "$scratch/last.err")"
seen_cnps() { xr --json counters box1 | jq '[.opcodes[] | select(.name == "CNP") | .packets] | add // 0'; }
cnps=$(seen_cnps)
checks 0 "$left/left0,$right/right0" --qps 2 --ecn ect_0 --expect-cnp
marked=$(xr --json impair box0 list | jq '.rules[0].acted')
((marked > 100)) || fail "only $marked packets were marked"
assert_eq "$marked" "$(column ecn_ce_rx)" "ecn_ce_rx, and packets that the rule marked"
(($(column cnp_tx) > 10)) || fail "only $(column cnp_tx) CNPs"
assert_eq "$(($(seen_cnps) - cnps))" "$(column cnp_tx)" "cnp_tx, and CNPs that the bridge counted"
assert_eq "$(column cnp_tx)" "$(column cnp_rx)" "CNPs sent and received"
unbridge

# What is wrong is said, with status 2.
status=0
"$otg_tools/sonic_checks.py" --location "$location" --ports "$left/direct0,$right/gone0" 2>"$scratch/last.err" || status=$?
assert_eq 2 "$status" "status with a port that is not there"
grep -q 'POST /config: status 400: .*gone0' "$scratch/last.err" || fail "no sentence: $(cat "$scratch/last.err")"
end_serve
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"
status=0
"$otg_tools/sonic_checks.py" --location "$location" --ports "$left/direct0,$right/direct1" 2>"$scratch/last.err" || status=$?
assert_eq 2 "$status" "status without a server"
grep -q 'is the server there' "$scratch/last.err" || fail "no sentence: $(cat "$scratch/last.err")"
