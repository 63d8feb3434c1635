#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bridge with one rule of each kind, each for a flow of its own: what arrives is counted by tcpdump.
# shellcheck disable=SC2154 # what the harness sets
. "$(dirname "$0")/checks.sh"
lane3
tidy() { :; }

flows=(pass drop probability ce set corrupt_icrc corrupt_payload police duplicate red cnp exact)
flow() { # NAME: its DestQP
  local i
  for i in "${!flows[@]}"; do [[ ${flows[i]} != "$1" ]] || echo $((0x100 + i)); done
}
rule() {
  local name=$1
  shift
  keep xr impair box0 add dest-qp "$(flow "$name")" "$@" || fail "add $*: $(cat "$scratch/last.err")"
}
# What the rule says that it did; rules are in the order of `flows`, without the first.
acted() {
  local i
  for i in "${!flows[@]}"; do [[ ${flows[i]} != "$1" ]] || jq ".rules[$((i - 1))].acted" "$scratch/rules.json"; done
}
# seen_of NAME [FILTER...]: frames of the flow that arrived on the right and pass tcpdump's filter.
seen_of() {
  local qp
  qp=$(flow "$1")
  shift
  packets "$scratch/right.pcap" "udp[12:4] & 0xffffff = $qp $*" | wc -l
}

forwards() {
  before=$(kernel_objects)
  bridge
  replay_left --stream --packets 10
  wait_for 20 arrived 10 || fail "$(came_in "$right" right0) of 10 frames arrived"
  xr detach box0
  assert_eq "" "$(on_hook "$box" box0)$(on_hook "$box" box1)" "programs on the hooks after detach"
  wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before" | paste -sd ,)"
}
arrived() { (($(came_in "$right" right0) >= $1)); }

# All rules at once, 40 packets for each; they come much faster than 125 kbit/s, however slow the processor is.
rules_go_in() {
  local cnp_qp
  cnp_qp=$(flow cnp)
  bridge
  rule drop every 4 drop
  rule probability probability 30% seed 5 drop
  rule ce ce force
  rule set set dscp 26
  rule corrupt_icrc every 2 corrupt icrc
  rule corrupt_payload every 2 corrupt payload
  rule police police 125kbit burst 4k
  rule duplicate every 4 duplicate
  rule red red 4k 8k 100% rate 125kbit force
  rule cnp ce force cnp interval 1us
  keep xr impair box0 add qp "$(printf '0x%x' "$(flow exact)")" psn 5 drop || fail "exact: $(cat "$scratch/last.err")"
  keep xr impair box0 peer 192.0.2.1 "$cnp_qp" '->' 77 || fail "peer: $(cat "$scratch/last.err")"
  observe_right "$scratch/right.pcap" udp port 4791
  observe_left "$scratch/left.pcap" udp port 4791
  replay_left --stream --packets 40 --flows ${#flows[@]} --first-qp 256 --payload 1024 --rate 4000
  await_frames "$(sent packets)" box0
  observed 1
  xr --json impair box0 list >"$scratch/rules.json"
  assert_json "$scratch/rules.json" '.rules | length == 11 and all(.acted > 0)'
  assert_eq 40 "$(seen_of pass)" "frames of the flow without a rule"
}
needs_rules() { [[ -s $scratch/rules.json ]] || fail "the rules did not go in"; }

# loses NAME [COUNT]: what tcpdump misses is what the rule says, and COUNT.
loses() {
  needs_rules
  assert_eq $((40 - $(acted "$1"))) "$(seen_of "$1")" "frames that arrived"
  [[ ! ${2:-} ]] || assert_eq "$2" "$(acted "$1")" "frames dropped"
}
# marks NAME FILTER COUNT: all arrive, COUNT of them pass tcpdump's filter.
marks() {
  needs_rules
  assert_eq 40 "$(seen_of "$1")" "frames that arrived"
  assert_eq "$3" "$(seen_of "$1" "and $2")" "frames with $2"
}
is_ce='ip[1] & 3 = 3'
marks_red() {
  local some
  needs_rules
  some=$(seen_of red "and $is_ce")
  assert_eq "$some" "$(acted red)" "frames marked, by tcpdump and by the rule"
  ((some > 10 && some < 40)) || fail "$some of 40 marked: none below KMIN, all above KMAX"
}
# The payload of each packet of the flow, and its iCRC, in hexadecimal.
payloads() {
  packets "$scratch/right.pcap" -t -x "udp[12:4] & 0xffffff = $(flow "$1")" | awk '
    /^\t0x/ { for (i = 2; i <= NF; i++) bytes = bytes $i; next }
    bytes { print substr(bytes, 2 * (20 + 8 + 12) + 1); bytes = "" }
    END { print substr(bytes, 2 * (20 + 8 + 12) + 1) }'
}
corrupts_payload() {
  local whole
  needs_rules
  whole=$(payloads pass | sort -u)
  assert_eq 1 "$(wc -l <<<"$whole")" "payloads of the flow without a rule"
  assert_eq "20 20" "$(payloads corrupt_payload | awk -v whole="$whole" '{ n[$0 == whole]++ } END { print n[0], n[1] }')" \
    "payloads that changed, and that did not"
}
duplicates() {
  needs_rules
  assert_eq 50 "$(seen_of duplicate)" "frames that arrived"
}
# CNPs: opcode 0x81 to the QP that was set, seen on the left.
sends_cnps() {
  local cnps
  marks cnp "$is_ce" 40
  cnps=$(packets "$scratch/left.pcap" 'udp[8] = 0x81 and udp[12:4] & 0xffffff = 77' | wc -l)
  ((cnps > 0 && cnps <= 40)) || fail "$cnps CNPs for 40 marks"
  assert_eq "$cnps" "$(xr --json counters box0 | jq .impaired.cnps_sent)" "CNPs, by tcpdump and by the port"
}

check bridge_forwards forwards
check bridge_rules rules_go_in
check rule_drop loses drop 10
check rule_probability loses probability
check rule_exact loses exact 1
check rule_police loses police
check rule_ce marks ce "$is_ce" 40
check rule_set marks set 'ip[1] >> 2 = 26' 40
check rule_red marks_red
# The iCRC covers the IP identification, and nothing else of a packet does.
check rule_corrupt_icrc marks corrupt_icrc 'ip[4:2] != 0' 20
check rule_corrupt_payload corrupts_payload
check rule_duplicate duplicates
check rule_cnp sends_cnps
echo END
((failures == 0))
