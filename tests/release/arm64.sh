#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# arm64.sh PROGRAM: the program for arm64 gives, by qemu-user, the answers that the one of build/release gives here.
set -euo pipefail
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
there=(qemu-aarch64-static "$(readlink -f "$1")") here=$tree/build/release/userspace/cli/xdp-roce
scratch=$(mktemp -d /tmp/xr-arm64.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

file -b "$1" | grep -q 'ARM aarch64.*static-pie' || { file "$1"; exit 1; }
"${there[@]}" --version
captures=("$tree"/tests/data/*.pcap*)
((${#captures[@]} > 5))
for capture in "${captures[@]}"; do
  [[ -e $capture ]] || continue
  "${there[@]}" --json analyze --episodes "$capture" >"$scratch/there" 2>"$scratch/there.err" || true
  "$here" --json analyze --episodes "$capture" >"$scratch/here" 2>"$scratch/here.err" || true
  echo "analyze $capture"
  cmp <(jq -S 'del(.run)' "$scratch/there") <(jq -S 'del(.run)' "$scratch/here")
  cmp "$scratch/there.err" "$scratch/here.err"
done
echo "analyze: ${#captures[@]} captures, equal answers"
two=("$tree/tests/data/rc_send_cm_v4.pcap" "$tree/tests/data/loss2_rc_psnwrap_v4.pcap.gz")
for which in there here; do
  program=("$here")
  [[ $which != there ]] || program=("${there[@]}")
  "${program[@]}" --json compare "${two[@]}" >"$scratch/$which" || (($? == 1)) # nothing in common
  jq -e '.streams | length > 0' "$scratch/$which" >"$scratch/last"
done
cmp <(jq -S 'del(.run)' "$scratch/there") <(jq -S 'del(.run)' "$scratch/here")
echo "compare: equal answers"
for experiment in third-flow timely-patched-7-3; do
  for which in there here; do
    program=("$here")
    [[ $which != there ]] || program=("${there[@]}")
    (cd "$scratch" && "${program[@]}" run "$tree/tools/experiments/$experiment.yaml" --on virtual --out "$which-$experiment" >/dev/null)
  done
  # Times are the machine's, and the commit is the build's.
  diff <(jq -S 'del(.run, .wall_s, .cpu_s)' "$scratch/there-$experiment/result.json") \
    <(jq -S 'del(.run, .wall_s, .cpu_s)' "$scratch/here-$experiment/result.json") | head -n 20
done
echo "run: equal results"
