#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a CNP to the fall of its sender's rate, in captures of virtual time, where it is known when the rate fell: of reaction
# points, one of which cuts later than the CNP comes; none where senders do not react (cnp_falls.py).
. "$(dirname "$0")/lib.sh"
need tshark python3

# captured NAME CONGESTION QUEUE WORDS SEED: runs it into $scratch/NAME
captured() {
  cat >"$scratch/$1.yaml" <<END
experiment: CNP to the fall of the rate
seed: $5
duration: 20ms
sample: 1us
topology:
  star: {senders: 2, rate: 40gbit, delay: 1us}
queue: {words: "buffer 200MB $3"}
congestion: "$2"
cnp: {mode: hold-off, interval: 250us, scope: stream}
flows:
  - {from: all, to: receiver, words: "write size 64k frame-size 1062 $4", reliable: true}
capture: [{at: left, snap: 128}, {at: senders, snap: 128}]
END
  keep "$XDP_ROCE" run "$scratch/$1.yaml" --out "$scratch/$1" || fail "run $1"
  rm -f "$scratch/$1/report.html"
}
for preset in paper ns3-rdma ionic; do
  captured "$preset" "dcqcn preset $preset" "red 5k 200k 10%" "" 1
  python3 "$here/cnp_falls.py" "$scratch/$preset" "$XDP_ROCE" 20 || fail "$preset"
done
captured none none "red 1k 100k 0.3%" "rate 19gbit poisson" 3
python3 "$here/cnp_falls.py" "$scratch/none" "$XDP_ROCE" 0 || fail "no reaction"
