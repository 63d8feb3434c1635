#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Jobs as frames, `run --on namespaces`: ring, halving-doubling and all-to-all of 4 and 8 ranks take as long as in virtual time, a
# late rank and a link that loses are named in the same words, and so they are by `analyze` of what passes the ports.
. "$(dirname "$0")/run_lib.sh"
need_root
need jq ip tcpdump mergecap
before=$(kernel_objects)

# job KIND ALGORITHM RANKS SIZE MORE: an experiment. A rank computes 2 ms before each of four steps.
job() {
  cat >"$scratch/$1-$3.yaml" <<END2
experiment: $1
seed: 1
until: done
topology: {star: {hosts: $3, rate: 5mbit, delay: 5ms}}
reliability: {timeout: 20}
collective: {name: train, kind: $1, algorithm: $2, ranks: $3, size: $4, iterations: 4, compute: 2ms, words: "pmtu 1024"${5:-}}
expect: ["job('train').left == 0"]
END2
}

# agrees FILE ARGUMENT...: the run with frames has steps within 5 % of virtual time, and the same reason for each.
agrees() {
  exits 0 "$XDP_ROCE" --json run "$@"
  cp "$scratch/last.out" "$scratch/virtual.json"
  for _ in 1 2 3; do
    measures 0 "$@"
    if jq -e '(.frames.farthest | fabs) < 0.05' "$scratch/last.out" >/dev/null; then break; fi
  done
  cp "$scratch/last.out" "$scratch/real.json"
  nothing_left "after $1"
  assert_json "$scratch/real.json" '.place == "namespaces" and .frames.lost == 0 and .frames.compared >= 4 and
    (.frames.farthest | fabs) < 0.05'
  jq -e --slurpfile virtual "$scratch/virtual.json" '[$virtual[0], .] | map([.steps[] | .time_ns]) |
    transpose | all(.[]; .[1] / .[0] - 1 | fabs < 0.05)' "$scratch/real.json" >/dev/null ||
    fail "$1: steps not as in virtual time: $(jq -c '[.steps[].time_ns]' "$scratch/virtual.json" "$scratch/real.json")"
  assert_eq "$(jq -c '[.steps[] | [.name, .why, .rank]]' "$scratch/virtual.json")" \
    "$(jq -c '[.steps[] | [.name, .why, .rank]]' "$scratch/real.json")" "$1: reasons of the steps"
}

for ranks in 4 8; do
  job all_reduce ring "$ranks" 64k
  agrees "$scratch/all_reduce-$ranks.yaml"
  job all_reduce halving-doubling "$ranks" 64k
  agrees "$scratch/all_reduce-$ranks.yaml"
  job all_to_all parallel "$ranks" 64k
  agrees "$scratch/all_to_all-$ranks.yaml"
done

# A late rank; what passes the switch's ports is captured meanwhile, and says the same.
job all_reduce ring 4 64k ', late: [{rank: 2, by: 150ms, from: 3}], iterations: 8'
sed -i 's/iterations: 4, //' "$scratch/all_reduce-4.yaml"
agrees "$scratch/all_reduce-4.yaml" --set "expect=[\"job('train').late_rank == 2 and job('train').late_steps >= 5\",
  \"max(job('train').step_ns before 800ms) < min(job('train').step_ns after 1200ms)\", \"rank(2).wait_ns < rank(1).wait_ns\"]"

# Ranks that ask by clear-to-sends, one of them late from the ninth step on. What passes the switch's ports is captured, and
# counted by one live port of them all; the job begins late, so that both are there. Its compute is longer than any other time in
# which nobody sends.
job all_reduce ring 4 32k ', cts: true, start: 6s, late: [{rank: 2, by: 150ms, from: 9}]'
sed -i 's/iterations: 4/iterations: 14/; s/compute: 2ms/compute: 150ms/; s/delay: 5ms/delay: 2ms/; s/until: done/duration: 16s/' "$scratch/all_reduce-4.yaml"
in_background "$XDP_ROCE" --json run "$scratch/all_reduce-4.yaml" --on namespaces >"$scratch/late.json" 2>"$scratch/late.err"
running=${background[-1]}
switches() { ours "$running" | grep -e '-switches$'; }
has_ports() { (($(ip -n "$(switches)" -o link show up 2>/dev/null | grep -c switch-host) == 4)); }
wait_for 20 has_ports || fail "no ports of the switch: $(cat "$scratch/late.err")"
live=("$XDP_ROCE" --netns "$(switches)")
for rank in 1 2 3 4; do
  ip netns exec "$(switches)" tcpdump -i "switch-host-$rank" -Q in --immediate-mode -U -w "$scratch/$rank.pcap" 2>"$scratch/$rank.err" &
