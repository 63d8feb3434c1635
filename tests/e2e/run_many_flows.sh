#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `run --out` of 10,000 flows: its files are small, and the report says what they leave out; `sample-flows`.
. "$(dirname "$0")/lib.sh"
need jq python3
PATH=$(dirname "$XDP_ROCE"):$PATH
cd "$scratch"

# list FLOWS: pairs of 128 hosts.
list() {
  python3 -c "
import random
r = random.Random(7)
for _ in range($1):
    print('host-%d host-%d 1000000 0s' % tuple(r.sample(range(1, 129), 2)))" >list.txt
}
cat >many.yaml <<'END'
experiment: many
seed: 1
duration: 100us
topology: {leaf-spine: {leaves: 8, spines: 8, hosts: 16, rate: 100gbit, delay: 1us}}
queue: {words: "buffer 16MB red 400k 1600k 20%"}
congestion: "dcqcn preset paper"
flows: [{list: list.txt, words: "write"}]
expect:
  - "flow('flow-5000').goodput_bps >= 0"
END

flows_in() { awk -F, '$2 == "flow" { print $3 }' "$1/series.csv" | sort -u | wc -l; }

list 10000
exits 0 xdp-roce run many.yaml --out many
cp last.out many.txt
(($(du -sb many | cut -f1) < 50000000)) || fail "the files are large: $(ls -l many)"
assert_eq 64 "$(flows_in many)" "flows with samples"
grep -q ',flow,flow-5000,goodput_bps,' many/series.csv || fail "an expectation names flow-5000: it has no samples"
assert_json many/result.json '.samples | .flows == 64 and .flows_left_out > 9000 and .queues_left_out == 0 and .flow_sample_ns > .sample_ns'
grep -q 'flows without samples' many.txt || fail "the summary does not say it: $(cat many.txt)"
grep -q '^t_ns,.*,flow:flow-5000:goodput_bps' many/samples.csv || fail "samples.csv has no column of flow-5000"

# One seed, one choice.
exits 0 xdp-roce run many.yaml --out again
cmp many/series.csv again/series.csv || fail "two runs differ"

# Any number of threads, the same files.
for threads in 1 3; do
  exits 0 xdp-roce run many.yaml --threads $threads --out threads-$threads
  for file in flows.csv queues.csv samples.csv series.csv; do
    cmp many/$file threads-$threads/$file || fail "$threads threads: another $file"
  done
done
exits 0 xdp-roce run incast --threads 3
grep -q 'one thread: it has fewer than 65 hosts' last.err || fail "a star says nothing of threads: $(cat last.err)"

# A number, and all of them.
list 300
exits 0 xdp-roce run many.yaml --set sample-flows=100 --set 'expect=[]' --out hundred
assert_eq 100 "$(flows_in hundred)" "flows with sample-flows: 100"
exits 0 xdp-roce run many.yaml --set sample-flows=all --set 'expect=[]' --out all
assert_eq 300 "$(flows_in all)" "flows with sample-flows: all"
assert_json all/result.json 'has("samples") | not'
exits 0 xdp-roce run compare hundred all --out compared
