#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The requester's counters agree with the port's counters and with a capture: every PMTU, network,
# transport and verb; then 10,000 QPs.
. "$(dirname "$0")/traffic_lib.sh"
need jq tcpdump tshark
lane 4200
xr attach rx0 --streams 16384
observe "$rx" rx0 "$scratch/rx.pcap"

flows=() qp=255 packets=0 messages=0
declare -A ops=()
: >"$scratch/wanted"
# flow KIND TRANSPORT 'OPCODE:PACKETS...' MESSAGES WORDS...: one more QP, and what is to come of it.
flow() {
  local kind=$1 transport=$2 wanted=$3 count=$4 one sum=0
  shift 4
  qp=$((qp + 1))
  for one in $wanted; do
    ops[$((${one%:*}))]=$((${ops[$((${one%:*}))]:-0} + ${one#*:}))
    sum=$((sum + ${one#*:}))
  done
  packets=$((packets + sum)) messages=$((messages + count))
  printf '%s %s %s %s %s\n' "$qp" "$kind" "$transport" "$sum" "$count" >>"$scratch/wanted"
  flows+=(--flow "$* qp $qp messages $count transport ${transport,,} dst-mac $to_mac")
}

for pmtu in 256 512 1024 2048 4096; do
  n=$(((10001 + pmtu - 1) / pmtu))
  for network in "${v4[*]}" "${v6[*]}" "${v4[*]} v1" "${v6[*]} v1" "${v4[*]} vlan 7/3" "${v4[*]} vlan 7,5/3" \
    "${v6[*]} vlan 9" "${v6[*]} vlan 9,10"; do
    flow request RC "6:2 7:$((2 * n - 4)) 8:2" 2 "$network write size 10001 pmtu $pmtu"
  done
done

# verbs KIND TRANSPORT PREFIX 'VERB SIZE OPCODE...'...: 2 messages each, a packet of each opcode.
verbs() {
  local transport=$1 prefix=$2 words verb size all op
  shift 2
  for words; do
    read -r verb size all <<<"$words"
    words=
    for op in $all; do words+="$((prefix + op)):2 "; done
    flow "$([[ $transport == UD ]] && echo datagram || echo request)" "$transport" "$words" 2 \
      "${v4[*]} $verb size $size"
  done
}
both=('send 3000 0 1 2' 'send-imm 3000 0 1 3' 'write 3000 6 7 8' 'write-imm 3000 6 7 9' 'send 2048 0 2'
  'send 99 4' 'send-imm 98 5' 'write 97 0xa' 'write-imm 1024 0xb' 'send 0 4')
more=('send-inv 2049 0 1 0x16' 'send-inv 3 0x17' 'read 3000 0xc' 'cmp-swap 8 0x13' 'fetch-add 8 0x14')
verbs RC 0 "${both[@]}" "${more[@]}" 'flush 4096 0x1c' 'atomic-write 8 0x1d'
verbs UC 0x20 "${both[@]}"
verbs XRC 0xa0 "${both[@]}" "${more[@]}"
verbs UD 0x60 'send 777 4' 'send-imm 1024 5'

send "${flows[@]}" --rate 50kpps
assert_sent ".finished and .sent.packets == $packets and .sent.messages == $messages
  and .sent.expected == $packets and ([.faults[], .overflow[]] | add) == 0"
observed "$packets"
same_report "$scratch/rx.pcap"
assert_json "$scratch/capture.json" ".frames.total == $packets and .icrc.checked == $packets
  and .icrc.bad == 0 and .frames.malformed == 0 and .bytes.total == $(sent_of .sent.bytes)"
assert_eq "$(for op in "${!ops[@]}"; do echo "$op ${ops[$op]}"; done | sort -n)" \
  "$(jq -r '.opcodes[] | "\(.opcode) \(.packets)"' "$scratch/counters.json" | sort -n)" "packets by opcode"
assert_eq "$(sort -n "$scratch/wanted")" "$(jq -r '.streams[] |
  "\(.dest_qp) \(.kind) \(.transport) \(.packets) \(.messages)"' "$scratch/streams.json" | sort -n)" \
  "packets and messages by stream"
assert_json "$scratch/streams.json" '.streams | all([.gaps, .skipped, .missing, .duplicates, .rewinds,
  .reordered, .resyncs, .jumps] | add == 0)'
no_sums_bad "$scratch/rx.pcap"

# 10,000 QPs in turn: 2 messages of 2 packets for each.
send "${v4[@]}" "${at[@]}" qp 0x10000 qps 10000 send size 300 pmtu 256 messages 2 rate 100kpps
assert_sent '.sent.packets == 40000 and .sent.messages == 20000 and .sent.message_bytes == 6000000'
await_frames $((packets + 40000))
xr --json streams rx0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams | map(select(.dest_qp >= 65536)) | length == 10000 and
  (map(.dest_qp) | unique | length == 10000 and .[0] == 65536 and .[-1] == 75535) and
  all(.packets == 4 and .messages == 2 and .gaps == 0 and .duplicates == 0)'
xr detach rx0
