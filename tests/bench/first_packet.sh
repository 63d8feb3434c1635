#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# first_packet.sh [RUNS]: time from the start of `run --on namespaces` to its first data packet, as its own capture has it, and how
# much processor time it took until the end. Root. XDP_ROCE: the program.
set -euo pipefail
runs=${1:-9}
program=${XDP_ROCE:-$(dirname "$0")/../../build/release/userspace/cli/xdp-roce}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/incast.yaml" <<'END'
experiment: incast of four
duration: 1ms
topology: {star: {senders: 4, rate: 40gbit, delay: 1us}}
queue: {words: "buffer 12MB red 5k 200k 1%"}
congestion: "dcqcn preset paper"
capture: [{at: left, snap: 128}]
flows: [{from: all, to: receiver, words: "write size 1M"}]
END
{ cat "$scratch/incast.yaml"; echo 'rules: ["qp 1 psn 5 iter 1 drop"]'; } >"$scratch/rule.yaml"

# quartiles < numbers: the median and the quartiles.
quartiles() { sort -n | awk '{ v[NR] = $1 } function at(p) { return v[1 + int(p * (NR - 1) + 0.5)] } END { printf "%.2f s (%.2f .. %.2f)", at(0.5), at(0.25), at(0.75) }'; }
# measure NAME WHAT
measure() {
  local n begun first
  : >"$scratch/first" && : >"$scratch/cpu"
  for ((n = 0; n < runs; n++)); do
    rm -rf "$scratch/out"
    begun=$(date +%s.%N)
    "$program" run "$scratch/$1.yaml" --on namespaces --scale 1/500 --out "$scratch/out" >/dev/null 2>"$scratch/err" || [[ -e $scratch/out/result.json ]] || {
      cat "$scratch/err" >&2
      exit 1
    }
    first=$(tshark -r "$scratch/out/left.pcapng" -Y 'infiniband.bth.opcode < 13' -c 100 -T fields -e frame.time_epoch 2>/dev/null | head -n 1)
    awk -v first="$first" -v begun="$begun" 'BEGIN { print first - begun }' >>"$scratch/first"
    jq .cpu_s "$scratch/out/result.json" >>"$scratch/cpu"
  done
  printf '%-34s %s   CPU %s   of %d, load %s\n' "$2" "$(quartiles <"$scratch/first")" "$(quartiles <"$scratch/cpu")" "$runs" "$(cut -d ' ' -f 1 /proc/loadavg)"
}
measure incast "incast, first packet after"
measure rule "incast with a rule"
