#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A link's flap: by carrier, as the peer's own kernel counts it, with pings that are lost while it is down and
# answered again afterwards; by dropping where it is asked for, where the port has IP addresses, and where the port
# keeps its carrier. The port is up again when the process ends; after a kill, reports say that it is down, and the
# next process sets it up.
. "$(dirname "$0")/wire_lib.sh"
need ping python3
lane3
begin_wire
ip netns exec "$left" ping -q -n -c 1 192.0.2.2 >/dev/null # ARP

# The peer's kernel counts how often its carrier went; `ip monitor` says when.
downs() { ip netns exec "$right" cat /sys/class/net/right0/carrier_down_count; }
carrier() { ip netns exec "$right" cat /sys/class/net/right0/carrier; }
up() { ip -n "$box" -j link show "$1" | jq -e '.[0].flags | index("UP")' >/dev/null; }
link_says() { xr --json link "$1" show | jq -e "$2" >/dev/null; }
must_say() { link_says "$1" "$2" || fail "link $1: not $2: $(xr --json link "$1" show)"; }
pings() { ip netns exec "$left" ping -q -n -c "$1" -i 0.01 -W 1 192.0.2.2 >"$scratch/ping" || true; }
lost() { awk '/packets transmitted/ { print $1 - $4 }' "$scratch/ping"; }

# flap_while COUNT WORDS...: pings while the link of box1 flaps.
flap_while() {
  local count=$1
  shift
  xr link box1 "$@" >/dev/null || fail "$(cat "$scratch/last.err")"
  pings "$count"
}

# Three times 200 ms in 1.8 s, of 2.5 s: by carrier.
ip -n "$right" -j monitor link >"$scratch/monitor" &
background+=("$!")
sleep 0.2
first=$(downs)
flap_while 250 flap 200ms every 600ms count 3
assert_eq $((first + 3)) "$(downs)" "times that the peer lost carrier"
assert_eq 1 "$(carrier)" "carrier of the peer at the end"
grep -o 'NO-CARRIER' "$scratch/monitor" | grep -c . >"$scratch/seen" || true
(($(<"$scratch/seen") >= 3)) || fail "ip monitor saw $(<"$scratch/seen") times that the carrier was gone: $(cat "$scratch/monitor")"
within "pings lost in 3 x 200 ms" "$(lost)" 20 90
read -r least _ _ < <(rtt 20)
within "RTT after the flaps, us" "$least" 1 5000
must_say box1 '.queue | .flaps == 3 and .carrier_downs == 3 and .flap_by == "carrier" and .held_down == 0'
must_say box1 '(.drops.down + .lost.dropped_down) as $n | $n >= 1'
# What the peer did not get is in the counts: those of the left that could not leave by box1. A frame on its way to
# the left is not one of them.
must_say box1 '(.drops.down + .lost.dropped_down) <= 90'
xr link box1 show >"$scratch/text"
grep -qE 'flap by +carrier' "$scratch/text" || fail "text: $(cat "$scratch/text")"

# By dropping, as asked: the peer sees nothing.
first=$(downs)
flap_while 150 flap 200ms every 600ms count 2 drop
assert_eq "$first" "$(downs)" "times that the peer lost carrier, with drop"
within "pings lost in 2 x 200 ms" "$(lost)" 13 60
must_say box1 '.queue | .flaps == 5 and .carrier_downs == 3 and .flap_by == "drop" and .flap_by_why == "as asked"'

# The port has an address: by dropping, unless `carrier` is given.
ip -n "$box" address add 192.0.2.77/32 dev box1
flap_while 90 flap 200ms every 600ms count 1
assert_eq "$first" "$(downs)" "times that the peer lost carrier, with an address"
link_says box1 '.queue.flap_by_why | test("IP addresses")' || fail "$(xr --json link box1 show)"
flap_while 90 flap 200ms every 600ms count 1 carrier
assert_eq $((first + 1)) "$(downs)" "times that the peer lost carrier, with an address and carrier"
ip -n "$box" address del 192.0.2.77/32 dev box1
# Too short for a port.
flap_while 5 flap 5ms every 30ms count 2
assert_eq $((first + 1)) "$(downs)" "times that the peer lost carrier in 5 ms"
must_say box1 '.queue.flap_by_why | test("too short")'

