#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Another XDP program is on the port: attach is rejected with a message if that program does not
# share the port, and succeeds if the kernel has libxdp's dispatcher.
# shellcheck disable=SC2034 # for the harness
bpffs=machine
. "$(dirname "$0")/lib.sh"
need jq clang xdp-loader
lane

cat >"$scratch/other.bpf.c" <<'C'
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
SEC("xdp") int other(struct xdp_md *ctx) { return XDP_PASS; }
char _license[] SEC("license") = "GPL";
C
clang -O2 -g -target bpf "-I/usr/include/$(uname -m)-linux-gnu" -c "$scratch/other.bpf.c" \
  -o "$scratch/other.bpf.o"
# xdp-loader needs a bpffs of its own, which `ip netns exec` hides
loader() {
  ip netns exec "$rx" sh -c 'mount -t bpf bpf /sys/fs/bpf && exec xdp-loader "$@"' sh "$@" \
    >"$scratch/last.loader" 2>&1
}

# A program by itself, without a dispatcher: the hook is busy, and stays as it is.
ip netns exec "$rx" ip link set rx0 xdpdrv obj "$scratch/other.bpf.o" sec xdp 2>/dev/null ||
  bpftool prog load "$scratch/other.bpf.o" "/sys/fs/bpf/xr-other-$$" 2>/dev/null || true
if [[ $(ip -n "$rx" link show rx0) == *prog/xdp* ]]; then
  refused 'rx0.*(another|busy|already)' xr attach rx0
  [[ $(ip -d -n "$rx" link show rx0) == *prog/xdp* ]] || fail "the other program is gone"
  ip -n "$rx" link set rx0 xdpdrv off
fi
rm -f "/sys/fs/bpf/xr-other-$$"

loader load rx0 "$scratch/other.bpf.o" || skip "xdp-loader: $(tail -n 1 "$scratch/last.loader")"
if ! loader load rx0 "$scratch/other.bpf.o"; then
  refused 'rx0.*(another|busy|already)' xr attach rx0
  skip "this kernel refuses freplace, so libxdp has no dispatcher: $(tail -n 1 "$scratch/last.loader")"
fi
xr attach rx0
replay --stream --packets 100
await_frames 100
xr detach rx0
[[ $(ip -n "$rx" link show rx0) == *prog/xdp* ]] || fail "detach took the other program along"
