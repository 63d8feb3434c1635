#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rule sets: apply replaces them at once under traffic, add accepts the output of list, a file with
# an error is rejected completely, and unchanged rules keep their counters.
. "$(dirname "$0")/bridge_lib.sh"
need python3
lane3
bridge

rules() { xr --json impair "$1" list | jq -r '.rules[].rule'; }
total() { ip netns exec "$1" cat "/sys/class/net/$2/statistics/rx_packets"; }

# A hundred flows without a pause. Of either set of rules exactly one matches a frame, and drops it or
# not; with half a set, or none, it would be another or none.
cat >"$scratch/one.yaml" <<'END'
seed: 7
rules:
  - dest-qp 0x100-0x131 every 2 drop name low
  - {match: {dest-qp: 0x132-0x163}, action: [{set: {dscp: 26}}], name: high}
END
cat >"$scratch/two.yaml" <<'END'
rules:
  - {match: {dest-qp: [0x132-0x163]}, select: {every: 3}, action: drop, name: high}
  - roce set dscp 26 name rest
END
keep xr impair box0 apply "$scratch/one.yaml" || fail "apply: $(cat "$scratch/last.err")"
arrived=$(total "$right" right0)
frames=200000
in_background ip netns exec "$left" "$XR_REPLAY" --ifname left0 --stream --flows 100 --payload 64 \
  --packets $((frames / 100)) --rate 100000 >"$scratch/sent"
sender=${background[-1]}
# What a set did counts until its rules go: read is what it has at most.
sets=0
while kill -0 "$sender" 2>/dev/null; do
  keep xr impair box0 apply "$scratch/two.yaml" || fail "apply: $(cat "$scratch/last.err")"
  keep xr impair box0 apply "$scratch/one.yaml" || fail "apply: $(cat "$scratch/last.err")"
  sets=$((sets + 2))
done
wait "$sender" || fail "the sender failed"
background=()
await_frames "$frames" box0
xr --json counters box0 >"$scratch/counters.json"
dropped=$(jq .impaired.dropped_programmed "$scratch/counters.json")
rewritten=$(jq .impaired.rewritten "$scratch/counters.json")
arrived=$(($(total "$right" right0) - arrived))
assert_eq "$frames" $((arrived + dropped)) "frames arrived ($arrived) and dropped ($dropped)"
# One drops a quarter, two a sixth; one rewrites a half, two the other.
((dropped > frames / 10 && dropped < frames / 3)) || fail "dropped $dropped of $frames"
((rewritten >= frames * 4 / 10 && rewritten <= frames * 6 / 10)) || fail "rewrote $rewritten of $frames"
((sets >= 4)) || fail "only $sets sets"

# With an observer, and few enough frames for it: which frame has which fate.
observe_right "$scratch/right.pcap"
frames=12000
in_background ip netns exec "$left" "$XR_REPLAY" --ifname left0 --stream --flows 100 --payload 16 \
  --packets $((frames / 100)) --rate 12000 --first-qp 0x100 >"$scratch/sent"
sender=${background[-1]}
while kill -0 "$sender" 2>/dev/null; do
  keep xr impair box0 apply "$scratch/two.yaml" || fail "apply: $(cat "$scratch/last.err")"
  keep xr impair box0 apply "$scratch/one.yaml" || fail "apply: $(cat "$scratch/last.err")"
done
wait "$sender" || fail "the sender failed"
unset 'background[-1]'
observed
# One set rewrites all of the low QPs, the other none and drops; the high QPs are the other way round.
# So the low QPs' frames with the old DSCP are as many as were dropped there, but for one of each set.
frames list "$scratch/right.pcap" | python3 -c '
import sys
low = [0, 0]
high = [0, 0]
for line in sys.stdin:
    frame = bytes.fromhex(line)
    if frame[36:38] == b"\x12\xb7":
        qp = int.from_bytes(frame[47:50], "big")
        (low if qp < 0x132 else high)[frame[15] >> 2 == 26] += 1
frames = int(sys.argv[1])
dropped_low = frames // 2 - sum(low)
dropped_high = frames // 2 - sum(high)
print(low, high, dropped_low, dropped_high)
sys.exit(abs(low[0] - dropped_low) > 200 or abs(high[0] - 2 * dropped_high) > 400 or not all(low + high))
' "$frames" >"$scratch/last.out" || fail "fates that neither set has: $(cat "$scratch/last.out")"

# list and add are inverse, for every kind of word.
keep xr impair box0 clear || fail "clear: $(cat "$scratch/last.err")"
assert_eq "" "$(rules box0)" "rules after clear"
while read -r rule; do
  # shellcheck disable=SC2086 # words
  keep xr impair box0 add $rule || fail "add $rule: $(cat "$scratch/last.err")"
