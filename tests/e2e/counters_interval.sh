#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# counters --interval: one document per line, rates that agree with the counters, and a clean end on
# SIGTERM.
. "$(dirname "$0")/lib.sh"
need jq
lane

xr attach rx0
xr --json counters rx0 --interval 0.2 --count 3 >"$scratch/lines"
assert_eq 3 "$(wc -l <"$scratch/lines")" "documents of --count 3"
jq -e . "$scratch/lines" >/dev/null || fail "not JSON: $(cat "$scratch/lines")"

in_background "$XDP_ROCE" --netns "$rx" --json counters rx0 --interval 0.2 >"$scratch/lines" 2>"$scratch/last.err"
wait_for 5 test -s "$scratch/lines"
replay --stream --packets 3000 --rate 3000
reported() { (($(tail -n 1 "$scratch/lines" | jq .frames.total) == 3000 && $(wc -l <"$scratch/lines") >= 4)); }
wait_for 15 reported || fail "in the last report: $(tail -n 1 "$scratch/lines" | jq -c .frames)"
end_background TERM
assert_eq 0 "$ended" "exit status: $(cat "$scratch/last.err")"
assert_eq 3000 "$(tail -n 1 "$scratch/lines" | jq .frames.total)" "frames in the last report"
# totals never go back
jq -se '[.[].frames.total] | . == sort' "$scratch/lines" >/dev/null || fail "totals went back"

# the text has rates
xr counters rx0 --interval 0.2 --count 2 >"$scratch/text"
grep -q '/s' "$scratch/text" || fail "no rate in: $(cat "$scratch/text")"
xr detach rx0
