#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Abnormal ends of requester and responder: killed, interrupted, rejected, without privilege, port
# down or deleted. Their remains can be cleaned, and a new run works immediately.
. "$(dirname "$0")/traffic_lib.sh"
need jq bpftool setpriv
lane
before=$(kernel_objects)
nothing_left() {
  wait_for 5 nothing_since "$before" || fail "left behind $1: $(since "$before")"
}
# A sender in the background, with its report in sender.json; `end_sender SIGNAL`.
sending() {
  counted=$(xr --json counters rx0 2>/dev/null | jq .frames.total)
  in_background endpoint "$scratch/sender.json" --json --netns "$tx" send tx0 --reliable "${v4[@]}" "$@"
  sender=${background[-1]}
  wait_for 15 goes_on || fail "it does not send: $(cat "$scratch/sender.json.err")"
}
goes_on() {
  local frames
  kill -0 "$sender" || fail "send ended: $(cat "$scratch/sender.json.err")"
  frames=$(xr --json counters rx0 | jq .frames.total)
  ((frames > counted + 100))
}
ended_sender() { ! kill -0 "$sender" 2>/dev/null; }
psn=0 # far from the life before, which the responder may remember
small() {
  psn=$((psn + 0x300000))
  send --reliable "${v4[@]}" qp 0x99 psn "$psn" write size 3000 messages 5
}

xr attach rx0 >/dev/null
respond --address "$to"

# The sender is killed; it had attached by itself.
sending write size 64k rate 5kpps
{ end_background KILL; } 2>/dev/null
xt --json status >"$scratch/status.json"
assert_json "$scratch/status.json" '.attachments | length == 1 and .[0].state == "attached"'
small
assert_sent '.finished and .sent.messages == 5'
# What the killed one had attached goes with the next that ends.
xt --json status >"$scratch/status.json"
assert_json "$scratch/status.json" '.attachments == []'

# Interrupted: the report of what was, and what it attached itself is gone.
sending write size 64k rate 5kpps
end_background INT
assert_eq 0 "$ended" "exit status of send after SIGINT"
assert_json "$scratch/sender.json" '.finished == false and .sent.packets > 100 and .answers.acks > 0'
xt --json status >"$scratch/status.json"
assert_json "$scratch/status.json" '.attachments == []'

# A second one on the queue: refused, and the first goes on answering.
refused 'queue 0 is taken|another xdp-roce' xr respond rx0 --address "$to"
small
assert_sent '.finished and .sent.messages == 5'

# The responder is killed: the port counts on, and the host has its frames again at the next attempt.
{ kill -KILL "$responder"; wait "$responder" || true; } 2>/dev/null
background=()
counted=$(xr --json counters rx0 | jq .frames.total)
send "${v4[@]}" "${at[@]}" send size 64 messages 100 rate 10kpps
await_frames $((counted + 100))
counted=$((counted + 100))
respond --address "$to"
small
assert_sent '.finished and .sent.messages == 5'
xr --json counters rx0 >"$scratch/counters.json"

# The link goes down under load, and comes again.
sending write size 64k messages 400 rate 20kpps
ip -n "$rx" link set rx0 down
sleep 0.1
ip -n "$rx" link set rx0 up
wait_for 15 ended_sender || fail "it does not end after the link was down"
wait "$sender" || fail "send: exit status $?: $(cat "$scratch/sender.json.err")"
background=("$responder")
assert_json "$scratch/sender.json" '.finished and .sent.messages == 400 and .recovery.failed_qps == 0'
end_respond
assert_respond '.received.messages == 405'
xr --json counters rx0 >"$scratch/again.json"
assert_json "$scratch/again.json" ".frames.total > $(jq .frames.total "$scratch/counters.json")"
xr detach rx0 >/dev/null
nothing_left "after detach"

# By itself: what respond attached goes with it.
respond --address "$to"
small
end_respond
nothing_left "after respond"

# Wrong words, in a sentence.
misused "'wirte' is not a word" xt send tx0 "${v4[@]}" wirte
misused 'there is no flow' xt send tx0
misused 'dst IP|destination' xt send tx0 write
misused 'only RC and XRC' xt send tx0 "${v4[@]}" "${at[@]}" transport ud --reliable send size 10
refused 'pmtu 1024|MTU of 1500' xt send tx0 "${v4[@]}" "${at[@]}" write pmtu 4096 size 64k
refused 'no such interface' xt send tx9 "${v4[@]}"
refused 'no such interface' xr respond rx9
refused 'no address' xr respond rx0
misused 'is not an? .*address' xr respond rx0 --address 192.0.2
refused 'queue' xt send tx0 "${v4[@]}" "${at[@]}" --queue 7
refused 'no host on tx0 answers' xt send tx0 "${v4[@]}"
status=0
keep xr respond rx0 --ack-every none || status=$?
assert_eq 2 "$status" "exit status of a wrong option"
install -m 755 "$XDP_ROCE" "$scratch/xdp-roce"
chmod 755 "$scratch"
refused 'CAP_NET_RAW' setpriv --reuid 65534 --regid 65534 --clear-groups "$scratch/xdp-roce" send lo "${v4[@]}"
refused 'CAP_NET_RAW' setpriv --bounding-set -net_raw,-sys_admin --inh-caps -net_raw,-sys_admin "$scratch/xdp-roce" respond lo
refused 'CAP_BPF' setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin "$scratch/xdp-roce" respond lo --address 192.0.2.2

# Both ports vanish under load: each command says so, and ends.
respond --address "$to"
sending write size 64k rate 5kpps
ip -n "$tx" link del tx0
for pid in "$sender" "$responder"; do
  gone() { ! kill -0 "$pid" 2>/dev/null; }
  wait_for 10 gone || fail "it does not end when its port is gone"
  status=0
  wait "$pid" || status=$?
  assert_eq 1 "$status" "exit status when the port is gone"
done
background=()
assert_sentence 'tx0' < <(grep -v '^note: ' "$scratch/sender.json.err")
assert_sentence 'rx0' < <(grep -v '^note: ' "$scratch/respond.json.err")
"$XDP_ROCE" --netns "$tx" detach tx0 >/dev/null 2>&1 || true
"$XDP_ROCE" --netns "$rx" detach rx0 >/dev/null 2>&1 || true
nothing_left "after the ports were deleted"
