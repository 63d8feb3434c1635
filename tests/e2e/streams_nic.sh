#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# streams --nic: a real capture on the wire compared with the driver's counters of that run
# (tests/data/captures.txt), from a simulated file tree, for both ends.
. "$(dirname "$0")/lib.sh"
need jq
lane

# device NAME ADDRESS COUNTER=VALUE...: a Soft-RoCE device, or an mlx5 by its name.
tree=$scratch/tree
device() {
  local name=$1 address=$2 counter port=$tree/sys/class/infiniband/$1/ports/1
  shift 2
  mkdir -p "$port"/{gid_attrs/{types,ndevs},gids,hw_counters}
  if [[ $name == mlx5* ]]; then
    mkdir -p "$tree/sys/class/infiniband/$name/device"
    ln -sfn ../../drivers/mlx5_core "$tree/sys/class/infiniband/$name/device/driver"
  else
    echo rx0 >"$tree/sys/class/infiniband/$name/parent"
  fi
  echo rx0 >"$port/gid_attrs/ndevs/0"
  echo 'RoCE v2' >"$port/gid_attrs/types/0"
  echo "::ffff:$address" >"$port/gids/0"
  for counter; do
    echo "${counter#*=}" >"$port/hw_counters/${counter%%=*}"
  done
}
# nic DEVICE OPTION...
nic() {
  xr --json streams rx0 --root "$tree" --nic "$@"
}
# row EQUATION-BEGINS VERDICT WIRE NIC: in $scratch/report
row() {
  assert_json "$scratch/report" \
    "[.nic.equations[] | select(.equation | startswith(\"$1\")) | [.verdict, .wire, .nic]] == [[\"$2\", $3, $4]]"
}

# 30 NAKs, as both ends counted; 64 of a's packets were lost before the wire.
device rxe0 10.77.0.1 sent_pkts=5503 rcvd_pkts=77 rcvd_seq_err=30 completer_retry_err=30 \
  out_of_seq_request=0 duplicate_request=0
device rxe1 10.77.0.2 sent_pkts=77 rcvd_pkts=5439 out_of_seq_request=30 rcvd_seq_err=0
xr attach rx0
replay "$(capture loss_rc_send_v4)"
await_frames 5548

nic rxe0 >"$scratch/report"
assert_json "$scratch/report" '.nic.device == "rxe0/1" and .nic.driver == "rxe" and (.streams | length == 2)'
row 'packets to it' equal 77 77
row 'PSN NAKs to it' equal 30 30
row 'PSN NAKs from it' equal 0 0
row 'rewinds of its requests' equal 30 30
row 'packets from it' uncertain 5439 5503
nic rxe1 >"$scratch/report"
row 'packets to it' equal 5439 5439
row 'PSN NAKs from it' equal 30 30
# 36 gaps in 30 rounds: the responder asks once for what is missing of a flight.
row 'gaps of requests to it' explained 36 30

# A NIC that has counted fewer than passed here is flagged; text and JSON agree.
device rxe0 10.77.0.1 rcvd_seq_err=29
nic rxe0 >"$scratch/report"
row 'PSN NAKs to it' mismatch 30 29
xr streams rx0 --root "$tree" --nic rxe0 >"$scratch/text"
grep -qE 'PSN NAKs to it = rcvd_seq_err +30 +29 +-1 +mismatch' "$scratch/text" ||
  fail "no mismatch in: $(cat "$scratch/text")"

# Over an interval: what was before does not count, and a counter of 32 bits begins again.
device mlx5_0 10.77.0.1 packet_seq_err=4294967290 np_ecn_marked_roce_packets=9
in_background "$XDP_ROCE" --netns "$rx" --json streams rx0 --root "$tree" --nic mlx5_0 \
  --interval 6 --count 1 >"$scratch/report" 2>"$scratch/last.err"
sleep 2
replay "$(capture loss_rc_send_v4)"
device mlx5_0 10.77.0.1 packet_seq_err=24
wait "${background[-1]}" || fail "streams --interval: $(cat "$scratch/last.err")"
unset 'background[-1]'
row 'PSN NAKs to it' equal 30 30
row 'CE marks to it' equal 0 0
assert_json "$scratch/report" '.nic.seconds > 5 and ([.nic.equations[].note | select(test("32-bit"))] | length == 1)'

refused 'no such RDMA device: mlx5_9' xr streams rx0 --root "$tree" --nic mlx5_9
xr detach rx0