done
listens() { (($(grep -ls 'listening on' "$scratch"/[1-4].err | wc -l) == 4)); }
wait_for 20 listens || fail "tcpdump: $(cat "$scratch"/[1-4].err)"
"${live[@]}" attach switch-host-{1..4} --one --job >/dev/null || fail "attach --job"
"${live[@]}" --json events switch-host-1 >"$scratch/events" 2>"$scratch/events.err" &
reader=$!
told() { (($(grep -c '"late_step"' "$scratch/events") >= 4)); }
wait_for 30 told || fail "late steps: $(cat "$scratch/events" "$scratch/events.err")"
kill -INT "$reader"
wait "$reader" || true
jq -se 'map(select(.type == "late_step")) | all(.[]; .rank == "10.0.0.3" and .step >= 9 and .late_ns > 100e6)' "$scratch/events" \
  >/dev/null || fail "late steps: $(grep late_step "$scratch/events")"
"${live[@]}" export --once switch-host-1 >"$scratch/metrics"
grep -q '^xdp_roce_job_ranks{.*} 4$' "$scratch/metrics" || fail "$(grep job "$scratch/metrics")"
wait "$running" || true # the namespaces go with it, and the captures end
unset 'background[-1]'
wait
why=$(jq -r '.jobs[0] | select(.late_rank == 2) | .why' "$scratch/late.json")
[[ $why == late* ]] || fail "$(jq -c '.why_void, .jobs' "$scratch/late.json")"
mergecap -w "$scratch/all.pcapng" "$scratch"/[1-4].pcap
"$XDP_ROCE" --json analyze "$scratch/all.pcapng" >"$scratch/analyzed.json"
assert_json "$scratch/analyzed.json" '.job.pattern == "ring" and .job.ranks == 4 and .job.steps == 14 and .job.cts and
  (.job_stragglers | length == 1) and .job_stragglers[0].rank == "10.0.0.3" and .job_stragglers[0].first_step == 9 and
  .job_stragglers[0].cause == "'"$why"'"'
# Steps of the capture are as long as the report says: from the first data to the last.
jq -e --slurpfile report "$scratch/late.json" '.job.exchange_p50_ns / ($report[0].jobs[0].step_ns.p50) | . > 0.3 and . <= 1' \
  "$scratch/analyzed.json" >/dev/null || fail "$(jq -c .job "$scratch/analyzed.json") $(jq -c .jobs "$scratch/late.json")"

# A link that loses: the step waits for what is sent again.
job all_reduce ring 8 64k
cat >>"$scratch/all_reduce-8.yaml" <<'END2'
rules: [{link: "switch:host-3", words: "opcode data every 40 drop"}]
END2
exits 0 "$XDP_ROCE" --json run "$scratch/all_reduce-8.yaml"
assert_json "$scratch/last.out" '.jobs[0].why == "retransmission" and .totals.retransmitted > 0'
cp "$scratch/last.out" "$scratch/virtual.json"
measures 0 "$scratch/all_reduce-8.yaml"
assert_json "$scratch/last.out" '.jobs[0].why == "retransmission" and .frames.lost == 0'
# As many as the rule meets: how much is sent again depends on times.
jq -e --slurpfile virtual "$scratch/virtual.json" '.totals.drops / $virtual[0].totals.drops | . > 0.6 and . < 1.6' "$scratch/last.out" \
  >/dev/null || fail "the rule drops $(jq -c .totals.drops "$scratch/virtual.json" "$scratch/last.out")"

# What waits for others without a job, and a graph of three switches.
cat >"$scratch/after.yaml" <<'END2'
experiment: after
seed: 1
until: done
topology: {graph: {switches: [a, b, c], links: [[h1, a, 5mbit, 2ms], [a, b, 5mbit, 2ms], [b, c, 5mbit, 2ms], [c, a, 5mbit, 2ms], [h2, b, 5mbit, 2ms], [h3, c, 5mbit, 2ms]]}}
flows:
  - {name: first, from: h1, to: h2, words: "write size 64k messages 1 pmtu 1024"}
  - {name: second, from: h2, to: h3, words: "write size 64k messages 1 pmtu 1024", after: [first received, 5ms]}
expect: ["flow('second').start_ns > 100ms"]
END2
measures 0 "$scratch/after.yaml"
assert_json "$scratch/last.out" '.frames.compared == 1 and (.frames.farthest | fabs) < 0.06'

# What is too large or too fast is refused before anything is made.
refused '17 hosts are not possible with frames' "$XDP_ROCE" run "$scratch/all_reduce-8.yaml" --on namespaces \
  --set 'topology={star: {hosts: 17, rate: 20mbit}}' --set 'rules=[]'
refused 'links would pass' "$XDP_ROCE" run late-rank --on namespaces
grep -q '^hint: --scale 1/' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
nothing_left "after all"
