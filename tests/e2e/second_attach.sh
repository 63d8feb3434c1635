#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A second attach is rejected and changes nothing, and with --ensure succeeds and changes nothing; of two at the same time one succeeds; detach of
# nothing and an unknown interface give error messages.
. "$(dirname "$0")/lib.sh"
need jq
lane

refused 'nosuch0.*no such interface' xr attach nosuch0
refused 'rx0' xr counters rx0
refused 'rx0' xr detach rx0

xr attach rx0
replay --stream --packets 100
await_frames 100
refused 'rx0.*already attached|already' xr attach rx0
frames_counted 100 || fail "the refused attach changed the counters"
keep xr attach --ensure rx0
grep -q 'rx0: attached since .*; it stays as it is' "$scratch/last.err" || fail "--ensure does not say that rx0 stays: $(cat "$scratch/last.err")"
frames_counted 100 || fail "attach --ensure changed the counters"
# Under libxdp's dispatcher, or alone with the reason.
xr --json status rx0 >"$scratch/status.json"
assert_json "$scratch/status.json" '.attachments[0] | .dispatcher == (.alone_because == null)'
if [[ $(jq '.attachments[0].dispatcher' "$scratch/status.json") == false ]]; then
  keep xr status rx0
  grep -q 'rx0: alone on the XDP hook; no other program can join: ' "$scratch/last.err" ||
    fail "status does not say why it is alone: $(cat "$scratch/last.err")"
fi
xr detach rx0
xr attach --ensure rx0
replay --stream --packets 100
await_frames 100
xr detach rx0

# At the same time: the lock lets one of them through.
won=0
for _ in 1 2 3 4; do
  xr attach rx0 >/dev/null 2>&1 &
  background+=($!)
done
for pid in "${background[@]}"; do
  if wait "$pid"; then won=$((won + 1)); fi
done
background=()
assert_eq 1 "$won" "attaches of four at once that succeeded"
replay --stream --packets 100
await_frames 100
xr detach rx0
status=0
keep xr nonsense || status=$?
assert_eq 2 "$status" "exit status of a wrong command line"
