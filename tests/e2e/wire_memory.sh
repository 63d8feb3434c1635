#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The memory that `wire` sizes by itself, and the one that a refusal names, last for the shortest frames at
# the highest rate that there is: no frame finds all buffers in use. With less, it says for which frames.
. "$(dirname "$0")/wire_lib.sh"
lane3
xr bridge box0 box1 >/dev/null 2>&1 || fail "bridge"
xr impair box0 add delay 100ms >/dev/null

# full_rate MILLISECONDS: frames of 64 bytes, as fast as they can be sent.
full_rate() {
  "$XDP_ROCE" --netns "$left" --json send left0 dst 192.0.2.2 dst-mac "$right_mac" qp 5 send size 1 rate top \
    --for "$1ms" >"$scratch/sent" 2>"$scratch/last.err" || fail "send: $(cat "$scratch/last.err")"
  sleep 0.3
}
# Buffers were left all the time. A process that is kept from its rings loses frames too (no_buffer, ring_full).
lasted() {
  wire_said '.ports[0] | .in.taken > 3000 and .in.memory_free_least > 0 and .lost.no_memory == 0'
  wire_said '.ports[0] | .in.taken == .in.left'
}
begin_wire
full_rate 1500
end_wire
lasted
wire_said '.wire.memory_bytes >= (200000 + 2 * 8192) * 2048' # 2 million a second for 100 ms, and the rings

# A refusal names what is enough.
refused 'rules and links hold up to 125M' xr wire box0 box1 --memory 64M
hint=$(sed -n 's/^hint: --memory \([0-9A-Za-z]*\), .*/\1/p' "$scratch/last.err")
[[ -n $hint ]] || fail "no hint: $(cat "$scratch/last.err")"
fits=$(sed -n 's/.*; or the largest that fits: a delay of \([0-9a-z.]*\) of rule 1 of box0$/\1/p' "$scratch/last.err")
[[ -n $fits ]] || fail "no delay that fits: $(cat "$scratch/last.err")"
begin_wire --memory "$hint"
full_rate 500
end_wire
lasted
grep -q 'bytes on average' "$scratch/wire.err" && fail "$(cat "$scratch/wire.err")"

# Enough for frames of 1,024 bytes only.
least=$(sed -n 's/.*at least \([0-9A-Za-z]*\).*/\1/p' "$scratch/last.err")
begin_wire --memory "${least:-300M}"
grep -qE "enough for frames of [0-9,]+ bytes on average at full rate; for frames of any length: --memory $hint" \
  "$scratch/wire.err" || fail "$(cat "$scratch/wire.err")"
end_wire

# With the delay that the refusal names, the memory that was refused is enough.
xr impair box0 clear >/dev/null
xr impair box0 add delay "$fits" >/dev/null
begin_wire --memory 64M
end_wire
