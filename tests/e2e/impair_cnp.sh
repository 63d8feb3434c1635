#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# CNPs to the sender of a packet: its QPN is learnt from responses or given; the original packet is
# forwarded unchanged, and every bit of the CNP is correct.
. "$(dirname "$0")/bridge_lib.sh"
need python3 tshark
/usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null || skip "needs scapy"
lane3 4200
everything=$(kernel_objects)

impaired() { xr --json counters box0 | jq ".impaired.$1 // 0"; }
add() { keep xr impair box0 add "$@" || fail "add $*: $(cat "$scratch/last.err")"; }
acted() { xr --json impair box0 list | jq '[.rules[].acted] | add'; }
are_cnps() { "$here/cnp_fields.py" "$@" >"$scratch/cnps" 2>"$scratch/last.err" || fail "$(cat "$scratch/last.err")"; }
no_bad_icrc() {
  "$XDP_ROCE" --json analyze "$1" >"$scratch/seen.json"
  assert_json "$scratch/seen.json" '.icrc.bad == 0 and .icrc.zero == 0'
}

mac_at() { frames list "$scratch/there.pcap" | awk "NR == 1" | cut -c "$1" | sed 's/../:&/g; s/^://'; }

# learnt CAPTURE IP PEER QPN RULE...: both directions, from which the QPN is learnt; then the requests
# once more, with that rule.
learnt() {
  local file ip=$2 peer=$3 qpn=$4 cnps mac peer_mac
  file=$(capture "$1")
  bridge
  watch_right
  watch_left
  frames split "$file" "$ip" "$scratch/there.pcap" "$scratch/back.pcap"
  converse "$file" "$ip"
  xr --json streams box0 >"$scratch/streams.json"
  assert_json "$scratch/streams.json" ".streams | any(.src == \"$ip\" and .kind == \"request\" and .src_qp == $qpn)"
  seen_left "$scratch/seen.pcap"
  seen_right "$scratch/seen.pcap"
  add "${@:5}"
  replay_left --rate 2000 "$scratch/there.pcap"
  seen_right "$scratch/seen.pcap"
  seen_left "$scratch/cnps.pcap"
  cnps=$(count_frames "$scratch/cnps.pcap")
  ((cnps > 0)) || fail "no CNP for ${*:5}: $(xr --json counters box0 | jq -c .impaired)"
  assert_eq "$cnps" "$(impaired cnps_sent)" "cnps_sent"
  assert_eq "$(acted)" $((cnps + $(impaired cnps_paced))) "CNPs sent ($cnps) and paced"
  assert_eq 0 $(($(impaired cnp_unknown_peer) + $(impaired not_cloned))) "CNPs not made"
  peer_mac=$(mac_at 1-12) mac=$(mac_at 13-24)
  are_cnps "$scratch/cnps.pcap" "$peer" "$ip" "$peer_mac" "$mac" 48 "$qpn"
  no_bad_icrc "$scratch/cnps.pcap"
  assert_json "$scratch/seen.json" ".frames.cnp == $cnps"
  no_bad_icrc "$scratch/seen.pcap"
}

# Marked, and answered.
learnt rc_write_ect_v4 10.77.0.1 10.77.0.2 58 ecn ect0 opcode data ce cnp interval 1us
assert_eq "$(acted)" "$(jq .ecn.ce "$scratch/seen.json")" "CE"
bad=$(tshark -r "$scratch/seen.pcap" -o ip.check_checksum:TRUE -Y 'ip.checksum.status == "Bad"' 2>/dev/null | wc -l)
assert_eq 0 "$bad" "IPv4 checksums that are wrong"
observed
unbridge
# Not marked: the original is what was sent.
learnt rc_send_4096_v6 fd77::1 fd77::2 21 opcode data cnp interval 1us
same_frames "$scratch/there.pcap" "$scratch/seen.pcap" "beside a CNP"
observed
unbridge

# No CNP for senders with unknown QPNs, until the QPNs are set.
bridge
watch_right
watch_left
add opcode data cnp interval 10s dscp 40
replay_left --stream --packets 50 --flows 4
seen_right "$scratch/seen.pcap"
seen_left "$scratch/cnps.pcap"
assert_eq 200 "$(count_frames "$scratch/seen.pcap")" "frames to the right"
assert_eq 0 "$(count_frames "$scratch/cnps.pcap")" "CNPs for unknown senders"
assert_eq 200 "$(impaired cnp_unknown_peer)" "cnp_unknown_peer"
for qp in 0x100 0x101 0x102 0x103; do
  keep xr impair box0 peer 192.0.2.1 $qp '->' $((qp + 0x100)) || fail "peer: $(cat "$scratch/last.err")"
  keep xr impair box0 peer 2001:db8::1 $qp '->' $((qp + 0x200)) || fail "peer: $(cat "$scratch/last.err")"
done

