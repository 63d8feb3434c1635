#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The picture of a capture: its page in a browser, JSON as --json prints it, SVGs that are XML, CSVs whose rows have the
# cells of their head; the buttons of the page give such files too.
. "$(dirname "$0")/lib.sh"
need jq python3 chromium

for capture in loss_rc_send_v4.pcap.gz rc_write_q4_v4.pcap.gz cases/pfc_senders.pcap; do
  out=$scratch/$(basename "$capture" .pcap.gz)
  "$XDP_ROCE" analyze "$XR_DATA/$capture" --speed 100gbit --out "$out" >"$scratch/text" || fail "$capture: analyze ended with $?"
  [[ $(tail -n 1 "$scratch/text") == "the page is $out/report.html" ]] || fail "the last line is $(tail -n 1 "$scratch/text")"
  keep python3 "$here/page_checks.py" "$out/report.html" || fail "$capture: $(cat "$scratch"/last.*)"
  for file in "$out"/*.svg; do
    python3 -c 'import sys, xml.etree.ElementTree as tree; assert tree.parse(sys.argv[1]).getroot().findall("{*}path"), "no curve"' "$file" || fail "$file"
    python3 -c 'import csv, sys; rows = list(csv.reader(open(sys.argv[1]))); assert len(rows) > 1 and all(len(row) == len(rows[0]) for row in rows)' \
      "${file%svg}csv" || fail "${file%svg}csv"
  done
  "$XDP_ROCE" --json analyze "$XR_DATA/$capture" --speed 100gbit --episodes --latency --microbursts --check >"$scratch/json" ||
    (($? == 3)) || fail "$capture: analyze --check ended with $?"
  diff <(jq -S 'del(.run, .time)' "$scratch/json") <(jq -S 'del(.run, .time)' "$out/report.json") >&2 || fail "$capture: report.json is not what --json prints"
done
for id in rate psn losses ecn rtt completion bursts; do
  [[ -s $scratch/loss_rc_send_v4/$id.svg || $id == ecn || $id == completion ]] || fail "no $id.svg of a capture with losses"
done
for id in pauses xoff; do
  [[ -s $scratch/pfc_senders.pcap/$id.svg ]] || fail "no $id.svg of a capture with PFC"
done
# The frame of the loss, as the findings of tshark would name it.
grep -q 'LOSS FRAME' "$scratch/loss_rc_send_v4/report.html" || fail "episodes have no frames"

exits 1 "$XDP_ROCE" analyze "$XR_DATA/loss_rc_send_v4.pcap.gz" --out /dev/null/x
exits 2 "$XDP_ROCE" record lo --for 1s
exits 2 "$XDP_ROCE" record lo --out "$scratch/recorded"
