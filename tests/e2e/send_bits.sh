#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a flow can set: every bit of the BTH, any opcode, the headers of RD, a group's MAC, sequences of
# frames. scapy and tshark read them, with right iCRCs; rules find the same bits, and counters count them.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark
/usr/bin/python3 -c 'import scapy.contrib.roce' 2>/dev/null || skip "needs scapy"
lane
xr attach rx0

# Words, and the fields from SE to reserved (7) that they make: UC sets none by itself.
bits=('=0 0 0 0 65535 0 0 0 0 0' 'se=1 0 0 0 65535 0 0 0 0 0' 'migreq 1=0 1 0 0 65535 0 0 0 0 0'
  'padcnt 2=0 0 2 0 65535 0 0 0 0 0' 'pkey 0x8001=0 0 0 0 32769 0 0 0 0 0' 'fecn=0 0 0 0 65535 1 0 0 0 0'
  'becn 1=0 0 0 0 65535 0 1 0 0 0' 'resv6 0x2a=0 0 0 0 65535 0 0 42 0 0' 'ack-req 1=0 0 0 0 65535 0 0 0 1 0'
  'resv7 0x55=0 0 0 0 65535 0 0 0 0 85' 'tver 9=0 0 0 9 65535 0 0 0 0 0'
  'se migreq padcnt 3 tver 15 pkey 0 fecn becn resv6 63 ack-req 1 resv7 127=1 1 3 15 0 1 1 63 1 127')
bit_flows=()
: >"$scratch/wanted"
for network in "${v4[*]}" "${v6[*]}"; do
  for i in "${!bits[@]}"; do
    bit_flows+=(--flow "$network ${at[*]} transport uc size 100 messages 3 psn 0xffffff qp $((0x100 + i)) ${bits[i]%%=*}")
    for psn in 16777215 0 1; do
      echo "$((0x100 + i)) 36 ${bits[i]#*=} $psn" >>"$scratch/wanted"
    done
  done
done
observe_rx "$scratch/bits.pcap"
send "${bit_flows[@]}" --rate 10kpps
assert_sent '.finished and .sent.packets == 72'
observed_rx 72
/usr/bin/python3 "$(dirname "$0")/bth_fields.py" "$scratch/bits.pcap" >"$scratch/scapy" || fail "scapy reads other frames"
assert_eq "$(sort "$scratch/wanted")" "$(sort "$scratch/scapy")" "BTHs as scapy reads them"
tshark -r "$scratch/bits.pcap" -T fields -E separator=' ' -e infiniband.bth.destqp -e infiniband.bth.opcode -e infiniband.bth.se \
  -e infiniband.bth.m -e infiniband.bth.padcnt -e infiniband.bth.tver -e infiniband.bth.p_key -e infiniband.bth.a \
  -e infiniband.bth.psn 2>/dev/null | while read -r qp op se m pad tver pkey a psn; do
  echo $((qp)) "$op" "$se" "$m" "$pad" "$tver" $((pkey)) "$a" "$psn"
done >"$scratch/tshark"
assert_eq "$(cut -d ' ' -f 1-7,11,13 "$scratch/scapy")" "$(sed 's/True/1/g; s/False/0/g' "$scratch/tshark")" "BTHs as tshark reads them"
# Another version makes a frame malformed to everybody.
await_frames 72
xr --json counters rx0 >"$scratch/counters.json"
assert_json "$scratch/counters.json" '.frames.rocev2 == 60 and .frames.malformed == 12'

# Rules for these bits: each flow counts in the first rule that matches it.
i=0
for rule in 'tver 15' 'not tver 0' 'se 1' 'migreq 1' 'padcnt 1-3' 'not pkey 0xffff' 'fecn 1' 'becn 1' 'resv6 0x2a' 'ack-req 1' \
  'not resv7 0' 'resv6 0 resv7 0 padcnt 0 tver 0'; do
  # shellcheck disable=SC2086 # words
  xr impair rx0 add $rule drop name "r$((i++))" >/dev/null
done
send "${bit_flows[@]}" --rate 10kpps
await_frames 144
assert_eq "$(for ((n = 0; n < i; n++)); do echo "r$n 6 6"; done | sort)" \
  "$(xr --json impair rx0 list | jq -r '.rules[] | "\(.name) \(.matched) \(.acted)"' | sort)" "packets that each rule matched"
xr impair rx0 clear

# Every opcode there is, over both networks.
observe_rx "$scratch/opcodes.pcap"
all=$(seq -s , 0 255)
send --flow "${v4[*]} ${at[*]} opcode $all size 64 frames 256 qp 0x200 psn 0" --flow "${v6[*]} ${at[*]} opcode $all size 61 frames 256 qp 0x201 psn 5" \
  --rate 10kpps
