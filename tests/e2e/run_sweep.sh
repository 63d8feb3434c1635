#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A sweep in parts: shares that are merged are the whole; a killed one continues where it was; plots over a key. And
# others' words by --import.
. "$(dirname "$0")/lib.sh"
need jq python3
PATH=$(dirname "$XDP_ROCE"):$PATH
sweep=(run incast --set duration=2ms --set measure.from=1ms --set sample=100us --set 'expect=["jain > 0"]'
  --set 'sweep={topology.star.senders: [2, 4], seed: [1, 2, 3]}')
# What does not depend on the time, the machine or the directory.
points_of() { jq -S '[.points[] | del(.wall_s, .directory)]' "$1/sweep.json"; }

exits 0 xdp-roce "${sweep[@]}" --jobs 2 --out "$scratch/whole" --plots "$scratch/plots"
assert_json "$scratch/whole/sweep.json" '.verdict == "pass" and .missing == [] and [.points[].number] == [1, 2, 3, 4, 5, 6]
  and [.points[].seed] == [1, 2, 3, 1, 2, 3] and (.points | map(.run) | unique | length) == 1'
for plot in rate jain queue_mean queue_p99 utilisation cnps drops; do
  python3 -c 'import sys, xml.etree.ElementTree as t; t.parse(sys.argv[1])' "$scratch/plots/$plot.svg" || fail "$plot.svg"
done
grep -q '<polygon' "$scratch/plots/queue_mean.svg" || fail "no spread over the seeds"

# Any number of jobs writes the same bytes, but for the times, the number of jobs and the process.
for jobs in default 1 2 7; do
  option=()
  [[ $jobs == default ]] || option=(--jobs "$jobs")
  exits 0 xdp-roce --json "${sweep[@]}" "${option[@]}" --out "$scratch/jobs" --plots "$scratch/jobs/plots"
  mv "$scratch/last.out" "$scratch/jobs/stdout"
  mv "$scratch/jobs" "$scratch/jobs-$jobs"
done
python3 - "$scratch" default 1 2 7 <<'P' || fail "the number of jobs changes what a sweep writes"
import csv, pathlib, re, sys
def files(root):
    # sweep.json does not always write the shortest digits of a number, sweep.csv does.
    walls = set(re.findall(r'"wall_s": ?([0-9.e-]+)', (root / "sweep.json").read_text()))
    walls |= {row["wall_s"] for row in csv.DictReader((root / "sweep.csv").open())}
    own = "|".join([r'"cpu_s": ?[0-9.e-]+', r'"run": ?\{"command_line".*', r'\["(?:start|duration)","[^"]*"\]', r' --jobs \d+', r'(?<= )time="[0-9.]+"',
                    r"(?<![0-9.])(?:%s)(?![0-9.])" % "|".join(map(re.escape, walls))])
    return {str(file.relative_to(root)): re.sub(own, "", file.read_text()) for file in root.rglob("*") if file.is_file()}
first, *others = (files(pathlib.Path(sys.argv[1], f"jobs-{jobs}")) for jobs in sys.argv[2:])
assert len(first) > 6 * 8, sorted(first)
for jobs, other in zip(sys.argv[3:], others):
    assert first.keys() == other.keys(), sorted(first.keys() ^ other.keys())
    different = [name for name in first if first[name] != other[name]]
    assert not different, f"--jobs {jobs}: {different}"
P

# Three machines: two take a number, one the scheduler's.
exits 0 xdp-roce "${sweep[@]}" --share 1/3 --out "$scratch/a"
exits 0 xdp-roce "${sweep[@]}" --share 2/3 --out "$scratch/b"
exits 1 xdp-roce run merge "$scratch/a" "$scratch/b" --out "$scratch/part"
assert_json "$scratch/part/sweep.json" '.verdict == "void" and .missing == ["3", "6"] and (.points | length) == 4'
SLURM_PROCID=2 SLURM_NTASKS=3 exits 0 xdp-roce "${sweep[@]}" --share auto --out "$scratch/c"
exits 0 xdp-roce run merge "$scratch/c" "$scratch/a" "$scratch/b" "$scratch/a" --out "$scratch/all" --plots "$scratch/drawn"
grep -q '2 points are there twice' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
assert_eq "$(points_of "$scratch/whole")" "$(points_of "$scratch/all")" "the sweep and its merged shares"
assert_eq "$(jq -S .seeds "$scratch/whole/sweep.json")" "$(jq -S .seeds "$scratch/all/sweep.json")" "seeds of the sweep and of its merged shares"
assert_json "$scratch/all/sweep.json" '[.seeds[].point] == ["topology.star.senders=2", "topology.star.senders=4"] and
  all(.seeds[]; .points == 3 and .left_out == 0 and .least_rate_bps <= .rate_bps and .queue_p50_bytes <= .queue_p99_bytes)
  and [.seeds[].marked] == [([.points[:3][].marked] | add), ([.points[3:][].marked] | add)]
  and [.seeds[].queue_max_bytes] == [([.points[:3][].queue_max_bytes] | max), ([.points[3:][].queue_max_bytes] | max)]'
