# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Functions for the capture scenarios: a capture in the background, and reading its files. lane()
# gives $tx and $rx; lane3() of the bridge harness gives the bridge between left0 and right0.
. "$(dirname "${BASH_SOURCE[0]}")/bridge_lib.sh"

# begin_capture PORT OPTIONS...: until end_capture; its report is in $scratch/capture.json.
begin_capture() {
  rm -f "$scratch/capture.err" # what the one before said
  "$XDP_ROCE" --netns "$rx" --json capture "$@" >"$scratch/capture.json" 2>"$scratch/capture.err" &
  capturing=$!
  background+=("$capturing")
  await_capture "$1" "$scratch/capture.err"
}
# await_capture PORT ERR: until $capturing says there that it takes frames.
await_capture() {
  wait_for 15 begun "$@" || fail "capture does not run: $(cat "$2")"
}
begun() {
  kill -0 "$capturing" 2>/dev/null || fail "capture ended: $(cat "$2")"
  grep -qs "^note: capture $1: begun\$" "$2"
}
captures() {
  kill -0 "$capturing" 2>/dev/null || fail "capture ended: $(cat "$scratch/capture.err")"
  xr --json status "$1" 2>/dev/null | jq -e '.attachments[0].features | index("capture")' >/dev/null
}
# end_capture [SIGNAL]: without a signal, it ends by itself.
end_capture() {
  local one kept=()
  remember
  ended=0
  if [[ -n ${1:-} ]]; then kill "-$1" "$capturing"; fi
  wait "$capturing" || ended=$?
  for one in "${background[@]}"; do
    [[ $one == "$capturing" ]] || kept+=("$one")
  done
  background=("${kept[@]}")
}
assert_capture() { assert_json "$scratch/capture.json" "$1"; }
ended_well() { assert_eq 0 "$ended" "exit status of capture: $(cat "$scratch/capture.err")"; }

# captured FILE: a line of hexadecimal for each frame, read by tshark's library, not by ours.
captured() {
  editcap -F pcap "$1" "$scratch/captured.pcap"
  frames list "$scratch/captured.pcap"
}
comments() { tshark -r "$1" -T fields -e frame.comment 2>/dev/null; }
count_comments() { comments "$1" | grep -c -- "$2" || true; }
