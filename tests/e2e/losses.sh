#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# "Lost before here" of the ports next to a bridge, in the kernel, against the number of packets that the bridge's rule
# dropped: go-back-N of WRITE, SEND and READ at 0.1 to 20 %, selective repeat, packets that come late, and both.
. "$(dirname "$0")/traffic_lib.sh"
. "$(dirname "$0")/wire_lib.sh"
need jq
lane3
sender_netns=$left sender_port=left0
at_end() {
  local ns=$1
  shift
  "$XDP_ROCE" --netns "$ns" "$@"
}
at_end "$left" attach left0 >/dev/null
at_end "$right" attach right0 >/dev/null

# lossy NAME PORT RULE WORDS...: `send` with these words, with a rule of the port that the data enter.
# Then $dropped is what the rule did, and $lost and $most what the port says that receives them.
psn=0
lossy() {
  local name=$1 port=$2 rule=$3 ns=$right receiver=right0
  shift 3
  [[ $port == box0 ]] || ns=$left receiver=left0
  psn=$(((psn + 0x180000) % 0xe00000))
  keep xr impair "$port" clear
  # shellcheck disable=SC2086 # words
  [[ -z $rule ]] || keep xr impair "$port" add $rule seed 7 || fail "$rule: $(cat "$scratch/last.err")"
  keep at_end "$ns" impair "$receiver" zero --streams || fail "zero: $(cat "$scratch/last.err")"
  send dst 192.0.2.2 qp 0x51 qps 4 psn "$psn" pmtu 1024 rate 100mbit --reliable --timeout 12 --retries 255 "$@"
  assert_sent '.finished and .recovery.failed_qps == 0'
  at_end "$ns" --json streams "$receiver" >"$scratch/receiver.json"
  dropped=$(xr --json impair "$port" list | jq '[.rules[] | select(.rule | contains("drop")).acted] | add // 0')
  lost=$(fact lost) most=$(fact lost_most)
  printf '%-28s %6d dropped, %6d to %6d said to be lost\n' "$name" "$dropped" "$lost" "$most"
}
fact() { jq ".summary.facts[] | select(.name == \"$1\").value" "$scratch/receiver.json"; }

# holds PERCENT [MOST [TOO]]: not more than were dropped (than TOO percent), so many of them but for two, and the most is
# not fewer (than MOST percent of them).
holds() {
  ((100 * lost <= ${3:-100} * dropped && 100 * (lost + 2) >= $1 * dropped && 100 * most >= ${2:-100} * dropped)) ||
    fail "$dropped were dropped: $(jq .summary.text "$scratch/receiver.json")"
}

bridge
respond on "$right" right0
# At 100 Mbit/s the requester goes back by a few packets only, so that many losses are just before a go-back. At 20 % what
# a timer sends alone is often lost, too, and nothing shows it.
declare -A least=([0.1]=90 [1]=80 [2]=70 [5]=55 [20]=15)
for percent in 0.1 1 2 5 20; do
  for verb in write send; do
    lossy "$verb, $percent %" box0 "opcode data probability $percent% drop" "$verb" size 32k messages 12
    holds "${least[$percent]}" "$(((${percent%.*} == 20) ? 90 : 100))"
  done
  # A timer that expires on a busy machine asks again for answers that were on their way: then it is tried again.
  for _ in 1 2 3; do
    lossy "read, $percent %" box1 "opcode data probability $percent% drop" read size 32k messages 12
    ((100 * lost > 102 * dropped)) || break
  done
  holds "$((least[$percent] / 2))" 90 102 # of answers more is unsure: those between two may not have been requested
done
# A timer that expires on a busy machine is a go-back, and nothing shows whether the packets before it came.
for _ in 1 2 3; do
  lossy "nothing" box0 "" write size 32k messages 12
  assert_eq 0 "$lost" "without a rule"
  ((most > 0)) || break
done
((most == 0)) || assert_sent '.recovery.timeouts > 0'
end_respond

# Without its NAKs, which go the other way, what selective repeat sends again alone looks late: a range.
respond on "$right" right0 --retransmit selective
# What a timer sends again looks late too: on a busy machine there are more of these, so it may be tried again.
for percent in 1 5; do
  for _ in 1 2 3; do
    lossy "selective, $percent %" box0 "opcode data probability $percent% drop" write size 32k messages 12 --retransmit selective
    ((most * 100 < dropped * 90)) || break
  done
  holds 0 90
done
end_respond
unbridge

# Packets that come late, and both.
begin_wire
respond on "$right" right0
lossy "late" box0 "opcode data probability 1% delay 200us" write size 32k messages 12
((lost <= 2)) || fail "nothing was dropped: $(jq .summary.text "$scratch/receiver.json")"
end_respond