cmp "$scratch/plots/rate.svg" "$scratch/drawn/rate.svg" || fail "plots of the sweep and of its merged shares"
# More shares than points: the last has none, and the others are the whole.
exits 0 xdp-roce "${sweep[@]}" --share 7/7 --out "$scratch/none"
grep -q 'no point is left for this share' "$scratch/last.err" || fail "$(cat "$scratch/last.err")"
exits 0 xdp-roce run merge "$scratch/none" "$scratch/a" "$scratch/b" "$scratch/c"
refused 'have no point of a sweep' xdp-roce run merge "$scratch/none"
exits 2 xdp-roce "${sweep[@]}" --seed 5
# Not of one sweep, and no sweep.
exits 0 xdp-roce "${sweep[@]}" --set queue.words='buffer 1MB' --share 3/3 --out "$scratch/other"
refused 'is of another sweep than' xdp-roce run merge "$scratch/a" "$scratch/other"
mkdir "$scratch/empty" "$scratch/killed"
refused 'has no point of a sweep' xdp-roce run merge "$scratch/empty"
exits 2 xdp-roce "${sweep[@]}" --share 4/3
exits 2 xdp-roce run incast --share 1/2

# Killed after some points: the next run takes these, and makes the others.
xdp-roce "${sweep[@]}" --set duration=40ms --set measure.from=20ms --jobs 1 --out "$scratch/killed" >/dev/null 2>&1 &
killed=$!
background+=("$killed")
stored() { find "$scratch/killed" -name point.json | wc -l; }
two_stored() { (($(stored) >= 2)); }
wait_for 60 two_stored || fail "no point is stored"
# The directory has one owner.
refused 'another run writes into it' xdp-roce "${sweep[@]}" --out "$scratch/killed"
mapfile -t workers < <(pgrep -P "$killed")
((${#workers[@]})) || fail "the sweep has no process for its points"
kill -9 "$killed"
wait "$killed" 2>/dev/null || true
# The processes of its points end with it.
none_left() { ! kill -0 "${workers[@]}" 2>/dev/null; }
wait_for 5 none_left || fail "processes of the killed sweep are left: ${workers[*]}"
there=$(stored)
sleep 1
assert_eq "$there" "$(stored)" "points stored after the end of the sweep"
exits 0 xdp-roce "${sweep[@]}" --set duration=40ms --set measure.from=20ms --jobs 2 --out "$scratch/killed"
if ((there < 6)); then
  grep -q "^note: run: $there points\\? \\(are\\|is\\) in .* already" "$scratch/last.err" || fail "$there stored: $(cat "$scratch/last.err")"
fi
assert_json "$scratch/killed/sweep.json" '.verdict == "pass" and (.points | length) == 6 and all(.points[]; .rate_bps > 0)'
# Another duration is another sweep: nothing is taken.
exits 0 xdp-roce "${sweep[@]}" --out "$scratch/killed"
! grep -q 'already' "$scratch/last.err" || fail "taken from another sweep: $(cat "$scratch/last.err")"

# Variables, parameters, ranges, and seeds apart from points.
exits 0 xdp-roce run incast --set duration=2ms --set measure.from=1ms --set 'expect=["jain > 0"]' --set 'vars={n: 2}' \
  --set 'topology.star.senders={n}' --set 'sweep={zip: {n: 2..3, congestion.rai: 5mbit..10mbit/2}, seeds: 1..2}' --out "$scratch/named"
assert_json "$scratch/named/sweep.json" '[.points[].point] == ["n=2, congestion.rai=5mbit, seed=1", "n=2, congestion.rai=5mbit, seed=2",
  "n=3, congestion.rai=10mbit, seed=1", "n=3, congestion.rai=10mbit, seed=2"] and [.seeds[].points] == [2, 2]'
grep -q '2 points, 2 seeds each' "$scratch/last.out" || fail "$(cat "$scratch/last.out")"

# Others' words.
exits 0 xdp-roce run --import netem 'delay 10ms 2ms loss gemodel 1% 30% rate 1gbit'
assert_eq 'impair IF add gilbert 1% 30% drop next
impair IF add delay uniform 8ms 12ms unordered
link IF rate 1gbit' "$(cat "$scratch/last.out")" "netem's options"
exits 0 xdp-roce --json run --import netem 'loss 1%'
assert_json "$scratch/last.out" 'del(.run) == {schema: 1, rules: ["probability 1% drop next"], link: "", notes: []}'
printf '0\n5\n10\n' >"$scratch/trace"
exits 0 xdp-roce run --import mahimahi "$scratch/trace"
assert_eq "link IF trace $scratch/trace" "$(cat "$scratch/last.out")" "a trace"
printf '5\nx\n' >"$scratch/trace"
exits 1 xdp-roce run --import mahimahi "$scratch/trace"
assert_sentence 'line 2' <"$scratch/last.err"
exits 2 xdp-roce run --import netem 'delay 10ms 2ms 25%'
assert_sentence 'correlation' <"$scratch/last.err"
# With --out it runs, and has the simulator's list of completion times: 8 columns, the last one without other traffic.
exits 0 xdp-roce run --import hpcc "$XR_DATA/hpcc/config.txt"
grep -q '^routing: ecmp 5-tuple' "$scratch/last.out" || fail "$(cat "$scratch/last.out")"
exits 0 xdp-roce run --import hpcc "$XR_DATA/hpcc/config.txt" --out "$scratch/hpcc"
assert_eq "0b000201 0b000301 10000 100 50000 2000020000 8352
0b000101 0b000301 10000 100 200000 2000010000 20928
0b000001 0b000301 10000 100 1000000 2000000000 88000" "$(cut -d ' ' -f 1-6,8 "$scratch/hpcc/fct.txt")" "fct.txt"
sed 's/RATE_AI/RATE_AIM/' "$XR_DATA/hpcc/config.txt" >"$scratch/config.txt"
exits 1 xdp-roce run --import hpcc "$scratch/config.txt"
assert_sentence "config.txt:15: 'RATE_AIM' is not a key" <"$scratch/last.err"
exits 2 xdp-roce run --import tcl x
assert_sentence 'not a format' <"$scratch/last.err"
