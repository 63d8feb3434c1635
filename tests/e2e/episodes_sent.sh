#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Episodes of traffic whose losses are known: a bridge drops packets of `send`, both its ports are
# captured, and the episodes agree with what sender, responder and rule counted.
. "$(dirname "$0")/traffic_lib.sh"
. "$(dirname "$0")/capture_lib.sh"
need jq mergecap
lane3
sender_netns=$left sender_port=left0
bridge

dropped=20
places=$(seq -s, 20 40 $((40 * dropped)))
psn=0
# run MODE VERB...: the merged capture is $scratch/both.pcapng, its episodes $scratch/episodes.json.
run() {
  local mode=$1 first second
  shift
  psn=$(((psn + 0x300000) & 0xffffff))
  keep xr impair box0 clear
  keep xr impair box0 add dest-qp 0x11 opcode data positions "$places" drop || fail "add: $(cat "$scratch/last.err")"
  begin_capture box0 -w "$scratch/requests.pcapng" --snap 128
  first=$capturing
  begin_capture box1 -w "$scratch/answers.pcapng" --snap 128
  second=$capturing
  respond on "$right" right0 --retransmit "$mode"
  send --reliable --retransmit "$mode" --window 512 --timeout 17 dst 192.0.2.2 qp 0x11 psn "$psn" "$@" ack-every 1 rate 20kpps
  end_respond
  for capturing in "$first" "$second"; do
    end_capture INT
    ended_well
  done
  assert_sent '.finished and .recovery.failed_qps == 0'
  mergecap -w "$scratch/both.pcapng" "$scratch/requests.pcapng" "$scratch/answers.pcapng"
  "$XDP_ROCE" --json analyze --episodes "$scratch/both.pcapng" >"$scratch/episodes.json"
  keep xr impair box0 clear
}
found() { jq "$1" "$scratch/episodes.json"; }

for mode in go-back-n selective; do
  for verb in write send; do
    run "$mode" "$verb" pmtu 1024 messages 100 size 10240
    assert_eq "$(sent_of .recovery.retransmitted)" "$(found '[.episodes[].resent_packets] | add')" "packets sent again, $mode $verb"
    # A single packet that a timer sends again cannot be told from a copy.
    [[ $mode == selective ]] || assert_eq "$(sent_of .recovery.timeouts)" "$(found '[.episodes[] | select(.cause == "timeout")] | length')" "timeouts, $mode $verb"
    assert_json "$scratch/episodes.json" '([.episodes[] | select(.cause == "nak")] | length) == .aeth.nak_psn_sequence_error
      and .findings == [] and .following.unpaired == 0 and (.pairs | length) == 1 and .pairs[0].retransmission == "'"$mode"'"'
  done
done
unbridge
