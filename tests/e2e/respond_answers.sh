#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A reliable requester and the responder: every verb, transport and network; each message completes,
# and the counters of both sides agree. ARP and neighbour discovery are answered.
. "$(dirname "$0")/traffic_lib.sh"
need jq python3
lane 4200
xr attach rx0 >/dev/null
xt attach tx0 >/dev/null
respond --address "$to" --address "$to6" --pmtu 4096

flows=() qp=255 packets=0 messages=0 bytes=0 ends=0 end_bytes=0 responses=0
: >"$scratch/wanted"
# flow TRANSPORT PACKETS RESPONSES WORDS... SIZE: 4 messages on one more QP; RESPONSES: the packets that
# answer one of them, 0: ACKs do.
flow() {
  local transport=$1 count=$2 answers=$3
  shift 3
  qp=$((qp + 1))
  flows+=(--flow "$* qp $qp messages 4 transport ${transport,,}")
  packets=$((packets + 4 * count)) messages=$((messages + 4)) responses=$((responses + 4 * answers))
  bytes=$((bytes + 4 * ${!#}))
  # It counts what it was sent, as messages.
  [[ " $* " != *" "@(send|write|send-imm|write-imm|send-inv)" "* ]] || {
    ends=$((ends + 4)) end_bytes=$((end_bytes + 4 * ${!#}))
  }
  printf '%s %s %s\n' "$qp" "$((4 * count))" "$((4 * answers))" >>"$scratch/wanted"
}
verbs() {
  local transport=$1
  shift
  for verb in send send-imm send-inv write write-imm; do flow "$transport" 3 0 "$*" "$verb" pmtu 1024 size 3000; done
  flow "$transport" 2 0 "$*" write pmtu 4096 size 5000
  flow "$transport" 1 0 "$*" send size 0
  flow "$transport" 1 3 "$*" read pmtu 4096 size 10000
  for verb in cmp-swap fetch-add; do flow "$transport" 1 1 "$*" $verb size 8; done
}
verbs RC "${v4[@]}"
verbs RC "${v6[@]}"
verbs RC "${v4[@]}" vlan 7/3
verbs RC "${v6[@]}" vlan 7,9
verbs RC "${v4[@]}" v1
verbs XRC "${v4[@]}"
verbs XRC "${v6[@]}"
# A FLUSH moves nothing: its last word, the bytes, is 0.
flow RC 1 1 "${v4[@]}" flush size 4096 imm 0
flow RC 1 1 "${v6[@]}" flush size 4096 imm 0
flow RC 1 1 "${v4[@]}" atomic-write size 8

send --reliable "${flows[@]}"
assert_sent ".finished and .sent.messages == $messages and .sent.expected == $messages and .sent.message_bytes == $bytes
  and .recovery.failed_qps == 0 and .recovery.failed_messages == 0 and .answers.naks == 0 and (.answers | .invalid_naks + .access_naks + .operational_naks) == 0
  and .answers.bad_icrc_received == 0 and .answers.stray == 0 and .answers.acks > 0"
cp "$scratch/send.json" "$scratch/first.json"
xr --json counters rx0 >"$scratch/rx.json"
xr --json streams rx0 >"$scratch/rx_streams.json"
xt --json streams tx0 >"$scratch/tx_streams.json"

converse_with_host() {
  in_background ip netns exec "$rx" python3 -c 'import socket
s = socket.create_server(("192.0.2.12", 7))
s.accept()[0].sendall(b"x" * 10000)'
  wait_for 10 ip netns exec "$tx" python3 -c 'import socket, sys
c = socket.create_connection(("192.0.2.12", 7), 2)
sys.exit(sum(len(part) for part in iter(lambda: c.recv(65536), b"")) != 10000)' 2>"$scratch/last.err" ||
    fail "the host does not answer $1: $(cat "$scratch/last.err")"
  wait "${background[-1]}"
  unset 'background[-1]'
}
# The port's own address, which the host speaks for; all else is the host's, too.
end_respond
cp "$scratch/respond.json" "$scratch/first_respond.json"
ip -n "$tx" address add 192.0.2.11/24 dev tx0
ip -n "$rx" address add 192.0.2.12/24 dev rx0
respond
converse_with_host "beside respond"
send --reliable dst 192.0.2.12 write size 3000 messages 4
assert_sent '.sent.messages == 4'
converse_with_host "after send"
end_respond
assert_respond '.addresses == ["192.0.2.12"] and .received.messages == 4 and .answered.arp == 0'

# The report of the first one. ARP and ND are asked for each once, or again where it took long.
cp "$scratch/first_respond.json" "$scratch/respond.json"
again=$(jq .recovery.retransmitted "$scratch/first.json")
assert_respond ".received.messages == $ends and .received.message_bytes == $end_bytes
  and .received.in_order == $packets and .received.qps == $((qp - 255)) and (.refused | add) == 0
  and (.overflow | add) == 0 and .answered.arp >= 1 and .answered.nd >= 1 and .answered.naks == 0"
if ((again == 0)); then
  assert_respond ".received.requests == $packets and .received.duplicates == 0
    and .answered.read_responses + .answered.atomic_acks == $responses
    and .answered.packets == .answered.acks + $responses + .answered.arp + .answered.nd"
fi
# The program had counted all that came to the responder.
assert_eq "$(jq '.received.requests' "$scratch/respond.json")" "$(jq '.frames | .rocev2 + .rocev1' "$scratch/rx.json")" "RoCE frames counted at rx0"
assert_eq "$(jq '.answered | .arp + .nd' "$scratch/respond.json")" "$(jq '.frames.other' "$scratch/rx.json")" "other frames counted at rx0"
assert_eq "$(jq '.sent.packets' "$scratch/first.json")" "$(jq '.frames | .rocev2 + .rocev1' "$scratch/rx.json")" "packets sent and counted"
assert_json "$scratch/rx_streams.json" '.streams | all(.gaps == 0 and .messages == 4)'
if ((again == 0)); then
  assert_eq "$(sort -n "$scratch/wanted" | cut -d ' ' -f 1,2)" "$(jq -r '.streams[] | "\(.dest_qp) \(.packets)"' \
    "$scratch/rx_streams.json" | sort -n)" "packets of each QP at rx0"
  assert_eq "$(jq '.answered | .acks + .read_responses + .atomic_acks' "$scratch/respond.json")" \
    "$(jq '[.streams[].packets] | add' "$scratch/tx_streams.json")" "answers counted at tx0"
fi
xr detach rx0 >/dev/null
xt detach tx0 >/dev/null
