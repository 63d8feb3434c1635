#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Average rates, with wide limits because the machine is shared; bursts by count; a message if the
# requested rate is not reached.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane
xr attach rx0 --no-track
counted=0

# about WHAT WANTED GOT: within 10 %.
about() {
  awk -v want="$2" -v got="$3" 'BEGIN { exit !(got > want * 0.9 && got < want * 1.1) }' ||
    fail "$1: $3, and not about $2"
}
# What it says it sent was counted, too.
paced() {
  send "${v4[@]}" "${at[@]}" "$@"
  counted=$((counted + $(sent_of .sent.packets)))
  await_frames "$counted"
}
paced send size 64 rate 5kpps for 600ms
about "5 kpps for 0.6 s" 3000 "$(sent_of .sent.packets)"
about "packets/s achieved" 5000 "$(sent_of .achieved.packets_per_second)"
assert_sent '.asked.packets_per_second == 5000'
paced write size 1024 rate 50mbit for 500ms
about "bytes of 50 Mbit/s for 0.5 s" 3125000 "$(sent_of .sent.bytes)"
about "bit/s asked" 50e6 "$(sent_of .asked.l2_bits_per_second)"
paced write size 1024 rate 50mbit l1 for 500ms
about "bytes of 50 Mbit/s l1 for 0.5 s" 3125000 "$(sent_of '.sent.bytes + 24 * .sent.packets')"
paced send size 64 rate 10kpps poisson for 500ms
about "Poisson, 10 kpps for 0.5 s" 5000 "$(sent_of .sent.packets)"
paced send size 64 rate 10kpps ramp 500ms for 500ms
about "a ramp to 10 kpps in 0.5 s" 2500 "$(sent_of .sent.packets)"

# Two flows share what all together may have.
send --flow "${v4[*]} ${at[*]} qp 1000 send size 64" --flow "${v4[*]} ${at[*]} qp 1001 send size 64" \
  --rate 5kpps --for 400ms
about "two flows of 5 kpps together" 2000 "$(sent_of .sent.packets)"
counted=$((counted + $(sent_of .sent.packets)))

# Each QP by a pacer of its own.
paced send size 64 qp 0x100 qps 8 cc fixed 500pps for 1s
about "8 QPs of 500 pps for 1 s" 4000 "$(sent_of .sent.packets)"
assert_sent '.asked.packets_per_second == 4000'

paced send size 64 burst 10 gap 50ms count 5
assert_sent '.sent.packets == 50 and .seconds > 0.19'
paced send size 64 messages 100 start 200ms rate 10kpps
assert_sent '.sent.packets == 100 and .seconds > 0.19'

keep xt send tx0 "${v4[@]}" "${at[@]}" send size 64 rate 100mpps for 300ms || fail "$(cat "$scratch/last.err")"
grep -qE '100(\.0)? M ?packets/s were asked for and .* achieved' "$scratch/last.out" ||
  fail "it does not say what is missing: $(cat "$scratch/last.out")"
keep xt send tx0 "${v4[@]}" "${at[@]}" send size 64 messages 100 || fail "$(cat "$scratch/last.err")"
! grep -q 'asked for' "$scratch/last.out" || fail "nothing was asked for: $(cat "$scratch/last.out")"

# A report every time, each a line of JSON, and the last is of all.
xt --json send tx0 "${v4[@]}" "${at[@]}" send size 64 rate 1kpps for 500ms --interval 0.1 >"$scratch/lines"
jq -es 'length >= 3 and length <= 7 and (map(.sent.packets) | . == sort) and .[-1].sent.packets > 400' \
  "$scratch/lines" >/dev/null || fail "reports: $(jq -c '[.seconds, .sent.packets]' "$scratch/lines")"
xr detach rx0
