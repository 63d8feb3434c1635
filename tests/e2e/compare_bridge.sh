#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two taps around a bridge with rules: what compare finds between them equals the rules' counters. Two
# taps around a wire with a delay: the latency. capture writes the first tap, tcpdump the second.
. "$(dirname "$0")/wire_lib.sh"
need python3 tshark editcap capinfos
lane3

# What enters the bridge, before its rules, into a.pcapng: an AF_PACKET sender's frames are not seen by
# a tcpdump beside it.
begin_tap_a() {
  : >"$scratch/tap.err"
  "$XDP_ROCE" --netns "$box" --json capture box0 -w "$scratch/a.pcapng" >"$scratch/tap.out" 2>"$scratch/tap.err" &
  tap_a=$!
  background+=("$tap_a")
  wait_for 20 grep -q begun "$scratch/tap.err" || fail "no capture at box0: $(cat "$scratch/tap.err")"
}
end_tap_a() {
  kill -INT "$tap_a"
  wait "$tap_a" || fail "capture: $(cat "$scratch/tap.err")"
  assert_json "$scratch/tap.out" '.overflow.frames == 0'
}
# What leaves it, by tcpdump where it arrives.
begin_tap_b() { observe "$right" right0 "$scratch/b.pcap" --time-stamp-precision=nano; }

# One frame of no RoCE before and after, so that both taps cover all of the traffic.
edge() {
  frames mark "$1" "$scratch/edge.pcap"
  replay_left "$scratch/edge.pcap"
  sleep 0.2
}

# between FILTER: of the JSON of compare, the way from A to B.
between() { jq "[.between[] | select(.from == \"A\")][0] | $1" "$scratch/compare.json"; }

