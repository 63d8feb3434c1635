#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command that holds something is killed, at random moments of its first 400 ms: attach, wire, send, respond, serve, run,
# capture, watch, export. A port beside them counts each frame all the while, and after one more run of each, to its end, nothing
# of the killed is left. XR_KILLS: how many (27).
. "$(dirname "$0")/lib.sh"
need jq script nsenter pgrep
lane
before=$(kernel_objects)
namespaces() { find /run/netns -maxdepth 1 -name 'xr-run-*' 2>/dev/null | sort; }
namespaces_before=$(namespaces)
for ns in "$rx" "$tx"; do ip -n "$ns" link set lo up; done
# Ports of their own, so that the frames on rx0 are those of this scenario.
link() {
  ip -n "$1" link add "$2" type veth peer name "$3"
  ip -n "$1" link set "$2" up
  ip -n "$1" link set "$3" up
}
link "$rx" att0 att1
link "$rx" wire0 far0
link "$rx" wire1 far1
link "$tx" send0 send1
mac=$(ip -n "$tx" -j link show send1 | jq -r '.[0].address')
cat >"$scratch/short.yaml" <<'END'
experiment: short
seed: 1
duration: 300ms
topology: {star: {senders: 1, rate: 20mbit, delay: 100us}}
flows: [{from: all, to: receiver, words: "write size 4k messages 20"}]
END

kinds=(attach wire send respond serve run capture watch export)
# begin KIND: in the background, with its pid in $pid.
begin() {
  local program=("$XDP_ROCE" --netns "$rx")
  case $1 in
    attach) program+=(attach --ensure att0) ;; # one that was done may be killed, too
    wire) program+=(wire wire0 wire1 --for 300ms) ;;
    send) program=("$XDP_ROCE" --netns "$tx" send send0 src 192.0.2.1 dst 192.0.2.2 dst-mac "$mac" qp 5 send size 256 rate 1kpps --for 300ms) ;;
    respond) program=("$XDP_ROCE" --netns "$tx" respond send1 --address 192.0.2.2 --for 300ms) ;;
    serve) program=(nsenter "--net=/run/netns/$rx" "$XDP_ROCE" serve --listen 127.0.0.1:0) ;;
    run) program=("$XDP_ROCE" run "$scratch/short.yaml" --on namespaces --out "$scratch/out") ;;
    capture) program+=(capture rx0 -w "$scratch/capture.pcapng" --for 300ms) ;;
    # It needs a terminal.
    watch) program=(script -qc "exec '$XDP_ROCE' --netns '$rx' watch rx0 --interval 0.05" /dev/null) ;;
    export) program=(nsenter "--net=/run/netns/$rx" "$XDP_ROCE" export rx0 --listen 127.0.0.1:0) ;;
  esac
  TERM=xterm "${program[@]}" >"$scratch/last.out" 2>"$scratch/last.err" </dev/null &
  pid=$!
}
# The process that a signal is for: below script(1) it is the child.
process() { [[ $1 != watch ]] || pgrep -P "$pid" || true; }
xr attach rx0 >/dev/null
sent=0
more_frames() {
  replay --stream --packets 20
  sent=$((sent + 20))
}

kills=${XR_KILLS:-27} alive=0
RANDOM=${XR_SEED:-$$}
for ((i = 0; i < kills; i++)); do
  kind=${kinds[i % ${#kinds[@]}]}
  begin "$kind"
  sleep "0.$(printf '%03d' $((RANDOM % 400)))"
  # shellcheck disable=SC2046 # a pid or none
  { kill -9 $(process "$kind") "$pid" && alive=$((alive + 1)); } 2>/dev/null
  wait "$pid" 2>/dev/null || true
  ((i % 3)) || more_frames
done
echo "$alive of $kills were alive"
((alive * 2 > kills)) || fail "only $alive of $kills were alive when they were killed"

# A bridge of which one port was taken off: of the first, or of the second.
for off in wire0 wire1; do
  xr detach wire0 >/dev/null 2>&1 || true
  xr bridge wire0 wire1 >/dev/null 2>&1
  ip -n "$rx" link set "$off" xdp off
  keep xr wire wire0 wire1 --for 100ms || fail "wire where $off is off: $(cat "$scratch/last.err")"
done

# One run of each to its end.
for kind in "${kinds[@]}"; do
  begin "$kind"
  if [[ $kind == @(serve|watch|export) ]]; then
    sleep 1
    child=$(process "$kind")
    kill -INT "${child:-$pid}"
  fi
  status=0
  wait "$pid" || status=$?
  ((status == 0)) || fail "$kind after the kills: status $status: $(cat "$scratch/last.err")"
done
more_frames
await_frames "$sent"
xr detach --all >/dev/null
"$XDP_ROCE" --netns "$tx" detach --all >/dev/null 2>&1 || true
wait_for 10 nothing_since "$before" || fail "left behind: $(since "$before")"
# Those of another run may come and go.
new_namespaces() { comm -13 <(echo "$namespaces_before") <(namespaces); }
no_new_namespace() { [[ -z $(new_namespaces) ]]; }
wait_for 30 no_new_namespace || fail "namespaces: $(new_namespaces)"
