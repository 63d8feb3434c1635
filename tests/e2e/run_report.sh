#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The report of an experiment in a browser, with few flows and with a thousand; the SVGs are XML; gnuplot's script has a
# figure for each of them that is over time.
. "$(dirname "$0")/lib.sh"
need jq python3 chromium
PATH=$(dirname "$XDP_ROCE"):$PATH

xdp-roce run incast --set duration=20ms --set measure.from=10ms --set sample=20us --set expect='["sum(flows.drops) == 0"]' \
  --out "$scratch/few" --plots "$scratch/few/plots" >/dev/null
keep python3 "$here/page_checks.py" "$scratch/few/report.html" || fail "$(cat "$scratch"/last.*)"
for id in rate backlog marks jain backlog-cdf; do
  grep -q "id=\"$id\"\|\"id\":\"$id\"" "$scratch/few/report.html" || fail "the report has no figure $id"
  python3 -c 'import sys, xml.etree.ElementTree as tree; root = tree.parse(sys.argv[1]).getroot(); assert root.findall("{*}path"), "no curve"' \
    "$scratch/few/plots/$id.svg" || fail "$id.svg"
done
for id in rate backlog marks jain; do
  grep -q "set output '$id.svg'" "$scratch/few/plots/plot.gp" || fail "plot.gp has no $id"
done

cat >"$scratch/many.yaml" <<'END'
experiment: a thousand flows
duration: 10ms
sample: 10us
topology:
  star: {senders: 250, rate: 10gbit, delay: 1us}
queue: {words: "buffer 12MB red 5k 200k 1%"}
flows:
  - &each {from: all, to: receiver, words: "write size 1M cc dcqcn line 10gbit"}
  - *each
  - *each
  - *each
END
xdp-roce run "$scratch/many.yaml" --out "$scratch/many" >/dev/null
(($(stat -c %s "$scratch/many/report.html") <= 10000000)) || fail "the report has $(stat -c %s "$scratch/many/report.html") bytes"
keep python3 "$here/page_checks.py" "$scratch/many/report.html" || fail "$(cat "$scratch"/last.*)"
