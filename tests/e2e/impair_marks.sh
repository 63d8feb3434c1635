#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a bridge marks, a responder answers with CNPs: those that pass the bridge on their way back count
# as sent for a mark, not for nothing that was seen.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane3
sender_netns=$left sender_port=left0
respond on "$right" right0 --cnp-interval 1us

# marked RULE...: a bridge with that rule, and all data through it. Between mark and CNP lies this
# machine, so that a second is allowed. Until three answers have told the sender's QPN, the stream that
# a CNP slows down is not known.
psn=0
marked() {
  local cause=$1
  shift
  psn=$((psn + 0x300000))
  bridge --cnp-window 1000000
  keep xr impair box0 add "$@" || fail "$*: $(cat "$scratch/last.err")"
  send --reliable dst 192.0.2.2 qp 0x11-0x14 psn "$psn" ecn ect0 write pmtu 1024 messages 50 size 10000 rate 20kpps
  assert_sent '.finished and .recovery.failed_qps == 0 and .answers.cnps > 100'
  xr --json counters box1 >"$scratch/box1.json"
  assert_json "$scratch/box1.json" ".cnp | .$cause > 100 and .after_ce + .after_neither == .$cause"
  unbridge
}
marked after_ce ecn ect0 ce
marked after_ce opcode data red 0 1 100% rate 1mbit
marked after_ce opcode data ce set dscp 5
