#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# AF_XDP without copying, on a guest's virtio-net (zero_copy.sh has made its network): beside it the host's own traffic
# on the same queues loses nothing, and what the endpoint loses is counted, frame by frame.
. "$(dirname "$0")/checks.sh"
beside=$(dirname "$0")/beside.py
host=192.0.2.100 # answers pings, and sends back what comes by TCP
figures=$scratch/figures
: >"$figures"

port_with() { # MAC: the interface that has it
  ip -j link | jq -r --arg mac "$1" '.[] | select(.address == $mac).ifname'
}
# All but nic2, whose device does not take it, have zero-copy; nic1 is another host's; nic3 and nic4 are for a wire between
# the others and nobody.
set_up() {
  local i
  sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  for i in 0 1 2 3 4; do ip link set "$(port_with 52:54:00:bb:00:0$i)" name nic$i; done
  ip netns add peer
  ip link set nic1 netns peer
  ip address add 192.0.2.1/24 dev nic0
  ip -n peer address add 192.0.2.2/24 dev nic1
  ip link set nic0 mtu 1500 up
  ip -n peer link set nic1 mtu 1500 up
  ip link set nic2 mtu 1500 up
  ethtool -L nic0 combined 2
  for i in 2 3 4; do ethtool -L nic$i combined 2; done
  ip netns exec peer ethtool -L nic1 combined 1 # all answers come in on the queue that asked
  load 20 0
  assert_json "$scratch/load.json" '.answered == .pings'
  host_mac=$(ip -j neigh show dev nic0 | jq -r --arg host "$host" '.[] | select(.dst == $host).lladdr')
}
x() { "$XDP_ROCE" "$@"; }
p() { "$XDP_ROCE" --netns peer "$@"; }
tidy() {
  x detach nic0
  p detach nic1
}

# load PINGS BYTES: the host's own traffic on nic0.
load() {
  keep python3 -I "$beside" load "$host" 7000 "$@" || fail "load: $(cat "$scratch/last.err")"
  cp "$scratch/last.out" "$scratch/load.json"
}
load_loses_nothing() {
  load 150 500000
  assert_json "$scratch/load.json" '.answered == .pings and .tcp.same and .tcp.again == 0'
}
# runs NAME COMMAND...: in the background with a report every half second, which it awaits.
runs() {
  local name=$1
  shift
  rm -f "$scratch/$name".*
  "$XDP_ROCE" --json "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" &
  background+=($!)
  wait_for 30 grep -q '"schema"' "$scratch/$name.out" || fail "$name: $(cat "$scratch/$name.err")"
}
# ends NAME: the last one that runs; its report is in $scratch/NAME.json.
ends() {
  kill -0 "${background[-1]}" || fail "$1 has ended: $(cat "$scratch/$1.err")"
  end_background INT
  assert_eq 0 "$ended" "exit status of $1 ($(cat "$scratch/$1.err"))"
  tail -n 1 "$scratch/$1.out" >"$scratch/$1.json"
}
# What was lost here but for the schedule, which a guest cannot keep.
lossless='[.overflow | del(.schedule_given_up_ms)[]] | add == 0'
check_of() { jq -r --arg c zero_copy ".checks[] | select(.check == \$c).$1" "$scratch/last.out"; }
doctor() { keep x --json doctor "$@" || fail "doctor: $(cat "$scratch"/last.*)"; }

# Not tried unless asked, and then what a socket gets.
doctor_zero_copy() {
  doctor nic0
  assert_eq unknown "$(check_of status)" "not tried"
  check_of hint | grep -q 'doctor nic0 --try' || fail "hint: $(check_of hint)"
  doctor nic0 --try
  assert_eq ok "$(check_of status)" "nic0: $(check_of text)"
  doctor nic2 --try
  assert_eq info "$(check_of status)" "nic2: $(check_of text)"
  check_of hint | grep -q iommu_platform=on || fail "hint: $(check_of hint)"
  load 20 0
  assert_json "$scratch/load.json" '.answered == .pings'
}

# send_beside MODE QUEUES WORDS...: as fast as it goes, to nobody.
send_beside() {
  local mode=$1 queues=$2
  runs send send nic0 "--$mode" --queues "$queues" --interval 0.5 dst 192.0.2.200 dst-mac "$host_mac" qp 0x11 qps "$queues" size 1k
  load_loses_nothing
  ends send
  assert_json "$scratch/send.json" "$lossless"
  assert_json "$scratch/send.json" ".port.af_xdp == \"$mode\" and .port.queues == $queues and .sent.packets > 1000"
  printf 'FIGURE\tsend_%s_%s_frames_per_second\t%s\n' "${mode//-/_}" "$queues" \
    "$(jq '.achieved.packets_per_second | round' "$scratch/send.json")" >>"$figures"
}

