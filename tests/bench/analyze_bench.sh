#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# analyze_bench.sh [BUILD [PACKETS]]: `analyze` over a capture of 1 KB packets in the page cache, on
# one processor, and tshark over the beginning of the same, asked for three fields of the BTH.
# BUILD is a build directory (build/release) or the xdp-roce in it, PACKETS 2000000. Needs 1.1 KB of
# disk a packet.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-$root/build/release}
build=${build%/userspace/cli/xdp-roce}
packets=${2:-2000000}
part=$((packets / 20))
cpu=$(($(nproc) - 1))
bench=$build/tests/bench/analyze_bench
cli=$build/userspace/cli/xdp-roce
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/analyze-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
[[ -x $bench ]] || { echo "analyze_bench.sh: no $bench: build it first" >&2; exit 2; }

# Processor seconds of a command.
seconds() {
  local TIMEFORMAT='%U %S'
  { time taskset -c "$cpu" "$@" >/dev/null 2>&1; } 2>&1 | awk '{ s = $1 + $2; print (s > 0 ? s : 0.001) }'
}
# The median of numbers, one a line, and the quartiles as "LOW to HIGH".
spread() {
  sort -n | awk '{ v[NR] = $1 }
    function at(part) { return v[1 + int(part * (NR - 1) + 0.5)] }
    END { printf "%.0f  %.0f to %.0f\n", at(0.5), at(0.25), at(0.75) }'
}

"$bench" make "$scratch/all.pcap" "$packets"
"$bench" make "$scratch/part.pcap" "$part"
cat "$scratch"/*.pcap >/dev/null # into the page cache
echo "$packets packets of 1082 bytes, processor $cpu, load $(cut -d' ' -f1 /proc/loadavg)"
taskset -c "$cpu" "$bench" run "$scratch/all.pcap"
taskset -c "$cpu" "$bench" episodes "$scratch/all.pcap"
taskset -c "$cpu" "$bench" latency "$scratch/all.pcap"
# By two threads: one file of one pair of hosts, and two files whose times overlap.
"$bench" make "$scratch/one.pcap" $((packets / 4)) 1
"$bench" make "$scratch/two.pcap" $((packets / 4)) 8
cat "$scratch/one.pcap" "$scratch/two.pcap" >/dev/null
echo "load $(cut -d' ' -f1 /proc/loadavg), $(nproc) processors"
"$bench" jobs "$scratch/one.pcap"
"$bench" jobs "$scratch/one.pcap" "$scratch/two.pcap"

ours() {
  if [[ -x $cli ]]; then seconds "$cli" --json analyze "$scratch/all.pcap"; else
    seconds "$bench" run "$scratch/all.pcap" | awk '{ print $1 / 10 }' # five rounds with iCRCs, five without
  fi
}
fields=(-e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn)
rounds=9
# In turn, every second round the other one first.
for ((round = 0; round < rounds; round++)); do
  ((round % 2)) || ours >>"$scratch/ours"
  ! command -v tshark >/dev/null || seconds tshark -r "$scratch/part.pcap" -T fields "${fields[@]}" >>"$scratch/theirs"
  ((round % 2 == 0)) || ours >>"$scratch/ours"
done
echo "packets/s of processor time, start to end (median of $rounds, and quartiles)"
echo "  xdp-roce analyze, $packets packets: $(awk -v n="$packets" '{ print n / $1 }' "$scratch/ours" | spread)"
if [[ ! -e $scratch/theirs ]]; then
  echo "  tshark: not installed"
  exit 0
fi
echo "  tshark -T fields, $part packets: $(awk -v n="$part" '{ print n / $1 }' "$scratch/theirs" | spread)"
echo "  ratio, of the pieces of a round: $(paste "$scratch/ours" "$scratch/theirs" |
  awk -v n="$packets" -v m="$part" '{ print n / $1 / (m / $2) }' | spread)"
