#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installed experiments, whole: what they expect holds in namespaces.
. "$(dirname "$0")/run_lib.sh"
need_root
need jq

for name in drop-nth jitter dcqcn-eight mark-response ring-frames; do measures 0 "$name"; done
# Six minutes whole: two points of each kind.
measures 0 retransmit --out "$scratch/retransmit" --set duration=5s \
  --set 'sweep={rules.1: ["opcode data probability 0.2% drop seed 7 name lose", "opcode data probability 2% drop seed 7 name lose"],
    reliability.retransmit: [go-back-n, selective]}'
# With 2 % lost, go-back-N carries many copies, selective repeat few.
assert_json "$scratch/last.out" '[.points[].verdict] == ["pass", "pass", "pass", "pass"]'
accepted() { jq '.flows[0].bytes' "$scratch/retransmit"/*"probability-$1-"*"retransmit=$2/result.json"; }
awk -v back="$(accepted 2 go-back-n)" -v selective="$(accepted 2 selective)" 'BEGIN { exit !(selective > 1.5 * back) }' ||
  fail "with 2 % lost: go-back-N $(accepted 2 go-back-n) bytes, selective repeat $(accepted 2 selective)"
