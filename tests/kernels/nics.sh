#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nics.sh [--all] [--write-table] [KERNEL...] [DRIVER...]: drivers that are not veth: boots a kernel with two NICs of a DRIVER (igb, e1000e,
# vmxnet3, virtio_net), which Debian 13's QEMU emulates and joins back to back, and runs some of scenarios/port.sh and scenarios/nic.sh there.
# Without a word: what CI tries, igb and the newest kernel. --all: all checks, and all drivers and both kernels (nics, nics-6.12) unless some
# are named. Results, a line each, in build/test/nics/results.tsv, as run.sh has them, with the driver in place of libxdp's version;
# --write-table: as a table in docs/kernels.md, where the other columns stay if kernels or drivers are named.
# XR_CHECKS: only these.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/guest.sh"
root=$kernels_root
out=$root/build/test/nics
all='' page='' keep='' drivers=() kernels=()
for word; do
  case $word in
    --all) all=yes ;;
    --write-table) page=$root/docs/kernels.md ;;
    nics | nics-6.12) kernels+=("$word") keep=--keep ;;
    *) drivers+=("$word") keep=--keep ;;
  esac
done
((${#kernels[@]})) || kernels=(nics ${all:+nics-6.12})
if ((!${#drivers[@]})); then
  if [[ $all ]]; then drivers=(igb e1000e vmxnet3 virtio_net); else drivers=(igb); fi
fi
# What a driver may do otherwise than a veth; the rest of port.sh is libxdp's and the kernel's.
of_drivers="attach_empty attach_skb capture_attached follow_pairs"
quick="rules send_zero_copy respond_zero_copy hardware_time"
mkdir -p "$out"
results=$out/results.tsv
: >"$results"

# result KIND KERNEL DRIVER SCENARIO CHECK SECONDS REASON
result() {
  local IFS=$'\t'
  printf '%s\n' "$*" >>"$results"
  [[ $1 == pass ]] || printf '%s\n' "$2, $3: $5: $1: ${7:-}"
}

# The devices of QEMU, joined by datagrams: all frames pass, those for bridges (PFC, LLDP) too.
declare -A device=([igb]=igb [e1000e]=e1000e [vmxnet3]=vmxnet3)
device[virtio_net]=virtio-net-pci,csum=off,gso=off,guest_csum=off,host_tso4=off,guest_tso4=off,host_tso6=off,guest_tso6=off,mrg_rxbuf=on,host_mtu=9000,disable-legacy=on,iommu_platform=on
macs=(52:54:00:cc:00:00 52:54:00:cc:00:01)
nics() {
  local end
  guest_devices=()
  for end in 0 1; do
    # A port of PCI Express for each: igb's virtual functions take the slots beside it.
    guest_devices+=(-device "pcie-root-port,id=port$end,chassis=$((end + 1))"
      -netdev "dgram,id=nic$end,local.type=unix,local.path=$dir/$end.sock,remote.type=unix,remote.path=$dir/$((1 - end)).sock"
      -device "${device[$1]},bus=port$end,netdev=nic$end,mac=${macs[end]},romfile=")
  done
}

# in_nics SCENARIO SECONDS CHECK...
in_nics() {
  local scenario=$1 seconds=$2 log=$dir/$1.log status=0 kind check took reason
  shift 2
  timeout $((seconds + 60)) python3 -I "$here/client.py" "$guest_port" run - >"$log" 2>&1 <<S || status=$?
export LD_LIBRARY_PATH=/opt/libxdp/$libxdp/lib LIBXDP_OBJECT_PATH=/opt/libxdp/$libxdp/bpf
export XDP_ROCE=$root/build/release/userspace/cli/xdp-roce XR_REPLAY=$root/build/release/tests/e2e/replay
export XR_DATA=$root/tests/data XR_BUILD=$root/build/release XR_NICS="${macs[*]}"
cd $root && timeout --kill-after=20 $seconds bash tests/kernels/scenarios/$scenario.sh $*
S
  while IFS=$'\t' read -r _ kind check took reason; do
    result "$kind" "$name" "$driver" "$scenario" "$check" "$took" "$reason"
  done < <(grep -a $'^RESULT\t' "$log")
  grep -aqx END "$log" || result fail "$name" "$driver" "$scenario" "$scenario" 0 \
    "ended early (status $status): $({ guest_panic || tail -n 1 "$log"; } | cut -c -200)"
  kill -0 "$guest_pid" 2>/dev/null
}

# on KERNEL DRIVER, in a subshell of its own
on() {
  local kernel=$1 libxdp begun=$SECONDS
  driver=$2 dir=$out/$1-$2 name=$1
  mkdir -p "$dir"
  rm -f "$dir"/*.{log,sock}
  if [[ -e $root/build/kernels/$kernel/skip ]]; then
    result skip "$kernel" "$driver" - boot 0 "$(cat "$root/build/kernels/$kernel/skip")"
    return
  fi
  name=$(grep -oE '^[0-9]+\.[0-9]+' "$root/build/kernels/$kernel/version")
  trap guest_stop EXIT
  trap 'exit 143' INT TERM HUP
  guest_newest_qemu
  nics "$driver"
  guest_boot "$kernel" "$dir" 300 "$out/payload.cpio" || { result fail "$name" "$driver" - boot 0 "$guest_note"; return; }
  result pass "$name" "$driver" - boot $((SECONDS - begun)) "$guest_note"
  libxdp=$(guest_run - <<<'ls /opt/libxdp | sort -V | head -n 1')
  # shellcheck disable=SC2086 # names of checks
  if [[ ${XR_CHECKS:-} || ! $all ]]; then
    in_nics nic 900 ${XR_CHECKS:-$quick}
  else
    in_nics port 900 $of_drivers && in_nics nic 1800
  fi
}

"$here/prepare.sh" --qemu "${kernels[@]}" >"$out/prepare.log" 2>&1 || { tail -n 20 "$out/prepare.log"; exit 1; }
bash "$here/payload.sh" "$out/payload.cpio" || { echo "the payload cannot be made"; exit 1; }
# Two guests at a time: an emulated one has one processor of this machine.
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait' EXIT
trap 'exit 143' INT TERM HUP
for kernel in "${kernels[@]}"; do
  for driver in "${drivers[@]}"; do
    while (($(jobs -rp | wc -l) >= 2)); do wait -n; done
    (on "$kernel" "$driver") &
    pids+=($!)
  done
done
wait "${pids[@]}"
pids=()
made=$(sed -n 's/^project(xdp-roce VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
commit=$(git -C "$root" describe --always --dirty --exclude '*' 2>/dev/null) && made+=" $commit"
made+=", $(date -u +%F)"
python3 -I "$here/table.py" --nics "$results" --made "$made" >"$out/table.md"
# shellcheck disable=SC2086 # a word, or none
[[ ! $page ]] || python3 -I "$here/table.py" --nics "$results" "$page" $keep --made "$made" || exit 1
! grep -q '^fail' "$results"
