#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A reliable requester and a responder across a bridge that drops and duplicates 1 % in both
# directions: every message completes, and the bridge counts the losses.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3
sender_netns=$left sender_port=left0
bridge
# A rule a QP and direction: the first that matches a frame has it.
i=0
for words in 'box0 dest-qp 0x11 drop' 'box0 dest-qp 0x12 duplicate' 'box0 dest-qp 0x13 drop' 'box0 dest-qp 0x14 duplicate' \
  'box1 dest-qp 0x11 duplicate' 'box1 dest-qp 0x12 drop' 'box1 dest-qp 0x13 drop' 'box1 dest-qp 0x14 duplicate'; do
  read -r port key qp action <<<"$words"
  i=$((i + 1))
  keep xr impair "$port" add "$key" "$qp" probability 1% seed $i "$action" || fail "$words: $(cat "$scratch/last.err")"
done
respond on "$right" right0

# lossy MESSAGES SIZE VERB: on all four QPs. Each life of a QP begins far from the one before, as the
# responder takes what is near for a retransmission; drawn PSNs are near once in a hundred times.
psn=0
lossy() {
  local messages=$1 size=$2
  psn=$((psn + 0x300000))
  send --reliable --timeout 12 dst 192.0.2.2 qp 0x11-0x14 psn "$psn" "$3" pmtu 1024 messages "$messages" size "$size" rate 40kpps
  assert_sent ".finished and .sent.messages == 4 * $messages and .sent.message_bytes == 4 * $messages * $size
    and .recovery.failed_qps == 0 and .recovery.failed_messages == 0 and .recovery.retransmitted > 0
    and .answers.bad_icrc_received == 0 and (.answers | .invalid_naks + .access_naks + .operational_naks) == 0 and .answers.stray == 0"
}
lossy 200 10000 write
assert_sent '.answers.naks > 0 and .answers.acks > 0'
lossy 200 10000 send
lossy 100 10000 read
assert_sent '.answers.read_responses >= 4000'
lossy 100 8 fetch-add
end_respond
assert_respond ".received.messages == 1600 and .received.message_bytes == 16000000 and .received.duplicates > 0
  and .answered.naks > 0 and ([.refused[]] | add) == 0"

for port in box0 box1; do
  xr --json impair $port list >"$scratch/rules.json"
  assert_json "$scratch/rules.json" '.rules | length == 4 and all(.acted > 0)'
  xr --json counters $port >"$scratch/$port.json"
done
assert_json "$scratch/box0.json" '.impaired.dropped_programmed > 0 and .impaired.duplicated > 0'
assert_json "$scratch/box1.json" '.impaired.dropped_programmed > 0 and .impaired.duplicated > 0 and .aeth.nak_psn_sequence_error > 0'
# The trackers are before the rules: what was lost after them comes again, from the PSN that was lost.
xr --json streams box0 >"$scratch/streams.json"
assert_json "$scratch/streams.json" '.streams | map(select(.kind == "request")) | length == 4 and all(.missing == 0)
  and (map(.rewinds) | add > 0) and (map(.duplicates) | add > 0)'
unbridge
