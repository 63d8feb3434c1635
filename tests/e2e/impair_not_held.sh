#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules that hold frames, on a bridge without a wire process: a note at `add` has the command that is
# missing, and the frames go on and count as not held, not as acted on. The kernel's counters of the
# far end are the second account. With the process they are held. And a rule that an earlier one
# leaves nothing to gets a note too. Last, a rule that the process cannot read.
. "$(dirname "$0")/wire_lib.sh"
need bpftool python3
lane3
bridge

frames=500
add() { xr impair box0 add "$@" >"$scratch/added" 2>"$scratch/notes" || fail "add $*: $(cat "$scratch/notes")"; }
noted() { grep -qF -- "$1" "$scratch/notes" || fail "no note '$1': $(cat "$scratch/notes")"; }
not_noted() { [[ ! -s $scratch/notes ]] || fail "a note: $(cat "$scratch/notes")"; }
# rule NAME FILTER: of `list`.
rule() { xr --json impair box0 list | jq -c ".rules[] | select(.name == \"$1\") | $2"; }
# send_to QP: that many frames, of which all arrive.
send_to() {
  local arrived
  arrived=$(got_by_right)
  ip netns exec "$left" "$XR_REPLAY" --ifname left0 --stream --flows 1 --payload 256 --packets "$frames" --rate 5000 \
    --first-qp "$1" >"$scratch/sent" || fail "the sender failed"
  all_arrived() { (($(got_by_right) - arrived >= frames)); }
  wait_for 10 all_arrived || fail "$(($(got_by_right) - arrived)) of $frames frames arrived"
}

declare -A holds=([delay]="delay 1ms" [reorder]="reorder depth 1" [shape]="shape 1gbit burst 16k queue 1M" [accumulate]="accumulate 4")
qp=0x100
for action in delay reorder shape accumulate; do
  # shellcheck disable=SC2086 # words
  add dest-qp "$qp" ${holds[$action]} name "$action"
  noted "does not $action frames until \`xdp-roce wire box0 box1\` runs"
  send_to "$qp"
  assert_eq "[$frames,0,0,$frames,0]" "$(rule "$action" '[.matched, .acted, .acted_bytes, .not_held, .ppm]')" "$action without a wire"
  qp=$((qp + 1))
done
xr impair box0 list >"$scratch/list"
grep -q 'NOT HELD' "$scratch/list" || fail "no column: $(cat "$scratch/list")"
assert_eq "$((4 * frames))" "$(xr --json counters box0 | jq .impaired.not_held)" "not_held of the port"

# What else a rule does, it has done; a rule after it with `next` counts for itself; a limit is not used up.
add dest-qp 0x200 set dscp 26 delay 1ms name both next
add dest-qp 0x200 every 2 delay 1ms name half next
add dest-qp 0x200 delay 1ms limit 10 name limited
send_to 0x200
assert_eq "[$frames,$frames,$frames]" "$(rule both '[.matched, .acted, .not_held]')" "a rule that also sets the DSCP"
assert_eq "[$frames,0,$((frames / 2))]" "$(rule half '[.matched, .acted, .not_held]')" "a rule for every second frame"
assert_eq "[$frames,0,$frames,0]" "$(rule limited '[.matched, .acted, .not_held, .limited]')" "a rule with a limit"

# Metrics have it.
xr export box0 --once >"$scratch/metrics"
grep -q "xdp_roce_rule_not_held_packets_total{.*delay.*} $frames" "$scratch/metrics" || fail "no metric: $(grep rule_ "$scratch/metrics")"

# Rules that match nothing: on `add`, `apply` and `enable`.
xr impair box0 clear >/dev/null
add roce probability 50% set dscp 26 name most
not_noted
add opcode data dest-qp 3-9 ce name none
noted "rule 2 matches no frame, as rule 1 takes all of them"
add non-roce drop
not_noted
add dest-qp 5 ce disabled name off
not_noted
xr impair box0 enable off 2>"$scratch/notes" || fail "enable"
noted "rule 4 matches no frame, as rule 1 takes all of them"
send_to 0x5
assert_eq "[0,0]" "[$(rule none .matched),$(rule off .matched)]" "matches of rules that can match nothing"
printf 'rules:\n  - src 192.0.2.0/24 ce\n  - src 192.0.2.1 drop\n  - src 192.0.2.0/24 delay 1ms\n' >"$scratch/rules.yaml"
for again in 1 2; do
  xr impair box0 apply "$scratch/rules.yaml" 2>"$scratch/notes" || fail "apply $again"
  noted "rule 2 matches no frame, as rule 1 takes all of them"
  noted "rule 3 matches no frame, as rule 1 takes all of them"
  noted "rule 3 does not delay frames"
done

# With the process, frames are held, and nothing is noted.
xr impair box0 clear >/dev/null
begin_wire
add dest-qp 0x300 delay 1ms name held
not_noted
send_to 0x300
assert_eq "[$frames,$frames,0]" "$(rule held '[.matched, .acted, .not_held]')" "with a wire"

# A rule whose text the process cannot read, as of another version: it says so, now and in its report, and counts its frames.
xr impair box0 clear >/dev/null
kill -STOP "$wire_pid"
add dest-qp 0x400 delay 1ms name other
python3 - "$XR_BPFFS"/xdp-roce/*/rule_notes <<'END' || fail "the rule's text was not changed"
import json, subprocess, sys
changed = 0
for pin in sys.argv[1:]:
    for entry in json.loads(subprocess.check_output(["bpftool", "-j", "map", "dump", "pinned", pin])):
        value = bytes(int(byte, 16) for byte in entry["value"])
        if b" delay 1ms name other" in value:
            value = value.replace(b" delay ", b" tarry ")
            subprocess.check_call(["bpftool", "map", "update", "pinned", pin, "key", *entry["key"], "value", *(hex(b) for b in value)])
            changed += 1
sys.exit(changed != 1)
END
kill -CONT "$wire_pid"
unread_rules() { xr --json link box0 show | jq .lost.rules_unread; }
has_noted() { grep -q "note: wire box0 box1: box0: rule 1 holds no frames: it was written by another version: 'tarry'" "$scratch/wire.err"; }
wait_for 10 has_noted || fail "it says nothing: $(cat "$scratch/wire.err")"
assert_eq 1 "$(unread_rules)" "rules that are not readable"
send_to 0x400
assert_eq "$frames" "$(xr --json link box0 show | jq .lost.unknown_rules)" "frames that were not held"
refused "rule 1 was written by another version" xr impair box0 list
end_wire
wire_said ".first_lost | .rules_unread == 1 and .unknown_rules == $frames"
assert_eq 1 "$(grep -c 'another version' "$scratch/wire.err")" "notes"
