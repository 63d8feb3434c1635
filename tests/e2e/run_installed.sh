#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The installed experiments with rules, whole: what they expect holds in namespaces.
. "$(dirname "$0")/run_lib.sh"
need_root
need jq

measures 0 drop-nth
measures 0 jitter
measures 0 retransmit --out "$scratch/retransmit"
# With 2 % lost, go-back-N carries many copies, selective repeat few.
assert_json "$scratch/last.out" '[.points[].verdict] == ["pass", "pass", "pass", "pass"]'
accepted() { jq '.flows[0].bytes' "$scratch/retransmit"/*"probability-$1-"*"retransmit=$2/result.json"; }
awk -v back="$(accepted 2 go-back-n)" -v selective="$(accepted 2 selective)" 'BEGIN { exit !(selective > 1.5 * back) }' ||
  fail "with 2 % lost: go-back-N $(accepted 2 go-back-n) bytes, selective repeat $(accepted 2 selective)"
