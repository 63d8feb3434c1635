#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# send --verify across a bridge: what is written is read back; packets that the bridge corrupts are
# found where the responder takes them in spite of their iCRC, and mended where it does not.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3
sender_netns=$left sender_port=left0
bridge

# verify FLOW...: over a bridge with the rule of $rule.
verify() {
  keep xr impair box0 clear || fail "clear: $(cat "$scratch/last.err")"
  # shellcheck disable=SC2086 # words
  [[ -z $rule ]] || keep xr impair box0 add $rule || fail "add: $(cat "$scratch/last.err")"
  verified=0
  keep xt --json send "$sender_port" --verify dst 192.0.2.2 "$@" || verified=$?
  cp "$scratch/last.out" "$scratch/send.json"
}
clean='.verified.different_packets == 0 and .verified.different_bytes == 0 and (.differences | length) == 0 and .recovery.failed_qps == 0'

respond on "$right" right0 --memory 4MB
rule=
verify write size 20000 messages 25 qp 0x11 qps 4
assert_eq 0 "$verified" "exit status ($(cat "$scratch/last.err"))"
assert_sent "$clean and .verified.messages == 100 and .verified.bytes == 2000000 and .sent.messages == 200"
verify write size 1-9000 messages 50 qp 0x21 --verify-memory 2MB
assert_sent "$clean and .verified.messages == 50"
# A wrong iCRC: the responder drops the packet, it is sent again.
rule='dest-qp 0x31 opcode data every 50 corrupt payload'
verify write size 20000 messages 25 qp 0x31
assert_eq 0 "$verified" "exit status ($(cat "$scratch/last.err"))"
assert_sent "$clean and .verified.messages == 25 and .recovery.retransmitted > 0"
end_respond
(($(jq .refused.bad_icrc "$scratch/respond.json") >= 5)) || fail 'nothing was corrupted'

# With a responder that accepts wrong iCRCs.
respond on "$right" right0 --memory 4MB --any-icrc
rule='dest-qp 0x41 opcode data positions 30,100 corrupt payload'
verify write size 20000 messages 10 pmtu 1024 qp 0x41
assert_eq 1 "$verified" 'exit status'
assert_sent '.verified.messages == 10 and .verified.different_packets == 2
  and .differences[0].qp == 65 and .differences[0].message == 1
  and .differences[0].offset >= 9216 and .differences[0].offset < 10240
  and .differences[1].message == 4 and .differences[0].va == 65536 + .differences[0].offset
  and (.differences | all(.written != .read))'
grep -q 'differ from those written, in 2 packets; the first: QP 0x41, message 1,' "$scratch/last.err" ||
  fail "what it says: $(cat "$scratch/last.err")"
end_respond

# No memory: generated data comes back.
respond on "$right" right0
rule=
verify write size 5000 messages 2 qp 0x51
assert_eq 1 "$verified" 'exit status'
grep -q '^hint: the peer needs memory' "$scratch/last.err" || fail "what it says: $(cat "$scratch/last.err")"
end_respond
misused 'writes no memory' xt send "$sender_port" --verify dst 192.0.2.2 "${at[@]}" send size 8 messages 1
unbridge
