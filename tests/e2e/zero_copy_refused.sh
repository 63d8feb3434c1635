#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A driver without zero-copy (veth): --zero-copy is rejected with a message and leaves nothing;
# without it, frames are copied and a note says so once; doctor detects it without a trial. With
# zero-copy: tests/kernels/zero_copy.sh, in a guest.
. "$(dirname "$0")/traffic_lib.sh"
need jq
lane 1500 2
before=$(kernel_objects)
flow=("${v4[@]}" "${at[@]}" qp 0x11 qps 2 send size 64 messages 5 rate 1kpps)
# Kernels since 6.3 say what a driver has; of others a socket shows it.
words='zero-copy is not possible: veth has no zero-copy'

refused "$words" xt send tx0 "${flow[@]}" --zero-copy
refused "$words" xt send tx0 "${flow[@]}" --zero-copy --reliable
refused "$words" xr respond rx0 --zero-copy --address "$to"
xr attach rx0 --mode skb >/dev/null 2>&1
refused "zero-copy is not possible: the port's program is in skb mode" xr respond rx0 --zero-copy --address "$to"
xr detach rx0 >/dev/null
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before" | paste -sd ,)"

notes() { grep -c 'frames are copied: veth has no zero-copy' "$scratch/last.err"; }
send "${flow[@]}" --queues 2
assert_eq 1 "$(notes)" "notes for two queues"
assert_sent '.port.af_xdp == "copy" and .port.queues == 2 and .port.fill_ring_empty == 0 and .sent.packets == 10 and
  ([.overflow[]] | add) == 0 and (.overflow | has("rx_no_chunk") and has("port_missed"))'
send "${flow[@]}" --copy
assert_eq "" "$(cat "$scratch/last.err")" "with --copy it is no news"
respond --address "$to"
assert_eq 1 "$(grep -c 'frames are copied: ' "$scratch/respond.json.err")" "notes of respond"
end_respond
# In skb mode the note of the mode is enough.
xr attach rx0 --mode skb >/dev/null 2>&1
respond --address "$to"
! grep -q 'veth has no zero-copy' "$scratch/respond.json.err" || fail "not the driver's doing: $(cat "$scratch/respond.json.err")"
end_respond
xr detach rx0 >/dev/null

# A driver without native XDP: one note says it all.
if ip -n "$rx" link add none0 type dummy 2>/dev/null; then
  ip -n "$rx" link set none0 up
  respond on "$rx" none0 --address "$to"
  assert_eq 1 "$(grep -cE 'skb mode|frames are copied' "$scratch/respond.json.err")" "notes where there is no native XDP ($(cat "$scratch/respond.json.err"))"
  end_respond
  assert_respond '.port.xdp == "skb" and .port.af_xdp == "copy"'
fi

doctor() { keep xr --json doctor rx0 "$@" || fail "doctor: $(cat "$scratch/last.err")"; }
zero_copy() { jq -r ".checks[] | select(.check == \"zero_copy\").$1" "$scratch/last.out"; }
doctor --try
assert_eq info "$(zero_copy status)" "$(zero_copy text)"
zero_copy text | grep -q 'copies each frame.*: veth has no zero-copy' || fail "doctor --try: $(zero_copy text)"
doctor
case $(zero_copy status) in
info) zero_copy text | grep -q ': veth has no zero-copy$' || fail "doctor: $(zero_copy text)" ;;
unknown) zero_copy hint | grep -q "doctor rx0 --try" || fail "doctor: $(zero_copy hint)" ;;
*) fail "doctor: $(zero_copy status) $(zero_copy text)" ;;
esac
# A queue that is taken cannot be tried.
respond --address "$to"
doctor --try
assert_eq unknown "$(zero_copy status)" "$(zero_copy text)"
zero_copy text | grep -q 'queue 0 is taken' || fail "doctor --try: $(zero_copy text)"
end_respond
wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before" | paste -sd ,)"
