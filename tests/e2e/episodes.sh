#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Episodes of real captures with losses, and with receivers that are not ready: each time and count is
# that of a second program, which reads tshark's fields (episodes.py). The peers are correct: no findings.
. "$(dirname "$0")/lib.sh"
need tshark python3

files=()
for name in corrupt_rc_send_v4 loss_rc_send_v4 loss2_rc_psnwrap_v4 loss_rc_read_v4 loss2_rc_atomic_v4 \
  wire_m1500_drop100_vb_drv_rq-tb wire_m1500_drop100_vb_drv_rq-va rc_write_4096_v4 \
  rnr_rc_send_t12_v4 rnr_rc_psnwrap_t1_v4 rnr_rc_write_imm_t20_v6 rnr_rc_exhausted_t14_v4 \
  cases/rnr_min cases/read_first_lost; do
  files+=("$(capture "$name")")
done
python3 "$here/episodes.py" "$XDP_ROCE" "${files[@]}"
