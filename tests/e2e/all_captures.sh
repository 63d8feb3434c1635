#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The BPF and the native compilation give the same report for every capture in tests/data.
. "$(dirname "$0")/lib.sh"
need jq
lane 9000
captures=0

for file in "$XR_DATA"/*.pcap "$XR_DATA"/*.pcap.gz; do
  [[ -e $file ]] || continue
  "$XR_REPLAY" "$file" --write "$scratch/whole.pcap" >/dev/null 2>&1 || continue # snapped, or no pcap
  xr attach rx0 >/dev/null 2>&1
  replay "$file"
  same_report "$file"
  xr detach rx0 >/dev/null 2>&1
  captures=$((captures + 1))
done
((captures >= 30)) || fail "only $captures captures"
echo "$captures captures, identical reports"
