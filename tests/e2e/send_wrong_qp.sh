#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A responder replies to QPNs that the requester does not have: the requester names them and the
# option that fixes it, while it waits and after it failed.
. "$(dirname "$0")/traffic_lib.sh"
lane
respond --address "$to" --peer-qp +0x10
status=0
keep xt send "$sender_port" "${v4[@]}" "${at[@]}" qp 0x11 write size 1k messages 3 --reliable || status=$?
assert_eq 1 "$status" "exit status"
grep -q '^note: .*answers were for QP 0x21, .*--peer-qp' "$scratch/last.err" ||
  fail "not said during the run: $(cat "$scratch/last.err")"
grep -q '^xdp-roce: .*1 QP failed: 8 timeouts; all .* answers were for QP 0x21' "$scratch/last.err" ||
  fail "not said at the end: $(cat "$scratch/last.err")"
grep -q '^hint: .*--peer-qp' "$scratch/last.err" || fail "no hint: $(cat "$scratch/last.err")"
# As it says.
keep xt send "$sender_port" "${v4[@]}" "${at[@]}" qp 0x11 src-qp 0x21 psn 0x300000 write size 1k messages 3 --reliable ||
  fail "with src-qp: $(cat "$scratch/last.err")"
! grep -q 'answers were for' "$scratch/last.err" || fail "said without need: $(cat "$scratch/last.err")"
end_respond
