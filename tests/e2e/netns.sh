#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --netns from outside, and `ip netns exec`, which hides bpffs: both work, and each sees the
# attachments made by the other, with the same interface name in two namespaces.
# shellcheck disable=SC2034 # for the harness
bpffs=machine
. "$(dirname "$0")/lib.sh"
need jq
lane

inside() {
  ip netns exec "$rx" "$XDP_ROCE" "$@"
}

xr attach rx0
replay --stream --packets 100
await_frames 100
refused "no such|nosuch" "$XDP_ROCE" --netns "nosuch-$$" counters rx0
refused 'rx0.*no such interface' "$XDP_ROCE" --netns "$tx" attach rx0
xr --json status >"$scratch/status.json"
grep -q '"rx0"' "$scratch/status.json" || fail "status: $(cat "$scratch/status.json")"
xr detach rx0

# Run inside: bpffs is hidden there. Either it works throughout, or it says in a sentence what to do.
if keep inside attach rx0; then
  replay --stream --packets 50
  wait_for 10 eval '[[ $(inside --json counters rx0 | jq .frames.total) == 50 ]]' ||
    fail "inside: $(inside --json counters rx0)"
  inside detach rx0
else
  assert_sentence 'netns' <"$scratch/last.err"
  echo "inside ip netns exec: $(head -n 1 "$scratch/last.err")"
fi
[[ $(ip -n "$rx" link show rx0) != *prog/xdp* ]] || fail "a program is left on the hook"

# Same name, other namespace: apart from each other.
ip -n "$tx" link set tx0 name rx0
xr attach rx0
"$XDP_ROCE" --netns "$tx" attach rx0
ip netns exec "$tx" "$XR_REPLAY" --ifname rx0 --stream --packets 30 >/dev/null
await_frames 30
assert_eq 0 "$("$XDP_ROCE" --netns "$tx" --json counters rx0 | jq .frames.total)" "frames at the other end"
"$XDP_ROCE" --netns "$tx" detach rx0
frames_counted 30 || fail "detaching one namespace's rx0 touched the other's"
