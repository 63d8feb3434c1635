# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The harness of the scenarios of `serve`: lane3() of the bridge harness gives left0 and right0 with a bridge
# between them, direct() a wire between the same namespaces without one. The server runs in no namespace of its own.
. "$(dirname "${BASH_SOURCE[0]}")/bridge_lib.sh"
# shellcheck disable=SC2034 # for the scenarios
otg_tools=$here/../../tools/otg otg_tests=$here/../otg

# direct [MTU]: direct0 in $left, direct1 in $right.
direct() {
  ip -n "$left" link add direct0 mtu "${1:-1500}" type veth peer name direct1 netns "$right" mtu "${1:-1500}"
  ip -n "$left" link set direct0 up
  ip -n "$right" link set direct1 up
}

otg_server() { exec "$XDP_ROCE" serve "$@" >"$scratch/serve.out" 2>"$scratch/serve.err"; }
otg_listens() {
  kill -0 "$serving" 2>/dev/null || fail "serve ended: $(cat "$scratch/serve.err")"
  grep -qsE ': https?://' "$scratch/serve.err"
}
# serve OPTIONS...: on a free port; its address is in $location. end_serve [SIGNAL [STATUS]].
serve() {
  rm -f "$scratch/serve.err" # a previous one's messages
  in_background otg_server --listen 127.0.0.1:0 "$@"
  serving=${background[-1]}
  wait_for 15 otg_listens || fail "serve does not run: $(cat "$scratch/serve.err")"
  # shellcheck disable=SC2034 # for the scenarios
  location=$(sed -nE 's/.*(https?:\/\/[^ ]+)$/\1/p' "$scratch/serve.err" | head -n 1)
}
end_serve() {
  end_background "${1:-INT}"
  assert_eq "${2:-0}" "$ended" "exit status of serve ($(cat "$scratch/serve.err"))"
}

# judged_server CLIENT...: starts a server of direct0 and direct1 and judges it by one of $otg_tests, whose output is printed.
judged_server() {
  local status=0
  serve --ports "$left/direct0,$right/direct1"
  "$otg_tests/$1" "$location" "${@:2}" >"$scratch/judged" 2>&1 || status=$?
  cat "$scratch/judged"
  ((status != 77)) || skip "needs OTG's published model"
  assert_eq 0 "$status" "exit status of the client"
}