# All that it sent is what another port counts.
send_arrives() {
  keep p attach nic1 || fail "attach: $(cat "$scratch/last.err")"
  keep x --json send nic0 --zero-copy --queues 2 dst 192.0.2.2 qp 0x11 qps 2 messages 300 write size 2k rate 1kpps ||
    fail "send: $(cat "$scratch/last.err")"
  cp "$scratch/last.out" "$scratch/send.json"
  assert_json "$scratch/send.json" ".finished and .sent.packets == 1200 and .port.af_xdp == \"zero-copy\" and ($lossless)"
  wait_for 30 counted 1200 p nic1 || fail "$(p --json counters nic1 | jq -c .frames) of 1,200"
}
counted() { [[ $("$2" --json counters "$3" | jq .frames.rocev2) == "$1" ]]; }

# Both ends without copying, and the host's traffic beside.
reliable() {
  runs respond respond nic0 --zero-copy --interval 0.5
  p --json send nic1 --zero-copy --reliable --timeout 19 dst 192.0.2.1 qp 0x11 messages 40 write size 16k rate 500pps \
    >"$scratch/send.json" 2>"$scratch/send.err" &
  sender=$!
  load_loses_nothing
  wait "$sender" || fail "send: $(cat "$scratch"/send.*)"
  assert_json "$scratch/send.json" ".finished and .port.af_xdp == \"zero-copy\" and ($lossless)"
  ends respond
  assert_json "$scratch/respond.json" ".received.messages == 40 and .port.af_xdp == \"zero-copy\" and .port.queues == 2 and ($lossless)"
}

# respond_too_slow MODE: stopped for longer than its memory lasts. The host does not notice, and each frame that came
# was either received or is counted as lost.
respond_too_slow() {
  keep x attach nic0 || fail "attach: $(cat "$scratch/last.err")"
  runs respond respond nic0 "--$1" --no-cnp --interval 0.5
  kill -STOP "${background[-1]}"
  keep p --json send nic1 --copy dst 192.0.2.1 qp 0x11 send size 64 messages 20000 rate 3kpps ||
    fail "send: $(cat "$scratch/last.err")"
  assert_json "$scratch/last.out" '.sent.packets == 20000'
  wait_for 60 counted 20000 x nic0 || fail "$(x --json counters nic0 | jq -c .frames) of 20,000"
  load_loses_nothing
  kill -CONT "${background[-1]}"
  wait_for 60 received_all || fail "$(tail -n 1 "$scratch/respond.out")"
  ends respond
  assert_json "$scratch/respond.json" ".port.af_xdp == \"$1\" and .overflow.rx_ring_full > 0 and
    .received.frames + .overflow.rx_ring_full == 20000 and .overflow.rx_no_chunk == 0 and .overflow.rx_dropped == 0"
}
received_all() { tail -n 1 "$scratch/respond.out" | jq -e '.received.frames + .overflow.rx_ring_full == 20000' >/dev/null; }

# Frames in several buffers: this driver's zero-copy takes none, which is said, and they are copied.
jumbo() {
  local words='virtio_net has no zero-copy for frames in several buffers, as MTU 9000 needs'
  ip link set nic0 mtu 9000
  ip -n peer link set nic1 mtu 9000
  keep p attach nic1 || fail "attach: $(cat "$scratch/last.err")"
  refused "$words" x send nic0 --zero-copy dst 192.0.2.2 qp 0x11 messages 1
  keep x --json send nic0 --queues 2 dst 192.0.2.2 qp 0x11 qps 2 pmtu 4096 write size 8k messages 50 rate 500pps ||
    fail "send: $(cat "$scratch/last.err")"
  assert_json "$scratch/last.out" ".port.af_xdp == \"copy\" and .sent.packets == 200 and ($lossless)"
  assert_eq 1 "$(grep -c "frames are copied: $words" "$scratch/last.err")" "notes of it"
  wait_for 30 counted 200 p nic1 || fail "$(p --json counters nic1 | jq -c .frames) of 200"
}
jumbo_ends() {
  ip link set nic0 mtu 1500
  ip -n peer link set nic1 mtu 1500
}

# A device that does not take it: said once, and --zero-copy insists.
fallback() {
  local flow=(dst 192.0.2.2 src 192.0.2.9 dst-mac "$host_mac" qp 0x11 qps 2 send size 64 messages 20 rate 200pps)
  refused 'zero-copy is not possible: virtio_net refuses zero-copy on this device' x send nic2 --zero-copy "${flow[@]}"
  keep x --json send nic2 --queues 2 "${flow[@]}" || fail "send: $(cat "$scratch/last.err")"
  assert_json "$scratch/last.out" '.port.af_xdp == "copy" and .sent.packets == 40'
  assert_eq 1 "$(grep -c 'frames are copied: virtio_net refuses' "$scratch/last.err")" "notes of it"
  keep x send nic2 --copy "${flow[@]}" || fail "send: $(cat "$scratch/last.err")"
  ! grep -q copied "$scratch/last.err" || fail "a note, though --copy asked for it"
}

