#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Times that a switch (ERSPAN III) or packet broker (trailer) has stamped, while the capture's own times are late and
# jittered: with them, latencies and episodes are those of the original capture. tshark reads the same stamps.
. "$(dirname "$0")/lib.sh"
need jq tshark editcap
scapy=/usr/bin/python3
"$scapy" -c 'import scapy.contrib.erspan' 2>/dev/null || skip "needs scapy"

# found CAPTURE [ARGUMENT...]: what depends on times
found() {
  "$XDP_ROCE" --json analyze --latency --episodes --microbursts "$@" >"$scratch/last.json" 2>"$scratch/last.err" ||
    fail "analyze $*: $(cat "$scratch/last.err")"
  jq -S '{latency, latency_port, latency_histogram, episodes, findings, pairs,
    microbursts: [.microbursts[] | del(.bytes, .bits_per_second)]}' "$scratch/last.json"
}

for name in loss_rc_read_v4 loss2_rc_atomic_v4; do
  # The first frames, with several episodes: scapy makes each of them.
  file=$scratch/$name.pcap
  editcap -F nsecpcap -r "$(capture "$name")" "$file" 1-700
  found "$file" >"$scratch/plain"
  assert_json "$scratch/last.json" '.clock.clock == "capture" and .frame_times == [] and (.episodes | length) > 0'
  kinds=(ns100 ns100_upper ieee1588 ieee1588_seconds user trailer trailer_fcs us100)
  [[ $name != loss_rc_read_v4 ]] || kinds=(ieee1588_seconds trailer)
  for kind in "${kinds[@]}"; do
    frames=$("$scapy" "$here/stamps.py" make "$kind" "$file" "$scratch/stamped.pcap")
    clock=(--time mirror --decap erspan) late=(--decap erspan)
    [[ $kind != trailer* ]] || clock=(--time trailer) late=()
    [[ $kind != user ]] || clock+=(--tick 10ns)
    found "$scratch/stamped.pcap" "${clock[@]}" >"$scratch/stamped"
    assert_json "$scratch/last.json" ".clock == {clock: \"${clock[1]}\", stamped: $frames, unstamped: 0, sources_full: 0}"
    "$scapy" "$here/stamps.py" check "$kind" "$scratch/stamped.pcap" "$scratch/last.json" || fail "$name $kind"
    if [[ $kind == us100 ]]; then # too coarse for the same numbers, but each within its unit
      jq -e --slurpfile plain "$scratch/plain" '[.latency[].max_ns] as $ours | [$plain[0].latency[].max_ns] as $theirs
        | [range($ours | length)] | all(($ours[.] - $theirs[.] | fabs) <= 100000)' "$scratch/stamped" >/dev/null ||
        fail "$name $kind: more than a unit from the original times"
    else
      diff -u "$scratch/plain" "$scratch/stamped" >"$scratch/diff" || fail "$name $kind: $(head -n 30 "$scratch/diff")"
    fi
    # By the capture's clock they are others.
    found "$scratch/stamped.pcap" "${late[@]}" >"$scratch/late"
    ! cmp -s "$scratch/plain" "$scratch/late" || fail "$name $kind: the capture's own times are not late"
    assert_json "$scratch/last.json" '.clock.clock == "capture" and .clock.stamped == 0'
  done
done

# Times in a unit that is not known are measured, not used.
"$scapy" "$here/stamps.py" make user "$file" "$scratch/stamped.pcap" >/dev/null
exits 1 "$XDP_ROCE" --json analyze "$scratch/stamped.pcap" --time mirror --decap erspan
assert_sentence 'none is usable' <"$scratch/last.err"
grep -q -- --tick "$scratch/last.err" || fail "no hint for the unit"
assert_json "$scratch/last.out" '.clock.stamped == 0 and .clock.unstamped == .frames.total
  and (.frame_times[0] | .unusable == .frames and .delay_min_ns == null and (.tick_ns - 10 | fabs) < 0.1)'
# A trailer, without being looked for, is bytes after the packet.
"$scapy" "$here/stamps.py" make trailer "$file" "$scratch/stamped.pcap" >/dev/null
whole=$("$XDP_ROCE" --json analyze "$file" | jq .bytes.total)
assert_eq "$whole" "$("$XDP_ROCE" --json analyze --time trailer "$scratch/stamped.pcap" | jq .bytes.total)" "bytes without trailers"
assert_eq "$whole" "$("$XDP_ROCE" --json analyze --time trailer --jobs 2 "$scratch/stamped.pcap" | jq .bytes.total)" "by two jobs"
found "$scratch/stamped.pcap" --time trailer >"$scratch/one"
found "$scratch/stamped.pcap" --time trailer --jobs 2 >"$scratch/two"
cmp "$scratch/one" "$scratch/two" || fail "--jobs 2 gives another report"
# Rows of it.
assert_eq "trailer,9,47,700" "$("$XDP_ROCE" analyze --time trailer --rows csv --table frame_times "$scratch/stamped.pcap" |
  python3 -c 'import csv, sys; print(*(",".join(row[key] for key in ("by", "device", "port", "frames")) for row in csv.DictReader(sys.stdin)))')" "rows"
# No stamps at all: the report has the capture's times, and says so.
exits 1 "$XDP_ROCE" --json analyze "$file" --time trailer
assert_sentence 'no frame has a stamp' <"$scratch/last.err"
assert_json "$scratch/last.out" '.clock.stamped == 0 and .frames.total > 0'
exits 1 "$XDP_ROCE" analyze "$file" --time mirror --decap erspan
assert_sentence 'no frame has a stamp' <"$scratch/last.err"
wrong() {
  exits 2 "$XDP_ROCE" analyze "$file" "${@:2}"
  assert_sentence "$1" <"$scratch/last.err"
}
wrong "headers of ERSPAN" --time mirror
wrong "headers of ERSPAN" --time mirror --decap vxlan
wrong "for --time mirror" --time trailer --tick 10ns
wrong "not a duration" --time mirror --decap erspan --tick 10
