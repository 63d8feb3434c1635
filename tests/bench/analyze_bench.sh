#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# analyze_bench.sh [BUILD [PACKETS [PART]]]: `analyze` over captures in the page cache. PART core: 1 KB packets on one
# processor; beside it, on the same processor, the file's bytes alone, the reader alone, capinfos, and tshark over the
# beginning of the same, asked for three fields of the BTH; and by two threads. PART grow: the program with `--jobs` 1, 2,
# 4 ... to all processors, start to end by the clock, by the size of packets, the number of QPs and what is asked; GB are
# of the file. Without PART both. BUILD is a build directory (build/release) or the xdp-roce in it, PACKETS 2000000. Needs
# 1.7 KB of disk a packet.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${1:-$root/build/release}
build=${build%/userspace/cli/xdp-roce}
packets=${2:-2000000}
parts=${3:-core grow}
part=$((packets / 20))
cpu=$(($(nproc) - 1))
bench=$build/tests/bench/analyze_bench
cli=$build/userspace/cli/xdp-roce
scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/analyze-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
for program in "$bench" "$cli"; do
  [[ -x $program ]] || { echo "analyze_bench.sh: no $program: build it first" >&2; exit 2; }
done

# seconds COMMAND...: of it by the clock, and of processor time. 3 is a verdict of --check.
seconds() {
  local TIMEFORMAT='%R %U %S'
  { time { "$@" >/dev/null 2>&1 || (($? == 3)); }; } 2>&1 |
    awk '{ cpu = $2 + $3; print ($1 > 0 ? $1 : 0.001), (cpu > 0 ? cpu : 0.001) }'
}
on_one() { seconds taskset -c "$cpu" "$@"; }
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
# rates RUN THINGS [COLUMN]: things a second by the seconds of its rounds (1 the clock, 2 processor time).
rates() { awk -v n="$2" -v column="${3-1}" '{ print n / $column }' "$scratch/$1"; }
# ratios A THINGS B THINGS [COLUMN]: A's rate to B's, round by round.
ratios() {
  paste "$scratch/$1" "$scratch/$3" |
    awk -v n="$2" -v m="$4" -v column="${5-1}" '{ print n / $column / (m / $(column + 2)) }'
}
# both_rates WHAT RUN PACKETS BYTES
both_rates() {
  rates "$2" "$3e-6" | result "$1, Mpps"
  rates "$2" "$4e-9" | result "$1, GB/s"
}
size() { stat -c %s "$1"; }

