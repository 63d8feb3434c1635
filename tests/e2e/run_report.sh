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

# Two runs over one another: the numbers of both, and a page with the curves of both.
xdp-roce run incast --seed 2 --set duration=20ms --set measure.from=10ms --set sample=20us --set expect=[] --out "$scratch/other" >/dev/null
xdp-roce run compare "$scratch/few" "$scratch/other" --out "$scratch/both" --plots "$scratch/both/plots" >"$scratch/compared" ||
  fail "compare ended with $?"
for value in first:few second:other; do
  asked=$(jq '.flows[0].goodput_bps' "$scratch/${value#*:}/result.json")
  got=$(jq ".values[] | select(.name == \"flow-1\" and .column == \"goodput_bps\").${value%:*}" "$scratch/both/compare.json")
  [[ $got == "$asked" ]] || fail "${value#*:}: rate of flow-1 is $got, not $asked"
done
grep -q 'flow-1 .*goodput_bps .*%' "$scratch/compared" || fail "$(cat "$scratch/compared")"
keep python3 "$here/page_checks.py" "$scratch/both/report.html" || fail "$(cat "$scratch"/last.*)"
for run in few other; do
  grep -q ">$run: flow-1<" "$scratch/both/plots/rate.svg" || fail "rate.svg has no curve of $run"
done
# Three runs: the third has a column, and curves, of its own.
xdp-roce run incast --seed 3 --set duration=20ms --set measure.from=10ms --set sample=20us --set expect=[] --out "$scratch/third" >/dev/null
xdp-roce run compare "$scratch/few" "$scratch/other" "$scratch/third" --out "$scratch/three" --plots "$scratch/three/plots" >"$scratch/compared" ||
  fail "compare of three ended with $?"
asked=$(jq '.flows[0].goodput_bps' "$scratch/third/result.json")
got=$(jq '.values_by_run[] | select(.name == "flow-1" and .column == "goodput_bps" and .run == "third").value' "$scratch/three/compare.json")
[[ $got == "$asked" ]] || fail "third: rate of flow-1 is $got, not $asked"
grep -q 'flow-1 .*goodput_bps .*%.*%' "$scratch/compared" || fail "$(cat "$scratch/compared")"
grep -q ">third: flow-1<" "$scratch/three/plots/rate.svg" || fail "rate.svg has no curve of the third run"
keep python3 "$here/page_checks.py" "$scratch/three/report.html" || fail "$(cat "$scratch"/last.*)"
# A sweep: values over the key with the spread over seeds, and a link to the page of each point.
xdp-roce run incast --set duration=4ms --set measure.from=2ms --set expect=[] --set 'sweep={seed: [1,2], topology.star.senders: [2,3]}' \
  --out "$scratch/sweep" >/dev/null 2>"$scratch/noted" || fail "the sweep ended with $?"
grep -q "the page is $scratch/sweep/report.html" "$scratch/noted" || fail "$(cat "$scratch/noted")"
keep python3 "$here/page_checks.py" "$scratch/sweep/report.html" || fail "$(cat "$scratch"/last.*)"
(($(grep -o '[^"]*/report.html"' "$scratch/sweep/report.html" | sort -u | wc -l) == 4)) || fail "the page of the sweep has no link to each point"
# result.json says what ran.
jq -e '.run.seed == 1 and .run.clock == "virtual" and (.run.files[0].name | endswith("incast.yaml"))' "$scratch/few/result.json" >/dev/null ||
  fail "result.json: $(jq -c .run "$scratch/few/result.json")"

exits 2 xdp-roce run compare "$scratch/few"
exits 1 xdp-roce run compare "$scratch/few" "$scratch"
