#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Captures that are cut, wrong, empty, compressed or piped: a report if possible, otherwise an error
# message, and never a crash or a hang.
. "$(dirname "$0")/lib.sh"
need jq
gzip -dc <"$(capture rc_write_4096_v4)" >"$scratch/good.pcap" 2>/dev/null ||
  cp "$(capture rc_write_4096_v4)" "$scratch/good.pcap"
analyze() {
  timeout 120 "$XDP_ROCE" --json analyze "$@"
}

keep analyze "$scratch/good.pcap" || fail "good file: $(cat "$scratch/last.err")"
cp "$scratch/last.out" "$scratch/good.json"
assert_json "$scratch/good.json" '.frames.rocev2 == 250 and .icrc.checked == 250 and .icrc.bad == 0'

# same JSON but for the name
like_good() {
  diff <(jq -S 'del(.source, .run)' "$scratch/good.json") <(jq -S 'del(.source, .run)' "$scratch/last.out") ||
    fail "$1: another report"
}
gzip -c "$scratch/good.pcap" >"$scratch/good.pcap.gz"
keep analyze "$scratch/good.pcap.gz" || fail "gzip: $(cat "$scratch/last.err")"
like_good gzip
keep analyze - <"$scratch/good.pcap" || fail "stdin: $(cat "$scratch/last.err")"
like_good "standard input"
keep analyze - <"$scratch/good.pcap.gz" || fail "gzip on stdin: $(cat "$scratch/last.err")"
like_good "gzip on standard input"
keep analyze - < <(cat "$scratch/good.pcap") || fail "pipe: $(cat "$scratch/last.err")"
like_good pipe

# Cut inside a packet: the report up to there, a warning, exit 1.
size=$(stat -c %s "$scratch/good.pcap")
for cut in $((size - 1)) $((size - 500)) $((size / 2)) $((24 + 16 + 5)); do
  head -c "$cut" "$scratch/good.pcap" >"$scratch/cut.pcap"
  status=0
  keep analyze "$scratch/cut.pcap" || status=$?
  assert_eq 1 "$status" "cut at $cut: exit status"
  assert_json "$scratch/last.out" ".frames.total < $(jq .frames.total "$scratch/good.json")"
  assert_sentence 'truncated|cut|ends' <"$scratch/last.err"
done
# gzip cut short
head -c $(($(stat -c %s "$scratch/good.pcap.gz") / 2)) "$scratch/good.pcap.gz" >"$scratch/cut.pcap.gz"
status=0
keep analyze "$scratch/cut.pcap.gz" || status=$?
assert_eq 1 "$status" "cut gzip: exit status"

# Cut at each byte of the file header and of the first record's.
for cut in {0..40}; do
  head -c "$cut" "$scratch/good.pcap" >"$scratch/cut.pcap"
  status=0
  keep analyze "$scratch/cut.pcap" || status=$?
  ((status == 1 || (cut == 24 && status == 0))) || fail "header cut at $cut: exit status $status"
done

# The command ends while a thread hashes the file for the block `run`.
for _ in {1..150}; do
  status=0
  analyze "$scratch/cut.pcap" >/dev/null 2>&1 || status=$?
  ((status <= 1)) || fail "at the end: exit status $status"
done

printf 'no capture at all, whatever its name says' >"$scratch/wrong.pcap"
refused 'wrong.pcap' analyze "$scratch/wrong.pcap"
refused 'missing.pcap' analyze "$scratch/missing.pcap"
refused "$scratch" analyze "$scratch"
# a record that claims 2 GB
{ head -c 24 "$scratch/good.pcap"; printf '\0\0\0\0\0\0\0\0\377\377\377\177\377\377\377\177abc'; } >"$scratch/absurd.pcap"
status=0
keep analyze "$scratch/absurd.pcap" || status=$?
assert_eq 1 "$status" "absurd length: exit status"
assert_sentence . <"$scratch/last.err"
