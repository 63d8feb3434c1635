#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# go-back-N and selective repeat across a bridge that drops the same packets for both: selective
# repeat sends again as many as were dropped, go-back-N all from each of them on.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3
sender_netns=$left sender_port=left0
bridge

# Positions are of packets with that QPN: the 20th, 60th, ...; what is sent again counts too. Each
# packet is acknowledged on its own, so that after a timeout the oldest one is one that is lost.
dropped=40
places=$(seq -s, 20 40 $((40 * dropped)))

# dropping PORT: how often its rule acted since it was added.
dropping() {
  xr --json impair "$1" list >"$scratch/rules.json"
  jq '.rules[0].acted' "$scratch/rules.json"
}
# run MODE DIRECTION VERB...: 200 messages of 10 packets; requests (box0) or answers (box1) are dropped.
psn=0
run() {
  local mode=$1 port=$2
  shift 2
  psn=$(((psn + 0x300000) & 0xffffff))
  keep xr impair "$port" clear || fail "clear: $(cat "$scratch/last.err")"
  keep xr impair "$port" add dest-qp 0x11 opcode "$opcodes" positions "$places" drop || fail "add: $(cat "$scratch/last.err")"
  respond on "$right" right0 --retransmit "$mode"
  send --reliable --retransmit "$mode" --window 512 --timeout 17 dst 192.0.2.2 qp 0x11 psn "$psn" "$@" ack-every 1 rate 40kpps
  end_respond
  assert_sent ".finished and .recovery.failed_qps == 0 and .answers.stray == 0 and .sent.messages == .sent.expected"
  assert_eq "$dropped" "$(dropping "$port")" "packets that the bridge dropped ($mode, $*)"
  keep xr impair "$port" clear
}
again() { sent_of .recovery.retransmitted; }

opcodes=data
for verb in write send; do
  run selective box0 "$verb" pmtu 1024 messages 200 size 10240
  assert_eq "$dropped" "$(again)" "packets sent again by selective repeat, $verb"
  assert_respond ".received.kept > 0 and .received.kept == .received.out_of_order and .received.duplicates == 0
    and .received.in_order == 2000 and .received.message_bytes == 2048000 and .overflow.kept_no_room == 0"
  run go-back-n box0 "$verb" pmtu 1024 messages 200 size 10240
  assert_respond '.received.kept == 0 and .received.in_order == 2000'
  (($(again) > dropped)) || fail "go-back-N sent only $(again) packets again"
done

# Answers of READs: only those that are missing are asked for again.
opcodes=RC_RDMA_READ_RESPONSE_FIRST,RC_RDMA_READ_RESPONSE_MIDDLE,RC_RDMA_READ_RESPONSE_LAST
run selective box1 read pmtu 1024 messages 200 size 10240
assert_eq "$dropped" "$(again)" "READs for what was lost, selective"
assert_sent '.answers.read_responses == 2000 and .answers.kept > 0'
assert_respond '.answered.read_responses == 2040'
run go-back-n box1 read pmtu 1024 messages 200 size 10240
(($(jq .answered.read_responses "$scratch/respond.json") > 2040)) || fail 'go-back-N lost no answer'
unbridge
