#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Stamped frames: iCRC and numbers by scapy, and what `analyze` and `respond --sink` make of them: what
# a rule drops is lost by number, repeated and reordered frames are counted, latencies are plausible.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump
/usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null || skip "needs scapy"
lane 4200

# On the wire, with another's eyes.
# Nanoseconds: a frame may arrive within a microsecond.
observe_rx "$scratch/rx.pcap" --time-stamp-precision=nano
send --flow "${v4[*]} ${at[*]} qp 0x100 qps 2 send size 3k messages 50 stamp rate 20kpps" \
  --flow "${v6[*]} ${at[*]} qp 0x200 write size 5000 pmtu 4096 messages 50 stamp rate 20kpps"
observed_rx 400
/usr/bin/python3 "$here/bth_fields.py" "$scratch/rx.pcap" >"$scratch/bth" 2>"$scratch/last.err" || fail "iCRCs of stamped frames"
/usr/bin/python3 "$here/stamp_fields.py" "$scratch/rx.pcap" >"$scratch/stamps" 2>"$scratch/last.err" || fail "stamps"
for qp in 256 257 512; do
  last=$((qp == 512 ? 99 : 149))
  assert_eq "$(seq 0 $last)" "$(awk -v qp=$qp '$1 == qp { print $2 }' "$scratch/stamps")" "numbers of QP $qp"
done
assert_eq 1 "$(cut -d ' ' -f 3 "$scratch/stamps" | sort -u | wc -l)" "runs"

analyzed . "$scratch/rx.pcap" >/dev/null
assert_analyzed '.stamps | .frames == 400 and .lost == 0 and .duplicates == 0 and .reordered == 0 and .negative == 0
  and .clock_offset_ns == null and (.streams | length) == 3
  and .p50_us > 0 and .p50_us <= .p99_us and .p99_us <= .p999_us and .p999_us <= .max_us and .p50_us < 100000
  and .min_us <= .mean_us and .mean_us <= .max_us and .jitter_us >= 0'
# By the other's arithmetic.
read -r low high < <(awk '{ print $4 }' "$scratch/stamps" | sort -n | sed -n '1p;$p' | paste -sd ' ')
assert_analyzed ".stamps | (.min_us * 1000 | round) == $low and (.max_us * 1000 | round) == $high"
"$XDP_ROCE" --json analyze "$scratch/rx.pcap" --clock-offset 5000000000 >"$scratch/analyzed.json"
assert_analyzed ".stamps | .negative == 400 and .clock_offset_ns == 5e9 and (.min_us * 1000 | round) == $low - 5e9
  and .streams[0].p50_us < 0"
keep "$XDP_ROCE" analyze "$scratch/rx.pcap" || fail "analyze"
grep -q 'their offset between two hosts is unknown' "$scratch/last.out" || fail "of clocks: $(cat "$scratch/last.out")"
! "$XDP_ROCE" --json analyze "$(capture rc_send_cm_v4)" | jq -e 'has("stamps")' >/dev/null || fail "stamps in a capture without"

# A sink answers ARP, and nothing else; a rule in front of it drops every tenth.
before=$(kernel_objects)
xr attach rx0 >/dev/null 2>&1
xr impair rx0 add dest-qp 0x300 every 10 drop >/dev/null
respond --sink --address "$to"
grep -q ": receives for $to" "$scratch/respond.json.err" || fail "$(cat "$scratch/respond.json.err")"
send "${v4[@]}" qp 0x300 send size 1k messages 1005 stamp rate 20kpps --listen
assert_sent ".sent.packets == 1005 and .answers.acks == 0"
send "${v4[@]}" "${at[@]}" qp 0x301 send size 64 messages 200 stamp rate 20kpps \
  fault skip at 50,51 fault repeat at 60,70,80 fault reorder at 100 fault icrc at 120
acted=$(xr --json impair rx0 list | jq '.rules[0].acted')
end_respond
assert_eq 100 "$acted" "dropped by the rule"
assert_respond '.sink and .stamps.lost == 103 and .answered.acks == 0 and .answered.naks == 0 and .answered.arp >= 1
  and .answered.packets == .answered.arp and .refused.bad_icrc == 1 and .overflow.rx_ring_full == 0'
assert_respond '[.stamps.streams[] | [.dest_qp, .frames, .lost, .duplicates, .reordered, .first_sequence, .last_sequence]]
  == [[768, 905, 100, 0, 0, 0, 1004], [769, 200, 3, 3, 1, 0, 199]]'
# One host: the clocks are the same. Loose limits, since the machine is shared.
assert_respond '.stamps | .negative == 0 and .min_us > 0 and .p50_us < 50000 and .timed != 0'
xr detach rx0 >/dev/null
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"

misused 'stamp: a packet with 16 bytes' xt send tx0 "${v4[@]}" "${at[@]}" qp 17 send size 16 stamp
grep -q '^hint: sizes whose last packet has at least 32 bytes' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
