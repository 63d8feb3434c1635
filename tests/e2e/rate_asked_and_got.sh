#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Requested and actual rates, counted by the receiver: a policer within 1 %, a probability within 3
# sigma over a million packets.
. "$(dirname "$0")/bridge_lib.sh"
need python3
lane3
bridge

arrived() { ip netns exec "$right" cat "/sys/class/net/right0/statistics/rx_$1"; }
quiet() {
  local now before=-1
  while now=$(arrived packets) && ((now != before)); do
    before=$now
    sleep 0.1
  done
}

# policed RATE FRAMES_PER_SECOND RULE...: twice the rate or more is offered; what passes between two looks, a time
# apart, is what the rate has in that time. Never more; less only where the machine kept the sender from sending for
# longer than the burst lasts, so there are three tries.
policed() {
  local rate=$1 begun ended bytes after sender got
  keep xr impair box0 add "${@:3}" || fail "add ${*:3}: $(cat "$scratch/last.err")"
  in_background ip netns exec "$left" "$XR_REPLAY" --ifname left0 --stream --packets $(($2 * 11)) \
    --rate "$2" --turn 16 --payload 1024 >"$scratch/sent"
  sender=${background[-1]}
  sleep 0.4 # the burst is gone
  for _ in 1 2 3; do
    read -r begun bytes < <(look)
    sleep 2.6
    kill -0 "$sender" || fail "the sender was done too early"
    read -r ended after < <(look)
    got=$(((after - bytes) * 8 * 1000000 / ((ended - begun) / 1000)))
    echo "${*:3}: $got bit/s passed"
    ((got <= rate * 99 / 100)) || break
  done
  kill "$sender"
  wait "$sender" || true
  unset 'background[-1]'
  ((got > rate * 99 / 100 && got < rate * 101 / 100)) || fail "${*:3}: $got bit/s passed, not $rate"
  [[ $(xr --json impair box0 list | jq ".rules[0].ppm > 100000") == true ]] || fail "too little was offered"
  keep xr impair box0 clear
  quiet
}
# Nanoseconds, and bytes: of each frame that arrived we know how many it has.
look() {
  python3 - "/run/netns/$right" <<'EOP'
import ctypes
import sys
import time

with open(sys.argv[1]) as netns:
    ctypes.CDLL(None).setns(netns.fileno(), 0)
with open("/proc/net/dev") as f:
    row = [line.split() for line in f if "right0:" in line][0]
print(time.monotonic_ns(), int(row[2]) * (14 + 20 + 8 + 12 + 1024 + 4))
EOP
}
policed 50000000 14000 roce police 50mbit burst 200k
# By L1 a frame has 24 bytes more: seen without them it is less.
policed $((50000000 * 1082 / 1106)) 14000 roce police 50mbit burst 200k l1

# asked PROBABILITY MEAN SIGMA3
asked() {
  local before lost
  keep xr impair box0 add roce probability "$1" drop seed 2026 || fail "add: $(cat "$scratch/last.err")"
  quiet
  before=$(arrived packets)
  replay_left --stream --packets 100000 --flows 10 --payload 0
  await_rule 1000000
  quiet
  lost=$((1000000 - ($(arrived packets) - before)))
  assert_eq "$lost" "$(xr --json impair box0 list | jq '.rules[0].acted')" "acted"
  echo "probability $1: $lost of 1000000 lost"
  ((lost > $2 - $3 && lost < $2 + $3)) || fail "probability $1: $lost of 1000000 lost"
  keep xr impair box0 clear
}
matched() { (($(xr --json impair box0 list | jq '.rules[0].matched') == $1)); }
await_rule() { wait_for 20 matched "$1" || fail "not all frames came: $(xr impair box0 list)"; }
asked 1% 10000 298
asked 1e-3 1000 94
unbridge