done <<'END'
src 192.0.2.0/24 not dst 192.0.2.128/25 drop
dest-qp 17,0x20-0x2f not transport ud,xrc probability 1% drop seed 7 name loss
opcode data not ecn ce psn 0xfffff0-5 ce
opcode RC_SEND_ONLY,0x0a,nak dscp 0-5,26 vlan 7 size 100-1000 corrupt icrc
non-roce every 10 drop
not vlan none positions 1,5,9 drop
roce ipv6 burst 2-5 probability 1e-3 limit 100 corrupt payload seed 8
qp 1 psn 5 iter 1 drop
qp 0x11 psn all iter 2 drop
qp 3 psn 7-9 corrupt header psn
gilbert 1% 10% 50% 0.1% drop
ber 2.5 -7 corrupt bit
distance uniform 5 10 drop
distance gaussian 100 10 drop
distance poisson 20 drop
distance gamma 2 50 drop
distance table 1,2,3,4 drop
for 2s red 5k 200KB 1% rate 10gbit
repeat 5ms 1s set dscp 10 set ecn ect0 set becn 1
opcode data police 1gbit burst 64k l1 excess ce name slow
opcode cnp burst 3 every 100 duplicate
opcode read cnp interval 100us scope port dscp 40
opcode atomic,cm ce force cnp
END
rules box0 >"$scratch/rules"
assert_eq 23 "$(wc -l <"$scratch/rules")" "rules"
while read -r rule; do
  # shellcheck disable=SC2086 # words
  keep xr impair box1 add $rule || fail "add $rule: $(cat "$scratch/last.err")"
done <"$scratch/rules"
rules box1 | diff "$scratch/rules" - || fail "list does not give back what it gave"
# So does a file of those lines, and of a whole list in it.
{
  echo 'rules:'
  sed "s/.*/  - '&'/" "$scratch/rules"
} >"$scratch/all.yaml"
keep xr impair box0 apply "$scratch/all.yaml" || fail "apply: $(cat "$scratch/last.err")"
rules box0 | diff "$scratch/rules" - || fail "apply does not give what list gave"

# The first column is the word that the refusal names. Nothing changes.
before=$(xr --json impair box0 list | jq "del(.run)")
while IFS='=' read -r word rule; do
  # shellcheck disable=SC2086 # words
  misused "$word" xr impair box0 add $rule
done <<'END'
'dorp'=opcode data dorp
'SEND_ONYL'=opcode SEND_ONYL drop
192\.0\.2\.0/24=src 192.0.2.1/24 drop
'1000000000000'=dest-qp 1000000000000 drop
'rcc'=transport rcc drop
'maybe'=ecn maybe drop
'150%'=probability 150% drop
every: there is probability=probability 1% every 3 drop
'0'=every 0 drop
positions=positions 5,3 drop
action=opcode data
duplicate=drop duplicate
'64'=dscp 64 drop
'ten'=limit ten drop
'4097'=vlan 4097 drop
'psm'=corrupt header psm
'10gbot'=police 10gbot burst 10k
burst=police 1gbit
'nowhere'=cnp scope nowhere
'0x1000000'=psn 0x1000000 drop
dest-qp: there is qp=qp 1 psn 5 dest-qp 7 drop
name=roce drop name a:b
END
# A good word that the port has a rule for already.
refused 'named loss already' xr impair box0 add roce drop name loss
assert_eq "$before" "$(xr --json impair box0 list | jq "del(.run)")" "rules after bad ones"
cat >"$scratch/bad.yaml" <<'END'
rules:
  - roce drop name fine
  - roce dorp
END
refused 'bad.yaml:3.*dorp' xr impair box0 apply "$scratch/bad.yaml"
cat >"$scratch/bad.yaml" <<'END'
rules:
  - roce drop
  - {match: {opcode: dada}, action: drop}
END
refused 'bad.yaml:3.*dada' xr impair box0 apply "$scratch/bad.yaml"
refused 'nothere' xr impair box0 apply "$scratch/nothere.yaml"
refused '99' xr impair box0 del 99
assert_eq "$before" "$(xr --json impair box0 list | jq "del(.run)")" "rules after bad files"

# 64 and no more.
keep xr impair box0 clear
{
  echo 'rules:'
  for n in {1..64}; do echo "  - dest-qp $n drop"; done
} >"$scratch/many.yaml"
keep xr impair box0 apply "$scratch/many.yaml" || fail "64 rules: $(cat "$scratch/last.err")"
refused '64' xr impair box0 add roce drop
echo "  - roce drop" >>"$scratch/many.yaml"
refused '64' xr impair box0 apply "$scratch/many.yaml"
assert_eq 64 "$(rules box0 | wc -l)" "rules"

# What was counted stays: the port's always, a rule's as long as it is there.
keep xr impair box0 clear
xr impair box0 add dest-qp 0x500 every 2 drop name half
sent=$(xr --json counters box0 | jq .frames.total)
replay_left --stream --packets 100 --first-qp 0x500
await_frames $((sent + 100)) box0
xr impair box0 add dest-qp 0x501 corrupt icrc # needs another program
xr impair box0 add dest-qp 0x502 cnp
xr impair box0 del 2
replay_left --stream --packets 100 --first-qp 0x500
await_frames $((sent + 200)) box0
xr --json impair box0 list >"$scratch/list.json"
assert_json "$scratch/list.json" '.rules | length == 2 and
  (.[0] | .name == "half" and .id == 1 and .matched == 200 and .acted == 100 and .ppm == 500000)'
keep xr impair box0 del half
assert_eq 1 "$(rules box0 | wc -l)" "rules"
keep xr impair box0 clear
assert_eq "" "$(rules box0)" "rules after clear"
assert_eq $((sent + 200)) "$(xr --json counters box0 | jq .frames.total)" "frames counted in all"
xr --json streams box0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams[] | select(.dest_qp == 1280) | .packets == 200'
unbridge