# `off` while it is down, and the end of the process, set the port up.
port_down() { ! up box1; }
xr link box1 flap 20s every 21s >/dev/null
wait_for 5 port_down || fail "the link does not go down"
must_say box1 '.queue.held_down == 1'
xr link box1 off >/dev/null
wait_for 5 up box1 || fail "off does not set the port up"
xr link box1 flap 20s every 21s >/dev/null
wait_for 5 port_down || fail "the link does not go down"
kill -TERM "$wire_pid"
wait "$wire_pid" || fail "wire: $(cat "$scratch/wire.err")"
up box1 || fail "box1 is down after SIGTERM"
wire_said '.second_queue | .carrier_downs == 6 and .held_down == 0'

# Killed while the port is down.
xr bridge box0 box1 >/dev/null 2>&1 || fail "bridge"
begin_wire
xr link box1 flap 20s every 21s >/dev/null
wait_for 5 port_down || fail "the link does not go down"
kill -9 "$wire_pid"
wait "$wire_pid" 2>/dev/null || true
must_say box1 '.link.running == false and .queue.held_down == 1'
xr link box1 show >"$scratch/text"
grep -q 'ip link set box1 up' "$scratch/text" || fail "link show does not say how to set it up: $(cat "$scratch/text")"
xr status box1 >"$scratch/text" 2>&1
grep -q 'link set box1 up' "$scratch/text" || fail "status does not say how to set it up: $(cat "$scratch/text")"
xr link box1 off >/dev/null
begin_wire
up box1 || fail "the next process did not set it up"
grep -q 'box1 was down by a flap' "$scratch/wire.err" || fail "it does not say so: $(cat "$scratch/wire.err")"
wait_for 5 carrier3 || fail "no carrier"
read -r least _ _ < <(rtt 10)
within "RTT after the kill, us" "$least" 1 5000
end_wire
xr detach box0 >/dev/null 2>&1

# A tap whose process stays keeps its carrier: it is set down once, and then frames are dropped.
cat >"$scratch/tap.py" <<'P'
import fcntl, os, struct, sys
fd = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(fd, 0x400454CA, struct.pack("16sH22x", b"tap9", 0x1002))  # TUNSETIFF: IFF_TAP | IFF_NO_PI
open(sys.argv[1], "w").write("ready")
while True:
    try:
        os.read(fd, 65536)
    except OSError:  # down
        import time
        time.sleep(0.01)
P
[[ -c /dev/net/tun ]] || { echo "no /dev/net/tun: the port that keeps its carrier is not tried"; exit 0; }
ip netns exec "$box" python3 "$scratch/tap.py" "$scratch/tap_ready" &
background+=("$!")
wait_for 5 test -s "$scratch/tap_ready" || fail "no tap"
ip -n "$box" link set tap9 up
"$XDP_ROCE" --netns "$box" --json wire box0 tap9 --mode skb >"$scratch/wire.out" 2>"$scratch/wire.err" &
wire_pid=$!
background+=("$wire_pid")
tap_runs() { link_says tap9 '.link.running' 2>/dev/null; }
wait_for 10 tap_runs || fail "wire on a tap: $(cat "$scratch/wire.err")"
xr link tap9 flap 100ms every 200ms count 3 >/dev/null
tap_flapped() { link_says tap9 '.queue.flaps == 3'; }
wait_for 5 tap_flapped || fail "$(xr --json link tap9 show)"
must_say tap9 '.queue | .carrier_downs == 0 and .flap_by == "drop" and (.flap_by_why | test("carrier stayed")) and .held_down == 0'
up tap9 || fail "the tap is down"
end_wire
