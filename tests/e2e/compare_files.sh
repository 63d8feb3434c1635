#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# compare and analyze of files: a corrupted packet and a copy beside retransmissions of the same bytes, no packet in
# common, a file that is named twice.
. "$(dirname "$0")/lib.sh"
need jq tshark

# One packet of A arrives with another iCRC; its retransmission is whole. tshark reads which.
icrcs() { gzip -dc "$1" | tshark -r - -T fields -e infiniband.bth.psn -e infiniband.invariant.crc 2>/dev/null | sort; }
read -ra pair <<<"$XR_DATA/cases/compare_corrupt_A.pcap.gz $XR_DATA/cases/compare_corrupt_B.pcap.gz"
assert_eq 1 "$(comm -13 <(icrcs "${pair[0]}") <(icrcs "${pair[1]}") | wc -l)" "packets with another iCRC, by tshark"
keep "$XDP_ROCE" --json compare "${pair[@]}" || fail "compare: $(cat "$scratch/last.err")"
assert_json "$scratch/last.out" '[.between[] | [.matched, .lost, .corrupted, .only_to, .reordered]] == [[80, 0, 1, 0, 0], [60, 0, 0, 0, 0]]'
assert_json "$scratch/last.out" '.nothing_in_common == [] and all(.between[]; .min_us == 20 and .max_us == 20)'

# A copy of one packet, whose retransmission is lost.
read -ra pair <<<"$XR_DATA/cases/compare_dup_A.pcap.gz $XR_DATA/cases/compare_dup_B.pcap.gz"
keep "$XDP_ROCE" --json compare "${pair[@]}" || fail "compare: $(cat "$scratch/last.err")"
assert_json "$scratch/last.out" '[.between[] | [.matched, .lost, .duplicated, .only_to, .reordered]] == [[79, 1, 1, 0, 0], [60, 0, 0, 0, 0]]'
assert_json "$scratch/last.out" '.clocks[0].offset == "both_directions" and all(.between[]; .min_us == 20 and .max_us == 20)'

# What enters the two ports of a bridge: requests, and answers.
file=$scratch/whole.pcap
gzip -dcf "$(capture loss_rc_send_v4)" >"$file"
sender=$(tshark -r "$file" -Y 'infiniband.bth.opcode == 0' -T fields -e ip.src 2>/dev/null | head -n 1)
tshark -r "$file" -Y "ip.src == $sender" -w "$scratch/left.pcap" 2>/dev/null
tshark -r "$file" -Y "ip.dst == $sender" -w "$scratch/right.pcap" 2>/dev/null
no_verdict() { # WHY CAPTURE...
  exits 1 "$XDP_ROCE" --json compare "${@:2}"
  assert_sentence 'no packet in common' <"$scratch/last.err"
  assert_json "$scratch/last.out" "[.nothing_in_common[] | [.first, .second, .why]] == [[\"A\", \"B\", \"$1\"]]"
  assert_json "$scratch/last.out" 'all(.streams[]; .where_lost == null) and all(.streams[], .between[]; .lost + .only_to == 0)'
  exits 1 "$XDP_ROCE" compare "${@:2}"
  grep -q '^NOTHING IN COMMON' "$scratch/last.out" || fail "text says nothing"
  ! grep -qE 'between A|nothing lost' "$scratch/last.out" || fail "a verdict in the text"
}
no_verdict directions "$scratch/left.pcap" "$scratch/right.pcap"
no_verdict times "$file" "$XR_DATA/cases/compare_dup_A.pcap.gz"
head -c 24 "$file" >"$scratch/empty.pcap" # its header
no_verdict no_packets "$file" "$scratch/empty.pcap"

# A file that is named twice.
cp "$file" "$scratch/same.pcap"
ln -s "$file" "$scratch/link.pcap"
twice() { # WORDS ARGUMENT...
  exits 2 "$XDP_ROCE" "${@:2}"
  assert_sentence "$1" <"$scratch/last.err"
  [[ ! -s $scratch/last.out ]] || fail "a report of ${*:2}"
}
for command in analyze compare; do
  twice 'is given twice' "$command" "$file" "$file"
  twice 'are the same file' "$command" "$file" "$scratch/./whole.pcap"
  twice 'are the same file' "$command" "$file" "$scratch/same.pcap" "$scratch/link.pcap"
  keep "$XDP_ROCE" "$command" "$file" "$scratch/same.pcap" || fail "$command: $(cat "$scratch/last.err")"
done
twice 'are the same file|is given twice' analyze "$scratch" "$file"
twice 'port eth7 is given twice' compare eth7 eth7 --for 1s
