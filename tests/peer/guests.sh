# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# One or two guests with Soft-RoCE and the stock RDMA tools, and a wire. Sourced, by root, after prepare.sh:
#   peer_up DIR [MTU]       two network namespaces; a trap removes them and the guests when the shell ends
#   peer_boot a|b           boots a guest: a is 10.77.0.1, fd77::1 and b 10.77.0.2, fd77::2; $guest_note has what went wrong
#   peer_plug peer0|b       what guest a's wire ends at: peer0 (which has b's addresses) from the beginning, or guest b
#   peer_in a|b SECONDS COMMAND
#                           runs it in the guest; its output and exit status; 124 or 137: the time was over, 255: no answer
#   peer_end a|b            kills what peer_in still runs there
#   peer_lose a|b PERCENT   loses that many packets of what the guest sends and of what it receives
#   peer_host COMMAND...    runs a command on this machine where peer0 is
#   peer_down
# The wire:
#   namespace peer-PID-wire                                    namespace peer-PID-host
#   guest a --- tap-a --- [bridge] --- wire0 <--- veth pair ---> peer0 10.77.0.2/24, fd77::2/64
#   guest b --- tap-b (in the bridge instead of wire0, after peer_plug b)
# shellcheck disable=SC2034,SC2154 # guest_... are of kernels/guest.sh

peer_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../kernels/guest.sh
. "$peer_here/../kernels/guest.sh"
declare -A peer_ports=() peer_pids=() peer_addresses=([a]='10.77.0.1/24 fd77::1/64' [b]='10.77.0.2/24 fd77::2/64')
peer_wire=peer-$$-wire peer_hosts=peer-$$-host
guest_memory=1024 guest_cpus=1

peer_host() { ip netns exec "$peer_hosts" "$@"; }

peer_down() {
  local name
  for name in "${!peer_pids[@]}"; do
    peer_as "$name"
    guest_stop
  done
  peer_pids=()
  for name in "$peer_wire" "$peer_hosts"; do ip netns del "$name" 2>/dev/null; done
  return 0
}

peer_up() {
  local name
  peer_dir=$1 peer_mtu=${2:-1500}
  trap peer_down EXIT
  trap 'exit 143' INT TERM HUP
  mkdir -p "$peer_dir"
  for name in "$peer_wire" "$peer_hosts"; do
    ip netns add "$name" && ip -n "$name" link set lo up || return 1
    # Nothing on the wire that no test sends.
    ip netns exec "$name" sysctl -qw net.ipv6.conf.default.{accept_dad,accept_ra,router_solicitations}=0 \
      net.ipv6.conf.default.addr_gen_mode=1 || return 1
  done
  ip netns exec "$peer_wire" sysctl -qw net.ipv6.conf.default.disable_ipv6=1
  ip -n "$peer_wire" link add bridge0 type bridge mcast_snooping 0 forward_delay 0 &&
    ip -n "$peer_wire" link add wire0 mtu "$peer_mtu" type veth peer name peer0 mtu "$peer_mtu" netns "$peer_hosts" || return 1
  for name in tap-a tap-b; do
    ip -n "$peer_wire" tuntap add "$name" mode tap vnet_hdr && ip -n "$peer_wire" link set "$name" mtu "$peer_mtu" up || return 1
  done
  ip -n "$peer_wire" link set tap-a master bridge0 && ip -n "$peer_wire" link set bridge0 mtu "$peer_mtu" up &&
    ip -n "$peer_wire" link set wire0 up && ip -n "$peer_hosts" link set peer0 up &&
    ip -n "$peer_hosts" address add 10.77.0.2/24 dev peer0 && ip -n "$peer_hosts" address add fd77::2/64 dev peer0 nodad &&
    peer_plug peer0
}

peer_plug() {
  local on=wire0 off=tap-b
  [[ $1 != b ]] || on=tap-b off=wire0
  ip -n "$peer_wire" link set "$off" nomaster && ip -n "$peer_wire" link set "$on" master bridge0 || return 1
  # Both ends have the same addresses.
  for on in "${!peer_pids[@]}"; do peer_in "$on" 20 'ip neigh flush all'; done
}

peer_as() { guest_netns=$peer_wire guest_port=${peer_ports[$1]:-} guest_pid=${peer_pids[$1]:-} guest_dir=$peer_dir/$1; }

peer_boot() {
  local name=$1 off='' offload
  peer_as "$name"
  for offload in csum gso host_tso4 host_tso6 host_ecn host_ufo guest_csum guest_tso4 guest_tso6 guest_ecn guest_ufo; do off+=,$offload=off; done
  guest_devices=(
    -netdev "tap,id=wire,ifname=tap-$name,script=no,downscript=no,vhost=off"
    -device "virtio-net-pci,netdev=wire,mac=52:54:00:77:00:0$((16#$name - 9)),host_mtu=$peer_mtu,romfile=$off"
  )
  guest_boot ../peer "$guest_dir" 180 "$kernels_root/build/peer/rdma.cpio" || return 1
  peer_ports[$name]=$guest_port peer_pids[$name]=$guest_pid
  # shellcheck disable=SC2086 # two words
  peer_in "$name" 60 "/opt/peer/up ${peer_addresses[$name]/ / } $peer_mtu" >"$guest_dir/up.log" 2>&1 && return
  guest_note="rxe0 does not come up: $(tail -n 1 "$guest_dir/up.log")"
  return 1
}

peer_in() {
  peer_as "$1"
  guest_in_netns timeout --kill-after=5 $(($2 + 20)) python3 -I "$kernels_here/client.py" "$guest_port" run - <<S
mkdir -p /run/peer && : >/run/peer/\$\$
ulimit -l unlimited
timeout --kill-after=3 $2 bash -c $(printf %q "$3")
status=\$?
rm -f /run/peer/\$\$
exit \$status
S
}

peer_end() {
  peer_as "$1"
  # Each script of the agent is a session.
  # shellcheck disable=SC2016 # the guest's
  guest_in_netns timeout 20 python3 -I "$kernels_here/client.py" "$guest_port" run - <<<'for session in /run/peer/*; do
    [[ ! -e $session ]] || pkill -KILL -s "${session##*/}"; rm -f "$session"; done' >/dev/null 2>&1
  return 0
}

# Through ifb0 what is received, as netem is of what is sent.
peer_lose() {
  peer_in "$1" 30 "set -e
    modprobe ifb numifbs=1 && ip link set ifb0 mtu $peer_mtu up
    tc qdisc replace dev eth0 root netem loss $2% limit 10000
    tc qdisc replace dev ifb0 root netem loss $2% limit 10000
    tc qdisc add dev eth0 handle ffff: ingress
    tc filter add dev eth0 parent ffff: matchall action mirred egress redirect dev ifb0"
}