assert_sent '.finished and .sent.packets == 512 and .sent.messages == 512'
observed_rx 512
/usr/bin/python3 "$(dirname "$0")/bth_fields.py" "$scratch/opcodes.pcap" >"$scratch/scapy" || fail "scapy reads other frames"
assert_eq "$(seq 0 255; seq 0 255)" "$(sort -s -k 1,1n "$scratch/scapy" | cut -d ' ' -f 2)" "opcodes in turn"
assert_eq "0 0 1 0" "$(awk '$1 == 512 && $2 == 129 { print $6, $8, $9, $13 }' "$scratch/scapy")" "TVer, FECN, BECN and PSN of the CNP"
assert_eq "$(seq 0 254)" "$(awk '$1 == 512 && $2 != 129 { print $13 }' "$scratch/scapy")" "PSNs of the others"
assert_eq "$(cut -d ' ' -f 2 "$scratch/scapy")" "$(tshark -r "$scratch/opcodes.pcap" -T fields -e infiniband.bth.opcode 2>/dev/null)" "opcodes to tshark"
await_frames $((144 + 512))
xr --json counters rx0 >"$scratch/counters.json"
assert_json "$scratch/counters.json" '.frames.malformed == 24 and .frames.cnp == 2 and
  ([.opcodes[] | select(.opcode != 36) | .packets] | unique == [2] and length == 255)'
"$XDP_ROCE" --json analyze "$scratch/opcodes.pcap" >"$scratch/analyzed.json"
assert_analyzed '.icrc == {checked: 512, bad: 0, zero: 0} and .frames.rocev2 == 512'

# The headers of RD, sequences of frames, and groups.
observe_rx "$scratch/rd.pcap"
send "${v4[@]}" "${at[@]}" transport rd write size 3000 messages 2 qp 0x300 src-qp 0x301 ee-context 0xabcdef qkey 0x12345678 psn 7
send "${v4[@]}" "${at[@]}" opcode RD_ACKNOWLEDGE,RD_RDMA_READ_RESPONSE_ONLY,RD_FETCH_ADD qp 0x300 src-qp 0x301 ee-context 5 \
  syndrome 0x62 qkey 1 size 16 frames 3
send "${v4[@]}" "${at[@]}" frames 10 repeat 3 qp 0x302
assert_sent '.finished and .sent.packets == 30 and .sent.messages == 3'
send src "$from" dst 239.129.2.3 transport ud frames 2 qp 0xffffff
send src "$from6" dst ff0e::1234:5678 transport ud frames 1 repeat 2 qp 0xffffff
observed_rx 43
# tshark 4.0 reads RD's headers 8 bytes too late, so here they are as IBA vol. 1, 9.3 has them: RDETH, DETH,
# then RETH, AETH or AtomicETH, after the 54 bytes up to the BTH's end.
declare -A length=([46]=28 [47]=12 [48]=12 [51]=8 [50]=8 [54]=40)
while read -r frame; do
  op=${frame:84:2}
  [[ ${frame:94:6} != 000300 ]] || echo "$op ${frame:100:1} ${frame:108:2*${length[$op]}}"
done < <(frames roce "$scratch/rd.pcap") >"$scratch/rd"
deth=00abcdef1234567800000301
messages="46 0 ${deth}00000000000100000000123400000bb8
47 0 $deth
48 8 $deth"
fetch_add=00000000000100000000123400000000000000010000000000000000
assert_eq "$messages
$messages
51 0 0000000562000000
50 0 0000000562000001
54 8 000000050000000100000301$fetch_add" "$(cat "$scratch/rd")" "RD's headers"
assert_eq "3 0 24 1 3 2" "$(tshark -r "$scratch/rd.pcap" -Y 'infiniband.bth.destqp == 0x302' \
  -T fields -e infiniband.bth.opcode 2>/dev/null | sort -n | uniq -c | xargs)" "frames of three sequences by opcode"
assert_eq "01:00:5e:01:02:03,239.129.2.3,
33:33:12:34:56:78,,ff0e::1234:5678" "$(tshark -r "$scratch/rd.pcap" -Y 'infiniband.bth.destqp == 0xffffff' -T fields -E separator=, -e eth.dst -e ip.dst \
  -e ipv6.dst 2>/dev/null | uniq)" "MACs of groups"
/usr/bin/python3 "$(dirname "$0")/bth_fields.py" "$scratch/rd.pcap" >/dev/null || fail "scapy reads other frames"

# What only an open loop can send.
for words in 'opcode RC_SEND_ONLY' 'tver 1' 'transport rd' 'ack-req 0'; do
  # shellcheck disable=SC2086
  keep xt send tx0 "${v4[@]}" "${at[@]}" $words messages 1 --reliable && fail "$words with --reliable"
  assert_sentence "${words%% *}" <"$scratch/last.err"
done
xr detach rx0

# With answers: a responder takes what does not concern it, and every sequence is completed.
respond --address "$to"
send "${v4[@]}" qp 0x400 frames 10 repeat 3 se migreq padcnt 1 fecn becn resv6 0x2a resv7 0x55 --reliable
assert_sent '.finished and .sent.packets == 30 and .sent.messages == 3 and .sent.message_bytes == 30720 and .answers.acks >= 1'
end_respond
