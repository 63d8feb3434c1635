#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Episodes of traffic whose losses are known: a bridge drops packets of `send`, both its ports are
# captured, and the episodes agree with what sender, responder and rule counted. The bridge follows
# and times the pair too, and finds what the analysis of the capture finds; `events` shows each episode
# when it has ended, at the port of the requests.
. "$(dirname "$0")/traffic_lib.sh"
. "$(dirname "$0")/capture_lib.sh"
need jq mergecap
lane3
sender_netns=$left sender_port=left0

dropped=20
places=$(seq -s, 20 40 $((40 * dropped)))
psn=0
# run MODE VERB...: the merged capture is $scratch/both.pcapng, its episodes $scratch/episodes.json.
run() {
  local mode=$1 first second port
  shift
  psn=$(((psn + 0x300000) & 0xffffff))
  bridge --follow --latency
  keep xr impair box0 add dest-qp 0x11 opcode data positions "$places" drop || fail "add: $(cat "$scratch/last.err")"
  begin_capture box0 -w "$scratch/requests.pcapng" --snap 128
  first=$capturing
  begin_capture box1 -w "$scratch/answers.pcapng" --snap 128
  second=$capturing
  for port in box0 box1; do
    in_background "$XDP_ROCE" --netns "$box" --json events "$port" >"$scratch/$port.events" 2>"$scratch/$port.events.err"
  done
  respond on "$right" right0 --retransmit "$mode"
  send --reliable --retransmit "$mode" --window 512 --timeout 17 dst 192.0.2.2 qp 0x11 psn "$psn" "$@" ack-every 1 rate 20kpps
  end_respond
  for capturing in "$first" "$second"; do
    end_capture INT
    ended_well
  done
  assert_sent '.finished and .recovery.failed_qps == 0'
  mergecap -w "$scratch/both.pcapng" "$scratch/requests.pcapng" "$scratch/answers.pcapng"
  "$XDP_ROCE" --json analyze --episodes --latency "$scratch/both.pcapng" >"$scratch/episodes.json"
  xr --json episodes box0 >"$scratch/live.json" || fail "episodes box0"
  xr --json latency box0 >"$scratch/latency.json" || fail "latency box0"
  xr --json episodes box1 >"$scratch/other.json"
  for port in box1 box0; do
    end_background INT
    assert_eq 0 "$ended" "exit status of events $port: $(cat "$scratch/$port.events.err")"
    ! grep lost "$scratch/$port.events.err" || fail "events $port"
  done
  xr --json counters box0 >"$scratch/box0.json"
  xr --json counters box1 >"$scratch/box1.json"
  unbridge
}
# What the port found is what the analysis of the captures finds. Where a NAK and requests cross, the
# order in which two CPUs saw them may be the other one, so that packets sent again belong to the
# episode before, an ACK comes before or after its request is sent again, and a request finds 128 others
# that wait or not: sums are compared.
followed_alike() {
  assert_eq "$(what_of "$scratch/episodes.json")" "$(what_of "$scratch/live.json")" "episodes of the captures and of the port, $*"
  assert_json "$scratch/other.json" '.episodes == [] and .pairs == []'
  assert_eq "$(asked_of "$scratch/episodes.json")" "$(asked_of "$scratch/latency.json")" "requests timed, or not, in the captures and on the port, $*"
  assert_json "$scratch/latency.json" 'all(.latency_port[]; .min_ns > 0 and .min_ns <= .p50_ns and .p50_ns <= .max_ns
      and if .count < 100 then .p99_ns == null else .p50_ns <= .p99_ns and .p99_ns <= .max_ns end)
    and ([.latency_histogram[].count] | add) == ([.latency_port[].count] | add) and ([.latency_port[].kind] | unique) == ["ack", "message"]'
}
what_of() {
  jq -c '[.episodes[] | {src, dst, dest_qp, src_qp, kind, cause, where, first_missing_psn, missing, naks, findings}],
    {resent: [([.episodes[].resent_packets] | add), ([.episodes[].resent_bytes] | add)]},
    .findings, [.pairs[] | del(.retry_timer)], .following' "$1"
}
asked_of() { jq -c '[.latency_port[] | select(.kind == "ack").count] + [.latency_untimed | .ambiguous, .unanswered, .full] | add' "$1"; }
# Each episode of the port was reported when it had ended; one may still be open. Whether a timer ended it is what the pair's other
# episodes say, later ones too: where the sender waited for a processor, that and the times that follow from it may change.
told_alike() {
  jq -es 'def compared: del(.ended_by, .nak_reaction_ns, .timeout_ns);
    (map(select(.type == "episode") | del(.schema, .time, .type, .roce_version) | compared) | sort_by(.last_sent_ns, .resent_ns)) as $told
    | ($live[0].episodes | map(compared) | sort_by(.last_sent_ns, .resent_ns)) as $all
    | $told != [] and ($all - $told | length) <= 1 and ($told - $all) == [] and ($told | unique | length) == ($told | length)' \
    --slurpfile live "$scratch/live.json" "$scratch/box0.events" >/dev/null ||
    fail "events of the port are not its episodes: $(jq -c 'select(.type == "episode")' "$scratch/box0.events")"
  assert_eq '' "$(jq -c 'select(.type == "episode" or .type == "finding")' "$scratch/box1.events")" "episodes at the port of the answers"
}
# Counters have an episode at the port that its requests enter, whichever its NAK enters.
counted_alike() {
  local causes='[.episodes[].cause] | group_by(.) | map({(.[0] // "unknown"): length}) | add'
  assert_eq "$(jq -cS "$causes" "$scratch/live.json")" \
    "$(jq -cS '.episode_causes | with_entries(select(.value > 0))' "$scratch/box0.json")" "episodes counted"
  assert_json "$scratch/box1.json" '[.episode_causes[]] | add == 0'
}
found() { jq "$1" "$scratch/episodes.json"; }

# If the hypervisor stops a virtual CPU while it changes the record of the pair, the other CPU gives up: the
# packet is counted, but not followed. Then the run begins again.
run_followed() {
  local i
  for ((i = 0; i < 5; i++)); do
    run "$@"
    jq -es 'all(.[]; .overflow.pairs_contended == 0)' "$scratch"/box[01].json >/dev/null && return
  done
  fail "packets were not followed in each of 5 runs"
}

for mode in go-back-n selective; do
  for verb in write send; do
    run_followed "$mode" "$verb" pmtu 1024 messages 100 size 10240
    followed_alike "$mode" "$verb"
    told_alike
    counted_alike
    assert_eq "$(sent_of .recovery.retransmitted)" "$(found '[.episodes[].resent_packets] | add')" "packets sent again, $mode $verb"
    # A single packet that a timer sends again looks like a copy.
    [[ $mode == selective ]] || assert_eq "$(sent_of .recovery.timeouts)" "$(found '[.episodes[] | select(.cause == "timeout")] | length')" "timeouts, $mode $verb"
    assert_json "$scratch/episodes.json" '([.episodes[] | select(.cause == "nak")] | length) == .aeth.nak_psn_sequence_error
      and .findings == [] and .following.unpaired == 0 and (.pairs | length) == 1 and .pairs[0].retransmission == "'"$mode"'"'
  done
done