# measured NAME: the seconds of one run of it.
measured() {
  case $1 in
    ours) on_one "$cli" --json analyze "$scratch/all.pcap" ;;
    tshark)
      on_one tshark -r "$scratch/part.pcap" -T fields -e infiniband.bth.opcode -e infiniband.bth.destqp -e infiniband.bth.psn
      ;;
    capinfos) on_one capinfos -c -M "$scratch/all.pcap" ;;
    *) on_one "$bench" "$1" "$scratch/all.pcap" ;;
  esac >>"$scratch/$1"
}
beside() {
  local rounds=9 round i name bytes names=(ours bytes read)
  bytes=$(size "$scratch/all.pcap")
  for name in capinfos tshark; do
    ! command -v "$name" >/dev/null || names+=("$name")
  done
  # In turn, every second round from the other end.
  for ((round = 0; round < rounds; round++)); do
    for ((i = 0; i < ${#names[@]}; i++)); do
      measured "${names[round % 2 ? ${#names[@]} - 1 - i : i]}"
    done
  done
  echo "packets/s, start to end (median of $rounds, and quartiles)"
  rates ours "$packets" | result "xdp-roce analyze, $packets packets"
  rates ours "$packets" 2 | result "the same by processor time"
  if [[ -e $scratch/tshark ]]; then
    rates tshark "$part" | result "tshark -T fields, $part packets"
    rates tshark "$part" 2 | result "the same by processor time"
    ratios ours "$packets" tshark "$part" | result "ratio, of the pieces of a round" 100
    ratios ours "$packets" tshark "$part" 2 | result "the same by processor time"
  else
    echo "  tshark: not installed"
  fi
  echo "the floor: less work with the same file on one processor (median of $rounds, and quartiles)"
  both_rates "xdp-roce analyze" ours "$packets" "$bytes"
  floor bytes "every 64th byte of the file"
  floor read "the reader, lengths only"
  if [[ -e $scratch/capinfos ]]; then floor capinfos "capinfos -c"; else echo "  capinfos: not installed"; fi
}
# floor RUN WHAT
floor() {
  both_rates "$2" "$1" "$packets" "$bytes"
  ratios ours 1 "$1" 1 | result "analyze to it: ${2%,*}"
}

core() {
  "$bench" make "$scratch/all.pcap" "$packets"
  "$bench" make "$scratch/part.pcap" "$part"
  cat "$scratch"/*.pcap >/dev/null # into the page cache
  echo "$packets packets of 1082 bytes, processor $cpu, load $(cut -d' ' -f1 /proc/loadavg)"
  for what in run episodes latency; do
    taskset -c "$cpu" "$bench" "$what" "$scratch/all.pcap"
  done
  # By two threads: one file of one pair of hosts, and two files whose times overlap.
  "$bench" make "$scratch/one.pcap" $((packets / 4)) 1
  "$bench" make "$scratch/two.pcap" $((packets / 4)) 8
  cat "$scratch/one.pcap" "$scratch/two.pcap" >/dev/null
  echo "load $(cut -d' ' -f1 /proc/loadavg), $(nproc) processors"
  "$bench" jobs "$scratch/one.pcap"
  "$bench" jobs "$scratch/one.pcap" "$scratch/two.pcap"
  beside
  rm "$scratch"/*
}

# numbers: 1, 2, 4 ... and all processors.
numbers() {
  local n
  for ((n = 1; n < $(nproc); n *= 2)); do echo "$n"; done
  nproc
}
# grown WORDS PACKETS OPTION...: file.pcap by so many jobs, as scaling_bench prints it.
grown() {
  local words=$1 count=$2 rounds=5 round n bytes
  shift 2
  bytes=$(size "$scratch/file.pcap")
  for ((round = 0; round < rounds; round++)); do
    for n in $(numbers); do
      seconds "$cli" analyze --jobs "$n" "$@" "$scratch/file.pcap" >>"$scratch/$n"
    done
  done
  echo "analyze ${*:+$* }--jobs N, $words (median of $rounds, and quartiles)"
  both_rates one 1 "$count" "$bytes"
  for n in $(numbers | tail -n +2); do
    both_rates "$n" "$n" "$count" "$bytes"
    ratios "$n" 1 1 1 | result "$n to one"
    rm "$scratch/$n"
  done
  rm "$scratch/1"
}
# grow_file WORDS PACKETS PAYLOAD QPS [HOT]
grow_file() {
  local words=$1 count=$2
  shift 2
  "$bench" make "$scratch/file.pcap" "$count" 1 "$@"
  cat "$scratch/file.pcap" >/dev/null
  grown "$words" "$count"
  grown "$words" "$count" --episodes --latency --check
  rm "$scratch/file.pcap"
}
grow() {
  local small=$((packets * 3 / 2)) large=$((packets / 4)) qps
  for qps in 64 4,096; do
    grow_file "frames of 1,082 bytes, $qps QPs" "$large" 1024 "${qps/,/}"
    grow_file "frames of 122 bytes, $qps QPs" "$small" 64 "${qps/,/}"
  done
  grow_file "frames of 122 bytes, 64 QPs, half of one" "$small" 64 64 50
}

for which in $parts; do
  case $which in
    core | grow) "$which" ;;
    *) echo "analyze_bench.sh: '$which' is neither core nor grow" >&2; exit 2 ;;
  esac
done
