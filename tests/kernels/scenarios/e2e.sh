#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# e2e.sh [NAME...]: a chosen part of the e2e scenarios, as tests/e2e/CMakeLists.txt calls them; or those of it that are named.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../e2e" || exit 1
log=$(mktemp)
failures=0
export XR_PATIENCE=6 # an emulated processor is slow
# NAME SCRIPT [ARGUMENT...]
while read -r name script words; do
  [[ " ${*:-$name} " == *" $name "* ]] || continue
  begun=$SECONDS status=0 result=pass reason=''
  # shellcheck disable=SC2086 # several arguments
  timeout --kill-after=20 1800 bash "$script" $words </dev/null >"$log" 2>&1 || status=$?
  case $status in
    0) ;;
    77) result=skip reason=$(sed -n 's/^SKIP: //p' "$log") ;;
    *)
      failures=$((failures + 1))
      result=fail reason="$(grep -a '^FAIL: ' "$log" | tail -n 1 | cut -c 7-300) (status $status)"
      cat "$log"
      ;;
  esac
  printf 'RESULT\t%s\te2e.%s\t%s\t%s\n' "$result" "$name" $((SECONDS - begun)) "$(tr '\n\t' '  ' <<<"$reason")"
done <<'LIST'
ipv4 capture_on_the_wire.sh rc_send_cm_v4
jumbo_ipv6 capture_on_the_wire.sh m4200_rc_pmtu2048_v6 9000
skb_mode skb_mode.sh
second_attach second_attach.sh
kill9 kill9.sh
no_privilege no_privilege.sh
bridge_forwards bridge_forwards.sh
bridge_ports bridge_ports.sh
impair_actions_ipv4 impair_actions.sh rc_write_ect_v4
impair_cnp impair_cnp.sh
impair_exact impair_exact.sh
impair_apply impair_apply.sh
capture_frames capture_frames.sh
capture_beside capture_beside.sh
send_counted send_counted.sh
send_reliable_lossy send_reliable_lossy.sh
respond_answers respond_answers.sh
traffic_kill9 traffic_kill9.sh
watch watch.sh
export export.sh
doctor doctor.sh
LIST
echo END
((failures == 0))
