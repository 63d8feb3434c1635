#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bridge marks packets and a responder answers with CNPs: those CNPs are counted as caused by a CE
# mark when they pass the bridge.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3
sender_netns=$left sender_port=left0
respond on "$right" right0 --cnp-interval 1us

# marked RULE...: a bridge with that rule, and all data through it. Between mark and CNP lies this
# machine, at times for longer than the usual window: this one is 5 s. Until three answers
# have shown the sender's QPN, the stream that a CNP slows down is not known (one QP: among several with the same PSNs it stays unknown).
psn=0
marked() {
  psn=$((psn + 0x300000))
  bridge --cnp-window 5000000
  keep xr impair box0 add "$@" || fail "$*: $(cat "$scratch/last.err")"
  send --reliable dst 192.0.2.2 qp 0x11 psn "$psn" ecn ect0 write pmtu 1024 messages 300 size 10000 rate 10kpps
  assert_sent '.finished and .recovery.failed_qps == 0 and .answers.cnps > 20'
  xr --json counters box1 >"$scratch/box1.json"
  assert_json "$scratch/box1.json" ".cnp_causes | .after_ce > 0 and .after_neither == 0"
  unbridge
}
marked ecn ect0 ce
marked opcode data red 0 1 100% rate 1mbit max 10M
marked opcode data ce set dscp 5
