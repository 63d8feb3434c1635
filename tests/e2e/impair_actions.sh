#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# impair_actions.sh CAPTURE [VLAN]: an independent observer after the bridge checks the effect of
# each action; the counters of the rule and of the port agree with it.
. "$(dirname "$0")/bridge_lib.sh"
need python3 tshark
lane3
file=$(capture "$1")
if [[ -n ${2:-} ]]; then
  "$XR_REPLAY" "$file" --vlan "$2" --write "$scratch/tagged.pcap" >/dev/null
  file=$scratch/tagged.pcap
fi
"$XDP_ROCE" --json analyze "$file" >"$scratch/sent.json"
roce=$(jq .frames.rocev2 "$scratch/sent.json")
total=$(jq .frames.total "$scratch/sent.json")
frames list "$file" >"$scratch/sent.frames"

bridge
watch_right

# step WORDS...: that one rule, the capture sent; what arrived is in seen.{pcap,json,frames}, and
# $matched, $acted are the rule's.
step() {
  what="$*"
  keep xr impair box0 add "$@" || fail "add $what: $(cat "$scratch/last.err")"
  xr --json counters box0 >"$scratch/before.json"
  begun=$(date +%s%N)
  replay_left "$file"
  seen_right "$scratch/seen.pcap"
  # What drains at 125 kbit/s meanwhile.
  drained=$((($(date +%s%N) - begun) / 64000 + 1))
  xr --json counters box0 >"$scratch/after.json"
  xr --json impair box0 list >"$scratch/list.json"
  keep xr impair box0 clear || fail "clear: $(cat "$scratch/last.err")"
  "$XDP_ROCE" --json analyze "$scratch/seen.pcap" >"$scratch/seen.json"
  frames list "$scratch/seen.pcap" >"$scratch/seen.frames"
  matched=$(jq '.rules[0].matched' "$scratch/list.json")
  acted=$(jq '.rules[0].acted' "$scratch/list.json")
}
seen_of() { jq "$1" "$scratch/seen.json"; }
# How far the counter of that name went.
counted() {
  jq -n --slurpfile a "$scratch/before.json" --slurpfile b "$scratch/after.json" \
    "(\$b[0].impaired.$1 // 0) - (\$a[0].impaired.$1 // 0)"
}
# The port's counters of what was done: those that are named, and no other.
assert_counted() {
  local name want
  for name in dropped_programmed dropped_policed marked corrupted rewritten duplicated not_forwarded; do
    want=0
    [[ " $* " =~ \ $name=([0-9]+)\  ]] && want=${BASH_REMATCH[1]}
    assert_eq "$want" "$(counted "$name")" "$name after $what"
  done
}
# Frames that differ from those that were sent, where none is lost.
changed() { diff --speed-large-files "$scratch/sent.frames" "$scratch/seen.frames" | grep -c '^>' || true; }
lost() { echo $((total - $(wc -l <"$scratch/seen.frames"))); }
# Lines of the sent frames, each once, that arrived: nothing else did, and in that order.
only_lost() {
  diff "$scratch/sent.frames" "$scratch/seen.frames" | grep -q '^>' && fail "$what: a frame is not as it was sent"
  return 0
}

dropped() {
  only_lost
  assert_eq "$acted" "$(lost)" "frames lost after $what"
  assert_counted dropped_programmed="$acted"
}
step roce probability 20% seed 5 drop
assert_eq "$roce" "$matched" "matched by $what"
dropped
((acted > roce / 20 && acted < roce / 2)) || fail "$what dropped $acted of $roce"
step roce every 7 drop
assert_eq $((roce / 7)) "$acted" "acted by $what"
dropped
step roce positions 1,3,20 drop
assert_eq 3 "$acted" "acted by $what"
dropped
{ diff "$scratch/sent.frames" "$scratch/seen.frames" || true; } | sed -n 's/^< //p' >"$scratch/missing"
frames roce "$file" | sed -n '1p;3p;20p' | diff - "$scratch/missing" >/dev/null ||
  fail "$what: others are missing"
step roce burst 4 every 10 limit 6 drop
assert_eq 6 "$acted" "acted by $what"
dropped

step roce ce force
assert_eq "$roce" "$(seen_of .ecn.ce)" "CE after $what"
assert_eq "$roce" "$acted" "acted by $what"
assert_eq 0 "$(seen_of .icrc.bad)" "bad iCRCs after $what"
assert_counted marked="$roce"
ect=$(jq '.ecn | .ect0 + .ect1' "$scratch/sent.json")
step roce ce
assert_eq "$ect" "$(seen_of .ecn.ce)" "CE after $what"
assert_eq "$ect" "$acted" "acted by $what"
assert_counted marked="$ect"

