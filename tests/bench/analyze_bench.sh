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
part=$((packets / 10))
cpu=$(($(nproc) - 1))
bench=$build/tests/bench/analyze_bench
cli=$build/userspace/cli/xdp-roce
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/analyze-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
[[ -x $bench ]] || { echo "analyze_bench.sh: no $bench: build it first" >&2; exit 2; }

# Processor seconds of a command, the best of three, and wall seconds of that round.
best() {
  local times='' TIMEFORMAT='%U %S %R'
  for _ in 1 2 3; do
    times+=$({ time taskset -c "$cpu" "$@" >/dev/null 2>&1; } 2>&1)$'\n'
  done
  awk 'NF == 3 && (best == "" || $1 + $2 < best) { best = $1 + $2; wall = $3 } END { print best, wall }' <<<"$times"
}
rate() { awk -v n="$1" -v s="$2" 'BEGIN { printf "%.0f", n / (s > 0 ? s : 0.001) }'; }

"$bench" make "$scratch/all.pcap" "$packets"
"$bench" make "$scratch/part.pcap" "$part"
cat "$scratch"/*.pcap >/dev/null # into the page cache
echo "$packets packets of 1082 bytes, processor $cpu, load $(cut -d' ' -f1 /proc/loadavg)"
taskset -c "$cpu" "$bench" run "$scratch/all.pcap"

if [[ -x $cli ]]; then
  read -r seconds wall < <(best "$cli" --json analyze "$scratch/all.pcap")
  name='xdp-roce analyze'
else
  read -r seconds wall < <(best "$bench" run "$scratch/all.pcap")
  seconds=$(awk -v s="$seconds" 'BEGIN { print s / 10 }') # five rounds with iCRCs, five without
  name='analyze (library)'
fi
ours=$(rate "$packets" "$seconds")
echo "$name: $ours packets/s of processor time ($seconds s, $wall s on the clock), start to end"

if ! command -v tshark >/dev/null; then
  echo "tshark: not installed"
  exit 0
fi
fields=(-e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn)
read -r seconds wall < <(best tshark -r "$scratch/part.pcap" -T fields "${fields[@]}")
theirs=$(rate "$part" "$seconds")
echo "tshark -T fields: $theirs packets/s of processor time ($seconds s, $wall s on the clock), $part packets"
echo "ratio: $((ours / theirs))"
