#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# analyze_bench.sh [BUILD [PACKETS]]: `analyze` over a capture of 1 KB packets in the page cache, on
# one processor, and tshark over the beginning of the same, asked for three fields of the BTH; and by two threads.
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

# Seconds of a command by the clock, and of processor time.
seconds() {
  local TIMEFORMAT='%R %U %S'
  { time taskset -c "$cpu" "$@" >/dev/null 2>&1; } 2>&1 |
    awk '{ cpu = $2 + $3; print ($1 > 0 ? $1 : 0.001), (cpu > 0 ? cpu : 0.001) }'
}
# result WHAT [TARGET]: the median of numbers, one a line, and the quartiles, as spread.h prints them; at least TARGET.
result() {
  sort -g | awk -v what="$1" -v target="${2-}" '{ v[NR] = $1 }
    function at(part) { return v[1 + int(part * (NR - 1) + 0.5)] }
    END {
      printf "  %-44s %7.2f  %.2f to %.2f", what, at(0.5), at(0.25), at(0.75)
      if (target != "")
        printf("  (must be >= %.2f)%s", target, (at(0.25) >= target ? "" : (at(0.75) >= target ? "  not clear" : "  MISSED")))
      print ""
    }'
}
# Packets a second by the seconds in a column (1 the clock, 2 processor time) of the rounds.
rates() { awk -v n="$2" -v column="$3" '{ print n / $column }' "$1"; }
ratios() {
  paste "$scratch/ours" "$scratch/theirs" |
    awk -v n="$packets" -v m="$part" -v column="$1" '{ print n / $column / (m / $(column + 2)) }'
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
    seconds "$bench" run "$scratch/all.pcap" | awk '{ print $1 / 10, $2 / 10 }' # five rounds with iCRCs, five without
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
echo "packets/s, start to end (median of $rounds, and quartiles)"
rates "$scratch/ours" "$packets" 1 | result "xdp-roce analyze, $packets packets"
rates "$scratch/ours" "$packets" 2 | result "the same by processor time"
if [[ ! -e $scratch/theirs ]]; then
  echo "  tshark: not installed"
  exit 0
fi
rates "$scratch/theirs" "$part" 1 | result "tshark -T fields, $part packets"
rates "$scratch/theirs" "$part" 2 | result "the same by processor time"
ratios 1 | result "ratio, of the pieces of a round" 100
ratios 2 | result "the same by processor time"
