# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Experiments in namespaces and what their captures show.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

before= # kernel_objects, by the scenario

# measures STATUS ARGUMENT...: a run in namespaces with that exit status; again where the machine was too busy to measure.
measures() {
  local wanted=$1 status
  shift
  for _ in 1 2 3 4; do
    status=0
    keep "$XDP_ROCE" --json run "$@" --on namespaces || status=$?
    if ((status != 1)) || ! grep -q 'too busy' "$scratch/last.out"; then break; fi
  done
  ((status != 1)) || ! grep -q 'too busy' "$scratch/last.out" ||
    skip "the machine was four times too busy for: run $*: $(jq -c .why_void "$scratch/last.out")"
  assert_eq "$wanted" "$status" "exit status of: run $* ($(cat "$scratch/last.err"; jq -c '[.why_void, .expectations]' "$scratch/last.out"))"
}

# requests FILE: a line for each request in a capture: QPN, PSN, ECN, the comment of `capture`; tab between them.
requests() {
  tshark -r "$1" -Y 'infiniband.bth.opcode < 13' -T fields -e infiniband.bth.destqp -e infiniband.bth.psn \
    -e ip.dsfield.ecn -e frame.comment 2>/dev/null
}
# psns_of QPN < requests: PSNs in the order of the capture.
psns_of() { awk -F '\t' -v qp="$1" '$1 == qp { print $2 }'; }

# Namespaces of the run of that process.
ours() { ip netns list 2>/dev/null | awk '{ print $1 }' | grep -E "^xr-run-$1-" || true; }
# nothing_left WHEN: of the scenario's but what $before had. Namespaces of runs are among it.
nothing_left() {
  wait_for 10 nothing_since "$before" || fail "left behind $1: $(since "$before" | paste -sd ,)"
}
