#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `analyze` says of captures that used to be misread: nobody answers, answers on another path, losses after the tap,
# a mirror that samples, a switch's own map of DSCP, atomics.
. "$(dirname "$0")/lib.sh"
need jq

# analyze FILE OPTIONS...: its report is in $scratch/report.json, its status in $status.
analyze() {
  local file
  file=$(capture "$1")
  shift
  status=0
  "$XDP_ROCE" --json analyze "$@" "$file" >"$scratch/report.json" 2>"$scratch/last.err" || status=$?
}
says() { assert_json "$scratch/report.json" ".summary.text | test(\"$1\")"; }
check_is() { assert_json "$scratch/report.json" ".checks[] | select(.check == \"$1\").status == \"$2\""; }

analyze cases/retry_exhausted --check
says '^QP 0x11: PSN 5 was sent 8 times and never answered. No PSN is missing before this tap'
check_is retries fail
assert_eq 3 "$status" "exit status"

analyze cases/marks_no_answers_here --check
check_is marks_answered unknown
assert_eq 0 "$status" "exit status"

analyze cases/sonic_dscp3 --check
check_is pfc_class unknown
analyze cases/sonic_dscp3 --check --dscp-map 3:3,4:4
check_is pfc_class ok
analyze cases/sonic_dscp3 --check --dscp-map div8
check_is pfc_class warn
echo '{"DSCP_TO_TC_MAP": {"AZURE": {"3": "3", "4": "4", "8": "0"}}}' >"$scratch/sonic.json"
analyze cases/sonic_dscp3 --check --dscp-map "$scratch/sonic.json"
check_is pfc_class ok
analyze cases/sonic_dscp3 --dscp-map 3:3
assert_eq 2 "$status" "--dscp-map without --check"
grep -q 'add --check' "$scratch/last.err" || fail "no hint: $(cat "$scratch/last.err")"

# Before the wire that dropped 66: nothing is missing here, and the NAKs are for what had passed.
analyze wire_m1500_drop100_vb_drv_rq-va --check
says '^Nothing lost before this tap: .* At least [0-9]+ packets were lost after this tap: a NAK requested'
check_is lossless warn
assert_json "$scratch/report.json" '[.streams[].lost_after] | add | . > 30 and . <= 66'
assert_json "$scratch/report.json" '[.streams[].lost_before] | add == 0'

analyze cases/erspan2_sampled_1_in_100 --decap auto
says '^The mirror session looks sampled, so that losses are not known: '
assert_json "$scratch/report.json" '(.summary.text | test("%.*lost") | not) and (.summary.facts[] | select(.name == "lost").value == null)'

# NAKs that brought nothing: the requester's timer is 1.07 s, its reactions are a few milliseconds.
analyze loss_rc_send_v4 --check
says 'the longest recovery took 1.11 s: its NAK brought no answer, a timer did'
check_is go_back_n warn
analyze loss_rc_send_v4 --episodes
assert_json "$scratch/report.json" '[.episodes[] | select(.cause == "nak" and .ended_by == "timer")] |
  length == 6 and all(.nak_reaction_ns == null and .timeout_ns > 1000000000)'
analyze loss_rc_read_v4 --check
says 'the implied NAK of its READ brought no answer, a timer did'

# Atomics are data: of the checks as of the summary.
analyze rc_atomic_faa_v6 --check
assert_json "$scratch/report.json" '.checks[] | select(.check == "data_ect").value | test("data packets")'
assert_json "$scratch/report.json" '.checks[] | select(.check == "one_class").value | test("^data with")'