corrupted() {
  assert_eq "$acted" "$(seen_of .icrc.bad)" "bad iCRCs after $what"
  assert_eq "$acted" "$(changed)" "frames changed after $what"
  assert_counted corrupted="$acted"
}
step roce every 5 corrupt icrc
assert_eq $((roce / 5)) "$acted" "acted by $what"
corrupted
# Nothing but the iCRC finds fault: every field that we count is as it was.
for key in opcodes ecn aeth bytes frames; do
  assert_eq "$(jq -c ".$key" "$scratch/sent.json")" "$(seen_of .$key | jq -c .)" "$key after $what"
done
step opcode data every 3 corrupt payload
((acted > 0)) || fail "$what did nothing"
corrupted
step roce every 6 corrupt header psn
corrupted
step roce every 6 corrupt bit seed 3
((acted > 0)) || fail "$what did nothing"
assert_eq "$acted" "$(changed)" "frames changed after $what"
assert_counted corrupted="$acted"

step roce set dscp 26 set ecn ect0
assert_eq "$roce" "$acted" "acted by $what"
assert_eq "$roce" "$(seen_of .ecn.ect0)" "ECT(0) after $what"
assert_eq "$roce" "$(tshark -r "$scratch/seen.pcap" -Y 'udp.dstport == 4791 and (ip.dsfield.dscp == 26 or ipv6.tclass.dscp == 26)' 2>/dev/null | wc -l)" "DSCP after $what"
assert_eq 0 "$(seen_of .icrc.bad)" "bad iCRCs after $what"
assert_counted rewritten="$roce"
step roce set becn 1
at=$((14 + 20 + 8 + 4)) # the byte of the BTH with FECN and BECN, which tshark does not show
[[ $1 != *_v6 ]] || at=$((at + 20))
[[ -z ${2:-} ]] || at=$((at + 4))
assert_eq "$roce" "$(frames roce "$scratch/seen.pcap" | cut -c $((2 * at + 1))-$((2 * at + 2)) |
  grep -c 40)" "BECN after $what"
assert_eq 0 "$(seen_of .icrc.bad)" "bad iCRCs after $what"

# The slowest rate: the burst passes, and little more.
step roce police 125kbit burst 10k
only_lost
assert_eq "$acted" "$(lost)" "frames lost after $what"
assert_counted dropped_policed="$acted"
passed=$(seen_of .bytes.rocev2)
((passed > 10000 - 1600 && passed <= 10000 + drained)) || fail "$passed bytes passed after $what"
step roce police 125kbit burst 10k excess ce
assert_eq 0 "$(lost)" "frames lost after $what"
assert_eq "$acted" "$(seen_of .ecn.ce)" "CE after $what"
((acted <= ect && (acted > 0) == (ect > 0))) || fail "$what marked $acted of $ect"
assert_counted marked="$acted"

# Below KMIN none, above KMAX all.
step roce red 5k 10k 10% rate 125kbit force
assert_eq "$acted" "$(seen_of .ecn.ce)" "CE after $what"
assert_counted marked="$acted"
frames roce "$scratch/seen.pcap" | python3 -c '
import sys
held, early, late, marked = 0, 0, 0, 0
for line in sys.stdin:
    frame = bytes.fromhex(line)
    ip = frame[frame[12:14] == b"\x81\x00" and 18 or 14:]
    ce = (ip[1] if ip[0] >> 4 == 4 else ip[1] >> 4) & 3 == 3
    early += ce and held <= 5000 - 100
    late += not ce and held > 10000 + 100 + int(sys.argv[1])
    marked += ce
    held += len(frame)
sys.exit(early or late or not marked)' "$drained" || fail "$what: marked below KMIN, or not above KMAX"

step roce every 4 duplicate
assert_eq $((roce / 4)) "$acted" "acted by $what"
assert_eq $((-acted)) "$(lost)" "frames more after $what"
assert_eq "$acted" "$(uniq -d "$scratch/seen.frames" | wc -l)" "frames that came twice after $what"
uniq "$scratch/seen.frames" | cmp -s - "$scratch/sent.frames" || fail "$what: not the frames that were sent"
assert_counted duplicated="$acted"

# Nothing of a rule is left over.
replay_left "$file"
seen_right "$scratch/seen.pcap"
same_frames "$file" "$scratch/seen.pcap" "after all"
observed
unbridge

# All frames that the observer saw.
bad=$(tshark -r "$scratch/watch_right.pcap" -o ip.check_checksum:TRUE -Y 'ip.checksum.status == "Bad"' \
  2>"$scratch/last.err" | wc -l)
assert_eq 0 "$bad" "IPv4 checksums that are wrong"
