#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The four flows of Freya, frame by frame: addresses, QPs, lengths, opcodes, PSNs, iCRCs.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark
lane 4500
observe "$rx" rx0 "$scratch/rx.pcap"
for preset in ipv4_rocev2_rc_send ipv6_rocev2_rc_send; do
  send --preset $preset repeat 2 rate 30kpps
  assert_sent ".sent.packets == 2000 and .sent.messages == 2 and .sent.bytes == 2000 * 4496"
done
for preset in ipv4_rocev2_ud_send ipv6_rocev2_ud_send; do
  send --preset $preset messages 200 rate 30kpps
  assert_sent ".sent.packets == 200 and .sent.messages == 200 and .sent.bytes == 200 * 4496"
done
observed 4400

"$XDP_ROCE" --json analyze "$scratch/rx.pcap" >"$scratch/analyzed.json"
assert_json "$scratch/analyzed.json" '.icrc == {checked: 4400, bad: 0, zero: 0} and .frames.rocev2 == 4400
  and (.opcodes | map({"\(.opcode)": .packets}) | add) == {"0": 4, "1": 3992, "2": 4, "100": 400}'
assert_json "$scratch/analyzed.json" '[.streams[] | [.src, .dest_qp, .src_qp, .packets, .messages, .first_psn, .gaps]] | sort == [
  ["10.10.10.10", 5, null, 2000, 2, 0, 0], ["10.10.10.10", 11, 10, 200, 200, 0, 0],
  ["2000::10", 5, null, 2000, 2, 0, 0], ["2000::10", 11, 10, 200, 200, 0, 0]]'

tshark -r "$scratch/rx.pcap" -T fields -e infiniband.bth.psn -e infiniband.bth.opcode -e frame.len -e eth.src -e eth.dst \
  -e ip.src -e ip.dst -e ipv6.src -e ipv6.dst -e udp.dstport -e infiniband.bth.destqp -e infiniband.deth.srcqp \
  -e infiniband.deth.q_key -e udp.srcport -e ip.checksum.status -o ip.check_checksum:TRUE -E separator=, 2>/dev/null >"$scratch/all"
# What a frame of it has, but for the PSN and opcode: the same in all.
for one in 'rc,10.10.10.10,10.10.10.20,,' 'rc,,,2000::10,2000::20' 'ud,10.10.10.10,10.10.10.20,,' 'ud,,,2000::10,2000::20'; do
  sum=
  [[ $one == *,, ]] && sum=1
  if [[ $one == ud* ]]; then qps=0x00000b,0x0000000a,0x00000000000004d2; else qps=0x000005,,; fi
  assert_eq "4496,aa:aa:0a:0a:0a:0a,aa:aa:0a:0a:0a:14,${one#*,},4791,$qps,4791" \
    "$(grep -F ",${one#*,},4791," "$scratch/all" | awk -F , -v ud="${one%%,*}" '($2 == 100) == (ud == "ud")' | cut -d , -f 3-14 | sort -u)" "fields of $one"
  assert_eq "$sum" "$(grep -F ",${one#*,},4791," "$scratch/all" | cut -d , -f 15 | sort -u)" "state of the sums of $one"
done
# FIRST MIDDLE... LAST, a message after the other; PSNs without a gap
for one in 10.10.10.10 2000::10; do
  assert_eq "$(for i in 0 1; do for ((n = 0; n < 1000; n++)); do
    echo "$((i * 1000 + n)),$((n == 0 ? 0 : n == 999 ? 2 : 1))"
  done; done)" "$(grep -F ",$one," "$scratch/all" | cut -d , -f 1,2 | grep -v ',100$')" "PSNs and opcodes from $one"
done

# As they are: 40 % of the line, which veth gives as 10 Gbit/s, and no end.
send --preset ipv4_rocev2_rc_send for 50ms
assert_sent '.asked.l1_bits_per_second | . > 3.99e9 and . < 4.01e9'
keep xt send tx0 --preset ipv4_rocev2 for 50ms && fail "a preset that is none"
assert_sentence 'preset' <"$scratch/last.err"
grep -q '^hint: .*ipv4_rocev2_rc_send' "$scratch/last.err" || fail "no hint: $(cat "$scratch/last.err")"