# scoped SCOPE: the CNPs of four QPs of two pairs of addresses, an interval long.
scoped() {
  # Peers go with the last rule.
  add opcode data cnp interval 10s scope "$1" dscp 40
  keep xr impair box0 del 1 || fail "del: $(cat "$scratch/last.err")"
  replay_left --stream --packets 50 --flows 4
  replay_left --stream --packets 50 --flows 4 --ipv6
  seen_right "$scratch/seen.pcap"
  assert_eq 400 "$(count_frames "$scratch/seen.pcap")" "frames to the right"
  seen_left "$scratch/cnps.pcap"
}
scoped stream
assert_eq 8 "$(count_frames "$scratch/cnps.pcap")" "CNPs by stream"
frames split "$scratch/cnps.pcap" 192.0.2.2 "$scratch/cnps4.pcap" "$scratch/cnps6.pcap"
are_cnps "$scratch/cnps4.pcap" 192.0.2.2 192.0.2.1 "$right_mac" "$left_mac" 40 0x200 0x201 0x202 0x203
assert_eq "0x200:1 0x201:1 0x202:1 0x203:1" "$(cat "$scratch/cnps")" "CNPs of each QPN"
are_cnps "$scratch/cnps6.pcap" 2001:db8::2 2001:db8::1 "$right_mac" "$left_mac" 40 0x300 0x301 0x302 0x303
assert_eq "0x300:1 0x301:1 0x302:1 0x303:1" "$(cat "$scratch/cnps")" "CNPs of each QPN"
no_bad_icrc "$scratch/cnps.pcap"
unbridge
bridge
add opcode data cnp interval 10s
for qp in 0x100 0x101 0x102 0x103; do
  xr impair box0 peer 192.0.2.1 $qp '->' $((qp + 0x100))
  xr impair box0 peer 2001:db8::1 $qp '->' $((qp + 0x200))
done
scoped pair
assert_eq 2 "$(count_frames "$scratch/cnps.pcap")" "CNPs by pair"
observed
unbridge
bridge
watch_left
watch_right
add opcode data cnp interval 10s
xr impair box0 peer 192.0.2.1 0x100 '->' 0x200
xr impair box0 peer 2001:db8::1 0x100 '->' 0x300
scoped port
assert_eq 1 "$(count_frames "$scratch/cnps.pcap")" "CNPs by port"

# No two within the interval, and as many as fit. Half a second of frames, 20 ms each.
keep xr impair box0 clear
add opcode data cnp interval 20ms
keep xr impair box0 peer 192.0.2.1 0x100 '->' 0x200 || fail "peer: $(cat "$scratch/last.err")"
before=$(impaired cnps_sent) begun=$(date +%s%N)
replay_left --stream --packets 1000 --rate 2000 --turn 1
seen_left "$scratch/cnps.pcap"
took=$((($(date +%s%N) - begun) / 1000000))
cnps=$(count_frames "$scratch/cnps.pcap")
((cnps <= took / 20 + 1 && cnps >= took / 40)) || fail "$cnps CNPs in $took ms, at 20 ms"
assert_eq "$cnps" $(($(impaired cnps_sent) - before)) "cnps_sent"
# When they came. What held one up in the kernel did so for a while at most.
early=$(tshark -r "$scratch/watch_left.pcap" -Y 'infiniband.bth.opcode == 0x81' -T fields -e frame.time_epoch 2>/dev/null |
  tail -n "$cnps" | awk 'NR > 1 && $1 - last < 0.010 { n++ } { last = $1 } END { print n + 0 }')
((early * 10 <= cnps)) || fail "$early of $cnps CNPs came within 10 ms after another"

# A frame in several buffers is forwarded, but the kernel does not clone it.
keep xr impair box0 clear
add opcode data cnp interval 1us
keep xr impair box0 peer 192.0.2.1 0x100 '->' 0x200 || fail "peer: $(cat "$scratch/last.err")"
seen_right "$scratch/seen.pcap"
before=$(impaired cnps_sent) paced=$(impaired cnps_paced)
replay_left --stream --packets 30 --payload 4096
seen_right "$scratch/seen.pcap"
seen_left "$scratch/cnps.pcap"
assert_eq 30 "$(count_frames "$scratch/seen.pcap")" "large frames to the right"
"$XDP_ROCE" --json analyze "$scratch/seen.pcap" >"$scratch/seen.json"
assert_json "$scratch/seen.json" '.streams | length == 1 and .[0].packets == 30 and .[0].gaps == 0'
assert_eq "$before" "$(impaired cnps_sent)" "cnps_sent"
assert_eq 0 "$(count_frames "$scratch/cnps.pcap")" "CNPs of frames in several buffers"
((30 == $(impaired not_cloned) + $(impaired cnps_paced) - paced)) ||
  fail "not all of 30 frames are accounted for: $(xr --json counters box0 | jq -c .impaired)"
(($(impaired not_cloned) > 0)) || fail "nothing in not_cloned: $(xr --json counters box0 | jq -c .impaired)"
observed
unbridge

# Without a bridge a packet can come back as a CNP itself. What XDP_TX sends, veth hands on at once
# only to an end that has an XDP program too: one that counts.
"$XDP_ROCE" --netns "$left" attach left0 >"$scratch/last.out" 2>&1 || fail "attach: $(cat "$scratch/last.out")"
xr attach box0 >"$scratch/last.out" 2>&1 || fail "attach: $(cat "$scratch/last.out")"
refused 'bridge' xr impair box0 add opcode data cnp
add opcode data cnp interval 1us drop
keep xr impair box0 peer 192.0.2.1 0x100 '->' 0x200 || fail "peer: $(cat "$scratch/last.err")"
observe_left "$scratch/cnps.pcap"
replay_left --stream --packets 100 --rate 1000 --turn 1
await_frames 100 box0
observed
cnps=$(count_frames "$scratch/cnps.pcap")
((cnps > 90 && cnps <= 100)) || fail "$cnps CNPs came back"
assert_eq "$cnps" "$(impaired cnps_sent)" "cnps_sent"
are_cnps "$scratch/cnps.pcap" 192.0.2.2 192.0.2.1 "$right_mac" "$left_mac" 48 0x200
no_bad_icrc "$scratch/cnps.pcap"
unbridge
"$XDP_ROCE" --netns "$left" detach left0 >"$scratch/last.out" 2>&1 || fail "detach: $(cat "$scratch/last.out")"
wait_for 5 nothing_since "$everything" ||
  fail "left behind: $(since "$everything")"
