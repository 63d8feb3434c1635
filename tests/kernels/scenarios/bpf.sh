#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bpf.sh [PROGRAM...]: the tests of the label `bpf`, or of these programs: each test a process of its own, as ctest runs them.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
log=$(mktemp)
failures=0
for program in "$here"/../../../build/release/tests/bpf/*_test; do
  name=$(basename "$program")
  [[ " ${*:-$name} " == *" $name "* ]] || continue
  tests=$("$program" --gtest_list_tests 2>"$log" | awk '/^[^ ]/ { suite = $1 } /^  / { print suite $1 }')
  if [[ ! $tests ]]; then
    failures=$((failures + 1))
    printf 'RESULT\tfail\tbpf.%s\t0\tlists no test: %s\n' "$name" "$(tail -n 1 "$log")"
    continue
  fi
  while read -r test; do
    begun=$SECONDS status=0
    timeout --kill-after=10 1500 "$program" --gtest_filter="$test" </dev/null >"$log" 2>&1 || status=$?
    reason='' result=pass
    if ((status != 0)); then
      failures=$((failures + 1))
      result=fail reason=$(grep -aE -m 1 -A 4 'Failure|Error' "$log" | tr '\n\t' '  ')
      [[ $reason ]] || reason="status $status: $(tail -n 1 "$log")"
      cat "$log"
    elif grep -aq '^\[  SKIPPED' "$log"; then
      result=skip reason=$(grep -aA 1 'Skipped$' "$log" | sed -n 2p)
    fi
    printf 'RESULT\t%s\tbpf.%s\t%s\t%s\n' "$result" "$test" $((SECONDS - begun)) "${reason:0:300}"
  done <<<"$tests"
done
echo END
((failures == 0))