# step CAPTURE WORDS...: with that rule only, the capture is sent; compared, and the rule's counters
# are in $acted and $matched.
step() {
  local file=$1
  shift
  what="$*"
  xr impair box0 clear >/dev/null
  sleep 0.2
  (($# == 0)) || keep xr impair box0 add "$@" || fail "add $what: $(cat "$scratch/last.err")"
  begin_tap_a
  begin_tap_b
  edge first
  replay_left "$file"
  sleep 0.2
  edge last
  end_tap_a
  observed
  xr --json impair box0 list >"$scratch/rules.json"
  acted=$(jq '[.rules[].acted] | add // 0' "$scratch/rules.json")
  # One clock. The capture that is sent has both directions of a connection, and all goes from A to B.
  keep "$XDP_ROCE" --json compare --clock-offset 0 "$scratch/a.pcapng" "$scratch/b.pcap" || fail "compare: $(cat "$scratch/last.err")"
  cp "$scratch/last.out" "$scratch/compare.json"
  roce=$("$XDP_ROCE" --json analyze "$scratch/a.pcapng" | jq '.frames.rocev2')
  assert_eq "$roce" "$(between .seen_from)" "seen at A, $what"
  assert_eq 0 "$(between '.outside_from + .outside_to')" "outside, $what"
  # Sums of the streams are those of the way; each says where its packets were lost.
  assert_json "$scratch/compare.json" '([.streams[].lost] | add) == ([.between[].lost] | add)'
  assert_json "$scratch/compare.json" 'all(.streams[]; (.lost > 0) == (.where_lost | index("A-B") != null))'
}
# found LOST DUPLICATED CE CORRUPTED: that and nothing else.
found() {
  assert_eq "$1 $2 $3 $4 0 0" "$(between '"\(.lost) \(.duplicated) \(.ce) \(.corrupted) \(.only_to) \(.reordered)"' | tr -d '"')" \
    "lost, duplicated, newly CE, corrupted, only at B, reordered; $what"
}

send=$(capture rc_write_ect_v4)
bridge
step "$send"
found 0 0 0 0
step "$send" roce every 7 drop
((acted > 10)) || fail "$what acted on $acted"
found "$acted" 0 0 0
# Losses that were made by the rule, by an observer that is not ours: frames at A minus those at B.
assert_eq "$acted" "$(($(capinfos -Mc "$scratch/a.pcapng" | awk '/Number/ { print $NF }') - \
  $(capinfos -Mc "$scratch/b.pcap" | awk '/Number/ { print $NF }')))" "frames lost, by capinfos"
step "$send" roce probability 10% seed 3 drop
found "$acted" 0 0 0
step "$send" roce every 5 ce
((acted > 10)) || fail "$what acted on $acted"
found 0 0 "$acted" 0
assert_eq "$acted" "$(($(tshark -r "$scratch/b.pcap" -Y 'ip.dsfield.ecn == 3' 2>/dev/null | wc -l) - \
  $(tshark -r "$scratch/a.pcapng" -Y 'ip.dsfield.ecn == 3' 2>/dev/null | wc -l)))" "marks, by tshark"
step "$send" roce every 6 duplicate
((acted > 10)) || fail "$what acted on $acted"
found 0 "$acted" 0 0
step "$send" opcode data every 9 corrupt payload
((acted > 5)) || fail "$what acted on $acted"
found 0 0 0 "$acted"
step "$send" roce every 9 corrupt icrc
found 0 0 0 "$acted"
step "$send" roce every 4 set dscp 46
assert_eq "$acted" "$(between .dscp_changed)" "$what"

# Retransmissions of real Soft-RoCE, and a PSN wrap, with further losses.
for name in loss_rc_send_v4 loss2_rc_psnwrap_v4 loss_rc_read_v4 dup_rc_read_v4; do
  step "$(capture "$name")" roce probability 5% seed 11 drop
  found "$acted" 0 0 0
done
unbridge

# A wire that reorders, and one that delays. The process must see that the rule before is gone,
# as the next one has its id: hence the sleep in step.
begin_wire
step "$send" opcode data reorder skip 7 take 1 hold 3 timeout 100ms
assert_eq 0 "$(between '.lost + .duplicated + .only_to')" "lost, duplicated or new; $what"
# Requests that arrive after a later PSN, by tshark.
late=$(tshark -r "$scratch/b.pcap" -Y 'infiniband.bth.opcode < 12' -T fields -e infiniband.bth.psn 2>/dev/null |
  awk '{ if (NR > 1 && $1 < most) n++; else most = $1 } END { print n + 0 }')
((late > 5)) || fail "$what: only $late are late"
assert_eq "$late" "$(between .reordered)" "reordered, $what"
step "$send" roce delay 3ms
assert_eq 0 "$(between '.lost + .duplicated + .only_to')" "lost, duplicated or new; $what"
# Packets wait for the process besides.
within "p50 of the delay, us" "$(between .p50_us)" 3000 $((4000 * ${XR_PATIENCE:-1}))
assert_json "$scratch/compare.json" '.clocks[0].offset == "given" and (.over_time | length) > 0'
end_wire

# A capture without some of its frames: exactly these are lost.
file=$scratch/whole.pcap
gzip -dcf "$(capture loss_rc_send_v4)" >"$file"
editcap "$file" "$scratch/thinned.pcap" 100 205-209 777
cp "$file" "$scratch/same.pcap"
keep "$XDP_ROCE" --json compare "$file" "$scratch/same.pcap" || fail "compare: $(cat "$scratch/last.err")"
assert_json "$scratch/last.out" '([.between[] | .lost + .duplicated + .reordered + .only_to + .corrupted] | add) == 0 and
  all(.between[]; .max_us == 0 and .min_us == 0)'
keep "$XDP_ROCE" --json compare "$file" "$scratch/thinned.pcap" || fail "compare: $(cat "$scratch/last.err")"
assert_json "$scratch/last.out" '([.between[].lost] | add) == 7 and
  ([.between[] | .duplicated + .reordered + .only_to + .outside_from + .outside_to] | add) == 0 and
  all(.between[]; .max_us == 0)'
# Part of the time: what the other did not capture is outside, and not lost.
editcap -r "$file" "$scratch/part.pcap" 1-600
editcap -r "$file" "$scratch/rest.pcap" 401-800
keep "$XDP_ROCE" --json compare "$scratch/part.pcap" "$scratch/rest.pcap" || fail "compare: $(cat "$scratch/last.err")"
editcap -r "$file" "$scratch/both.pcap" 401-600
roce_in() { tshark -r "$1" -Y 'udp.dstport == 4791' 2>/dev/null | wc -l; }
both=$(roce_in "$scratch/both.pcap")
assert_json "$scratch/last.out" "[.between[] | [.matched, .lost, .outside_from, .outside_to, .only_to]] | transpose | map(add) ==
  [$both, 0, $(($(roce_in "$scratch/part.pcap") - both)), $(($(roce_in "$scratch/rest.pcap") - both)), 0]"
# Another clock at B.
editcap -t 86400.25 "$file" "$scratch/later.pcap"
keep "$XDP_ROCE" --json compare "$file" "$scratch/later.pcap" || fail "compare: $(cat "$scratch/last.err")"
assert_json "$scratch/last.out" '([.between[].lost] | add) == 0 and .clocks[0].offset == "both_directions" and
  .clocks[0].offset_ns == 86400250000000'
