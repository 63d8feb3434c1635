#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Latencies and bursts of real captures: each is that of a second program, which reads tshark's fields
# (latency.py). Two jobs give the report of one.
. "$(dirname "$0")/lib.sh"
need jq tshark python3

files=()
for name in rc_write_4096_v4 rc_send_1024_v4 rc_send_imm_v4 rc_send_mtu256_v4 rc_send_psnwrap_v4 rc_write_1001_odd_v4 \
  rc_zero_len_v4 rc_read_64_v4 rc_read_4096_v4 m4200_rc_read_65536_v4 rc_atomic_cas_v4 rc_atomic_faa_v6 rping_v4 \
  loss_rc_send_v4 loss_rc_read_v4 loss2_rc_atomic_v4 loss2_rc_psnwrap_v4 reorder_rc_send_v4 dup_rc_read_v4 \
  dup_rc_atomic_v4 corrupt_rc_send_v4 wire_m1500_drop100_vb_drv_rq-tb wire_m1500_drop100_vb_drv_rq-va; do
  files+=("$(capture "$name")")
done
python3 "$here/latency.py" "$XDP_ROCE" "${files[@]}"

for name in loss_rc_read_v4 rc_write_q4_v4; do
  for jobs in 1 3; do
    "$XDP_ROCE" --json analyze --latency --microbursts --jobs "$jobs" "$(capture "$name")" |
      jq -S '{latency, latency_port, latency_histogram, latency_untimed, microbursts}' >"$scratch/$jobs"
  done
  cmp "$scratch/1" "$scratch/3" || fail "$name: --jobs 3 gives another report"
  jq -e '.latency | length > 0' "$scratch/1" >/dev/null || fail "$name: no latencies"
done
rows=$("$XDP_ROCE" analyze --latency --rows csv --table latency "$(capture rc_write_q4_v4)" | wc -l)
assert_eq "$((rows - 1))" "$("$XDP_ROCE" --json analyze --latency "$(capture rc_write_q4_v4)" | jq '.latency | length')" "rows"
