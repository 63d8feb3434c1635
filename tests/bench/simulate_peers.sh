#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# simulate_peers.sh HTSIM_DIR [NS3_DIR] [BUILD]: the simulator beside csg-htsim's htsim_roce with the same connection matrix
# and topology, in turn, RUNS (3) times each; and flow completion times of both where no two flows share a link, which have to
# agree within 2 %. HTSIM_DIR is a checkout of csg-htsim; it is built with -O2 in a copy. NS3_DIR is `simulation` of HPCC's
# ns-3 with its program built: its mix/config.txt is run too; '' is none. BUILD is a build directory (build/release) or the
# xdp-roce in it. Nothing is downloaded.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
htsim=${1-}
ns3=${2-}
build=${3:-$root/build/release}
build=${build%/userspace/cli/xdp-roce}
cli=$build/userspace/cli/xdp-roce
wrong() {
  echo "simulate_peers.sh: $1" >&2
  exit 2
}
[[ $htsim ]] || wrong "no HTSIM_DIR: simulate_peers.sh HTSIM_DIR [NS3_DIR] [BUILD], with a checkout of github.com/Broadcom/csg-htsim"
[[ -e $htsim/sim/datacenter/main_roce.cpp ]] ||
  wrong "no sim/datacenter/main_roce.cpp in $htsim: give a checkout of github.com/Broadcom/csg-htsim"
[[ -x $cli ]] || wrong "no $cli: build it first (cmake --build build/release --target xdp-roce)"
for tool in g++ make python3; do
  command -v "$tool" >/dev/null || wrong "no $tool: install it (apt install g++ make python3)"
done

scratch=$(mktemp -d "${TMPDIR:-/var/tmp}/simulate-peers.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
sim=$scratch/sim
mkdir -p "$sim/datacenter"
cp "$htsim"/sim/{Makefile,*.cpp,*.h} "$sim"
cp "$htsim"/sim/datacenter/{Makefile,*.cpp,*.h} "$sim/datacenter"
made() {
  make -C "$1" -j "$(nproc)" CFLAGS='-std=c++11 -O2 -w' "$2" >"$scratch/make.log" 2>&1 || {
    cat "$scratch/make.log" >&2
    wrong "$2 of $htsim does not build"
  }
}
made "$sim" libhtsim.a
made "$sim/datacenter" htsim_roce

"$root/tests/bench/simulate_peers.py" "$cli" "$sim/datacenter/htsim_roce" "$htsim/sim/datacenter" "${RUNS:-3}" "$scratch" "$ns3"