# sent_by NIC: frames, as its driver counts them: virtio_net counts those of zero-copy as XDP's only.
sent_by() {
  local copied
  copied=$(ip -s -j link show "$1" | jq '.[0].stats64.tx.packets')
  ethtool -S "$1" | awk -v sum="$copied" '/^ *tx(_queue_)?[0-9]+_xdp_tx:/ { sum += $2 } END { print sum }'
}
# received NIC: frames that its driver counts, and those that it dropped.
received() { ip -s -j link show "$1" | jq -r '.[0].stats64.rx | "\(.packets) \(.dropped)"'; }
# wire_holds MODE OTHER: between nic3 and OTHER, with two queues each: each frame that enters leaves once, by the driver's count too.
wire_holds() {
  local mode=$1 other=$2 sent entered before i
  ip link set nic3 mtu 1500 up
  ip link set "$other" mtu 1500 up
  runs wire wire nic3 "$other" "--$mode" --fix --queues 2 --interval 0.5
  keep x impair nic3 add roce delay 20ms || fail "rule: $(cat "$scratch/last.err")"
  sleep 1
  sent=$(sent_by "$other") before=$(received nic3)
  for i in 1 2 3 4; do
    keep p --json send nic1 --copy dst 192.0.2.3 dst-mac 52:54:00:bb:00:03 qp "0x${i}0" qps 2 send size 512 \
      messages 500 rate 2kpps || fail "send: $(cat "$scratch/last.err")"
    assert_json "$scratch/last.out" ".finished and .sent.packets == 1000 and ($lossless)"
  done
  sleep 2
  sent=$(($(sent_by "$other") - sent)) entered=$(x --json counters nic3 | jq .frames.rocev2)
  [[ $entered == 4000 ]] || fail "$entered of 4,000 frames entered nic3; its driver counted $before before, $(received nic3) afterwards (dropped)"
  ends wire
  assert_json "$scratch/wire.json" ".wire.af_xdp == \"$mode\" and .ports[0].queues == 2 and
    .ports[0].in.taken == 4000 and .ports[0].in.left == 4000 and ([.ports[0].lost[]] | add) == 0"
  ((sent >= 4000 && sent <= 4020)) || fail "$other sent $sent frames of 4,000"
  printf 'FIGURE\twire_%s_frames\t%s\n' "${mode//-/_}" "$sent" >>"$figures"
}
# A device that does not take it, as either port: said once, and --zero-copy insists.
wire_refused() {
  local words='virtio_net refuses zero-copy on this device' ports
  for ports in 'nic3 nic2' 'nic2 nic3'; do
    # shellcheck disable=SC2086 # two ports
    refused "zero-copy is not possible: nic2: $words" x wire $ports --zero-copy --fix --for 1s
    # shellcheck disable=SC2086
    keep x --json wire $ports --fix --for 1s || fail "wire: $(cat "$scratch/last.err")"
    assert_json "$scratch/last.out" '.wire.af_xdp == "copy"'
    assert_eq 1 "$(grep -c "frames are copied: nic2: $words" "$scratch/last.err")" "notes of it"
  done
}

# A queue that restarts may lose the frames in its ring: how much is reported, not judged. It works afterwards.
open_and_close() {
  local i
  keep python3 -I "$beside" load "$host" 7000 400 0 &
  loading=$!
  for i in {1..5}; do
    "$XDP_ROCE" send nic0 --zero-copy dst 192.0.2.200 dst-mac "$host_mac" qp 0x11 send size 64 messages 10 rate 100pps >/dev/null 2>"$scratch/send.err" ||
      fail "send: $(cat "$scratch/send.err")"
  done
  wait "$loading"
  printf 'FIGURE\tpings_lost_by_5_opens_and_closes\t%s\n' "$(jq '.pings - .answered' "$scratch/last.out")" >>"$figures"
  load 20 0
  assert_json "$scratch/load.json" '.answered == .pings'
}
nothing_left() { wait_for 5 nothing_since "$before" || fail "left behind: $(since "$before" | paste -sd ,)"; }

set_up || fail "the ports cannot be set up"
before=$(kernel_objects)
chosen=$*
# All, or those that are named.
run() { [[ " ${chosen:-$1} " != *" $1 "* ]] || check "$@"; }
run doctor_zero_copy doctor_zero_copy
run send_beside_host_traffic send_beside zero-copy 1
run send_two_queues_beside_host_traffic send_beside zero-copy 2
run send_copy_beside_host_traffic send_beside copy 1
run send_copy_two_queues_beside_host_traffic send_beside copy 2
run send_arrives send_arrives
run reliable_beside_host_traffic reliable
run respond_too_slow respond_too_slow zero-copy
run respond_copy_too_slow respond_too_slow copy
run jumbo jumbo
jumbo_ends
run fallback fallback
run wire_zero_copy wire_holds zero-copy nic4
run wire_copy wire_holds copy nic4
run wire_refused wire_refused
run open_and_close open_and_close
run nothing_left nothing_left
cat "$figures"
((failures == 0))
