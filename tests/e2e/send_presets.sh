#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The four flows of Freya, frame by frame: addresses, QPs, lengths, opcodes, PSNs, iCRCs.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark
lane 4500
observe "$rx" rx0 "$scratch/rx.pcap"
for preset in ipv4_rocev2_rc_send ipv6_rocev2_rc_send; do
  send --preset $preset messages 2 rate 20kpps
  assert_sent ".sent.packets == 2000 and .sent.messages == 2 and .sent.bytes == 2000 * 4496"
done
for preset in ipv4_rocev2_ud_send ipv6_rocev2_ud_send; do
  send --preset $preset messages 1000 rate 20kpps
  assert_sent ".sent.packets == 1000 and .sent.messages == 1000 and .sent.bytes == 1000 * 4496"
done
observed 6000

"$XDP_ROCE" --json analyze "$scratch/rx.pcap" >"$scratch/analyzed.json"
assert_json "$scratch/analyzed.json" '.icrc == {checked: 6000, bad: 0, zero: 0} and .frames.rocev2 == 6000
  and (.opcodes | map({"\(.opcode)": .packets}) | add) == {"0": 4, "1": 3992, "2": 4, "100": 2000}'
assert_json "$scratch/analyzed.json" '[.streams[] | [.src, .dest_qp, .src_qp, .packets, .messages, .first_psn, .gaps]] | sort == [
  ["10.10.10.10", 5, null, 2000, 2, 0, 0], ["10.10.10.10", 11, 10, 1000, 1000, 0, 0],
  ["2000::10", 5, null, 2000, 2, 0, 0], ["2000::10", 11, 10, 1000, 1000, 0, 0]]'

# What all frames of it have: field by field, each value once.
fields() {
  local filter=$1 one
  shift
  for one; do
    assert_eq "${one#*=}" "$(tshark -r "$scratch/rx.pcap" -Y "$filter" -T fields -e "${one%%=*}" 2>/dev/null |
      sort -u | paste -sd ' ')" "${one%%=*} of $filter"
  done
}
for network in ip ipv6; do
  [[ $network == ip ]] && ends=(ip.src=10.10.10.10 ip.dst=10.10.10.20) || ends=(ipv6.src=2000::10 ipv6.dst=2000::20)
  fields $network frame.len=4496 eth.src=aa:aa:0a:0a:0a:0a eth.dst=aa:aa:0a:0a:0a:14 udp.dstport=4791 "${ends[@]}"
  fields "$network && infiniband.bth.opcode == 100" infiniband.bth.destqp=0x00000b infiniband.deth.srcqp=0x0000000a \
    infiniband.deth.q_key=0x00000000000004d2
  fields "$network && infiniband.bth.opcode < 100" infiniband.bth.destqp=0x000005
  # FIRST MIDDLE... LAST, a message after the other; PSNs without a gap
  assert_eq "$(for i in 0 1; do for ((n = 0; n < 1000; n++)); do
    echo "$((i * 1000 + n)) $((n == 0 ? 0 : n == 999 ? 2 : 1))"
  done; done)" "$(tshark -r "$scratch/rx.pcap" -Y "$network && infiniband.bth.opcode < 100" -T fields \
    -e infiniband.bth.psn -e infiniband.bth.opcode 2>/dev/null | tr '\t' ' ')" "PSNs and opcodes of $network"
done
no_sums_bad "$scratch/rx.pcap"

# As they are: the line's rate, which veth gives as 10 Gbit/s, and no end.
send --preset ipv4_rocev2_rc_send for 50ms
assert_sent '.asked.l1_bits_per_second | . > 9.99e9 and . < 10.01e9'
keep xt send tx0 --preset ipv4_rocev2 for 50ms && fail "a preset that is none"
assert_sentence 'preset' <"$scratch/last.err"
grep -q '^hint: .*ipv4_rocev2_rc_send' "$scratch/last.err" || fail "no hint: $(cat "$scratch/last.err")"
