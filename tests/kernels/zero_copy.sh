#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# zero_copy.sh [KERNEL [PAYLOAD]]: AF_XDP without copying on virtio-net, which kernels since 6.14 have: boots KERNEL (newest)
# with four NICs on a bridge and one beside it in a network namespace of its own, and runs scenarios/zero_copy.sh in it. Its RESULT lines,
# and lines `FIGURE NAME VALUE`, are the output. The namespace is also the host that the guest's traffic goes to.
# XR_CHECKS: only these; XR_GUEST_ENVIRONMENT: NAME=VALUE... for the program.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/guest.sh"
kernel=${1:-newest}
out=$kernels_root/build/test/kernels/zero-copy
payload=${2:-$out/payload.cpio}
result() {
  printf 'RESULT\t%s\tzero_copy\t0\t%s\n' "$1" "$2"
  [[ $1 == skip ]]
  exit
}
((EUID == 0)) || result skip "needs root, for a network namespace"
[[ ! -e $kernels_root/build/kernels/$kernel/skip ]] || result skip "$(cat "$kernels_root/build/kernels/$kernel/skip")"
mkdir -p "$out"
[[ ${2:-} || ${XR_INSIDE:-} ]] || bash "$here/payload.sh" "$payload" || result fail "the payload cannot be made"

# All of it is in a namespace of its own, which goes when its last process does.
if [[ ! ${XR_INSIDE:-} ]]; then
  XR_INSIDE=1 exec unshare --net -- bash "$0" "$kernel" "$payload"
fi
peer_pid=
# shellcheck disable=SC2317 # by the trap
tidy_up() {
  guest_stop
  [[ ! $peer_pid ]] || kill "$peer_pid" 2>/dev/null
}
trap tidy_up EXIT
trap 'exit 143' INT TERM HUP

# The third NIC's device does not use the DMA API: its driver has zero-copy and refuses it. Longer queues than usual
# keep what a guest without KVM takes up slowly.
network() {
  local i off=csum=off,gso=off,guest_csum=off name
  for name in host_tso4 host_tso6 host_ecn host_ufo guest_tso4 guest_tso6 guest_ecn guest_ufo; do off+=,$name=off; done
  sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
  ip link set lo up
  ip link add br0 mtu 9000 type bridge mcast_snooping 0 forward_delay 0 || return 1
  for i in 0 1 2 3 4; do
    ip tuntap add tap$i mode tap vnet_hdr multi_queue || return 1
    ip link set tap$i mtu 9000 txqueuelen 20000 up
    ((i == 4)) || ip link set tap$i master br0
    guest_devices+=(-netdev "tap,id=n$i,ifname=tap$i,script=no,downscript=no,vhost=off,queues=2" -device
      "virtio-net-pci,netdev=n$i,mac=52:54:00:bb:00:0$i,mq=on,vectors=6,host_mtu=9000,romfile=,$off,disable-legacy=on,iommu_platform=$( ((i != 2)) && echo on || echo off)")
  done
  ip address add 192.0.2.100/24 dev br0
  ip link set br0 up
}
network || result fail "no network namespace with taps can be made"
python3 -I "$here/scenarios/beside.py" serve 192.0.2.100 7000 &
peer_pid=$!

guest_memory=${guest_memory:-2048}
begun=$SECONDS
guest_boot "$kernel" "$out" 300 "$payload" || result fail "the guest $guest_note"
printf 'RESULT\tpass\tboot\t%s\t%s\n' $((SECONDS - begun)) "$guest_note"
libxdp=$(guest_run - <<<'ls /opt/libxdp | sort -V | head -n 1')
timeout 1000 python3 -I "$here/client.py" "$guest_port" run - >"$out/scenario.log" 2>&1 <<S
export LD_LIBRARY_PATH=/opt/libxdp/$libxdp/lib LIBXDP_OBJECT_PATH=/opt/libxdp/$libxdp/bpf ${XR_GUEST_ENVIRONMENT:-}
export XDP_ROCE=$kernels_root/build/release/userspace/cli/xdp-roce XR_BUILD=$kernels_root/build/release
cd $kernels_root && timeout --kill-after=20 900 bash tests/kernels/scenarios/zero_copy.sh ${XR_CHECKS:-}
S
status=$?
grep -aE $'^(RESULT|FIGURE)\t' "$out/scenario.log"
((status == 0)) || grep -aq $'^RESULT\tfail' "$out/scenario.log" ||
  result fail "ended early (status $status): $(tail -n 1 "$out/scenario.log" | cut -c -200)"
exit "$status"
