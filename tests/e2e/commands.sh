#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every command: its help, its errors about a wrong option and a missing interface, and its JSON.
. "$(dirname "$0")/lib.sh"
need jq
lane
capture=$(capture rc_send_cm_v4)
other_capture=$(capture rc_send_1024_v4)
same_capture=$scratch/same.pcap # a copy: one file counts once
cp "$capture" "$same_capture"

mapfile -t commands < <("$XDP_ROCE" help | sed -n '/^Commands:/,$s/^  \([a-z]*\) .*/\1/p')
((${#commands[@]} >= 15)) || fail "only these commands in the help: ${commands[*]}"

# wrong STATUS WORDS COMMAND...: that exit status and one sentence with the words, nothing else.
wrong() {
  local status=0 wanted=$1 words=$2
  shift 2
  keep "$@" || status=$?
  assert_eq "$wanted" "$status" "exit status of: $* ($(cat "$scratch/last.err"))"
  assert_sentence "$words" <"$scratch/last.err"
  assert_eq "" "$(cat "$scratch/last.out")" "standard output of: $*"
}

for command in "${commands[@]}"; do
  keep "$XDP_ROCE" "$command" --help || fail "$command --help: exit status $?"
  assert_eq "" "$(cat "$scratch/last.err")" "standard error of $command --help"
  grep -q "^Usage: xdp-roce $command" "$scratch/last.out" || fail "$command --help: $(cat "$scratch/last.out")"
  diff -q "$scratch/last.out" <("$XDP_ROCE" help "$command") >/dev/null || fail "help $command is another"
  wrong 2 "$command" "$XDP_ROCE" "$command" --no-such-option
  grep -q '^hint: ' "$scratch/last.err" || fail "$command: a wrong option, and no hint"
done

# no_interface CONTEXT COMMAND...: it says so in these words and no others, and where to look.
no_interface() {
  local context=$1
  shift
  wrong 1 "^xdp-roce: $context: no such interface\$" "$@"
  grep -qxF "hint: \`ip -n $rx link\` lists them" "$scratch/last.err" || fail "hint of $*: $(cat "$scratch/last.err")"
}

# What each wants beside the interface; one that is not there is named in a sentence.
absent() {
  case $1 in
    analyze) wrong 1 'no-such.pcap.*No such file' "$XDP_ROCE" analyze no-such.pcap ;;
    compare) wrong 1 'gone0: no such file' "$XDP_ROCE" compare gone0 gone1
      wrong 1 '^xdp-roce: compare: gone0: no such interface$' xr compare gone0 gone1 --for 1s
      wrong 2 'cannot be read twice' "$XDP_ROCE" compare - "$capture"
      wrong 2 'all places are files' "$XDP_ROCE" compare "$capture" "$other_capture" --for 1s
      wrong 2 'window is 60s at most' "$XDP_ROCE" compare "$capture" "$other_capture" --window 2m
      wrong 2 'twice' "$XDP_ROCE" compare "$capture" "$capture"
      wrong 2 'compare' "$XDP_ROCE" compare "$capture" ;;
    connections) wrong 1 '^xdp-roce: connections: gone0: no such interface$' xr connections gone0 --for 1s ;;
    bridge) no_interface 'bridge gone0' xr bridge rx0 gone0 ;;
    wire) no_interface 'wire gone0' xr wire rx0 gone0 ;;
    cc) wrong 2 "'gone0' is not an algorithm or a preset" "$XDP_ROCE" cc show gone0 ;;
    run) wrong 2 "no installed experiment 'gone0'" "$XDP_ROCE" run gone0 ;;
    serve) # its ports come with a configuration
      wrong 1 '^xdp-roce: serve: cannot listen on 192.0.2.77:1: ' "$XDP_ROCE" serve --listen 192.0.2.77:1 --token <(echo x) ;;
    record) no_interface 'record gone0' xr record gone0 --out "$scratch/gone" --for 1s ;;
    capture) no_interface 'capture gone0' xr capture gone0 -w "$scratch/gone.pcapng" ;;
    export) # it waits for its ports to come
      keep xr export gone0 --once || fail "export gone0 --once"
      assert_sentence '^xdp-roce: export gone0: no such interface$' <"$scratch/last.err"
      grep -q '^xdp_roce_port_attached{port="gone0"} 0$' "$scratch/last.out" || fail "gone0 is not told"
      ;;
    find) wrong 1 'gone0' "$XDP_ROCE" find gone0 gone1 ;;
    demo) wrong 2 'what is .gone0' "$XDP_ROCE" demo gone0 ;;
    impair) no_interface 'impair gone0 list' xr impair gone0 list ;;
    peer) no_interface 'peer gone0' xr peer gone0 perftest ;;
    send) no_interface 'send gone0' xr send gone0 src 192.0.2.1 dst 192.0.2.2 qp 17 ;;
    watch) no_interface 'watch gone0' xr watch gone0 --once ;;
    *) no_interface "$1 gone0" xr "$1" gone0 ;;
  esac
}
for command in "${commands[@]}"; do
  absent "$command"
done
[[ ! -e $scratch/gone.pcapng ]] || fail "capture left a file of an interface that is not there"

# json WORDS COMMAND...: every line, or all of it, is an object that has these keys.
unanswered() { ! "$XDP_ROCE" "$@"; }
json() {
  local keys=$1
  shift
  # A measurement is void if the machine is too busy, and has the same keys.
  keep "$@" || jq -e '.verdict == "void"' "$scratch/last.out" >/dev/null || fail "$*: $(cat "$scratch/last.err")"
  jq -e -s --arg keys "$keys" 'length > 0 and all(.[]; type == "object" and
    ([has($keys | split(" ")[])] | all))' "$scratch/last.out" >/dev/null ||
    fail "not what --json of $* promises ($keys): $(head -c 600 "$scratch/last.out")"
}
# refuses_json WORDS COMMAND...: says what there is instead.
refuses_json() {
  wrong 2 "$1" "$XDP_ROCE" --json "${@:2}"
  grep -q '^hint: xdp-roce --json ' "$scratch/last.err" || fail "--json of $2: what is there instead?"
}
covered=()
# Ports for what attaches; more of them, since a bridge has its own.
ip -n "$rx" link add one type veth peer name two
ip -n "$rx" link add left type veth peer name right
ip -n "$rx" link add follows type veth peer name follows1
xr attach two >/dev/null 2>&1
xr attach follows --follow --latency >/dev/null 2>&1
xr attach rx0 2>/dev/null
in_background "$XDP_ROCE" --netns "$rx" --json events rx0 --count 1 >"$scratch/events" 2>/dev/null
in_background "$XDP_ROCE" --netns "$rx" --json capture rx0 -w "$scratch/got.pcapng" >"$scratch/captured" 2>"$scratch/begun"
capturing=${background[-1]}
wait_for 15 grep -qs begun "$scratch/begun" || fail "capture has not begun: $(cat "$scratch/begun")"
replay "$capture"
# On a busy machine `events` may have begun after the frames.
has_event() { [[ -s $scratch/events ]] || { replay "$capture" && false; }; }
for command in "${commands[@]}"; do
  case $command in
    attach) json "attachments" xr --json attach one; assert_json "$scratch/last.out" '
      [.attachments[] | [.interface, .state]] == [["one", "attached"]]' ;;
    detach) json "detached" xr --json detach two; assert_json "$scratch/last.out" '
      [.detached[].interface] == ["two"]' ;;
    bridge) json "attachments" xr --json bridge left right; assert_json "$scratch/last.out" '
      [.attachments[] | [.interface, .bridged_with]] | sort == [["left", "right"], ["right", "left"]]' ;;
    wire) ip -n "$rx" link set left up; ip -n "$rx" link set right up
      json "schema wire ports rules classes first_port first_in second_in" xr --json wire left right --for 100ms
      assert_json "$scratch/last.out" '[.ports[] | [.name, .peer]] == [["left", "right"], ["right", "left"]]' ;;
    link) json "schema link" xr --json link left show ;;
    find) # two ends of a wire, which loses nothing
      ip -n "$rx" link add find0 type veth peer name find1
      ip -n "$rx" link set find0 up && ip -n "$rx" link set find1 up
      json "schema experiment verdict summary found trials" xr --json find find0 find1 --size 1500 --speed 20mbit --for 200ms
      ip -n "$rx" link del find0 ;;
    demo) refuses_json 'for a reader, not JSON' demo; continue ;;
    export) refuses_json 'Prometheus, not JSON' export --once rx0
      json "time host port netns src dst dest_qp packets gaps" xr export rx0 --rows --once ;;
    serve) wrong 2 'clients of serve get JSON by HTTP' "$XDP_ROCE" --json serve --listen 127.0.0.1:0; continue ;;
    watch) refuses_json 'watch has no JSON output' --netns "$rx" watch rx0; continue ;;
    analyze) json "schema source frames streams overflow" "$XDP_ROCE" --json analyze "$capture"
      json "schema latency latency_port latency_histogram latency_untimed" "$XDP_ROCE" --json analyze --latency "$capture"
      json "schema episodes findings pairs following" "$XDP_ROCE" --json analyze --episodes "$capture"
      json "schema clock frame_times" "$XDP_ROCE" --json analyze --decap auto "$capture"
      json "schema connections cm_messages" "$XDP_ROCE" --json analyze --connections "$capture" ;;
    connections) json "schema source seconds connections cm_messages" xr --json connections one --for 100ms ;;
    check) json "schema source time checks" xr --json check follows --for 100ms ;;
    episodes) json "schema source time episodes findings pairs following" xr --json episodes follows
      xr --json counters follows | jq -e '.episode_causes | has("nak") and has("timeout")' >/dev/null || fail "episode_causes"
      wrong 1 'episodes rx0: it does not follow QP pairs' xr episodes rx0 ;;
    latency) json "schema source time latency latency_port latency_histogram latency_untimed" xr --json latency follows
      wrong 1 'latency rx0: it does not time QP pairs' xr latency rx0 ;;
    compare) json "schema places between clocks streams over_time overflow" "$XDP_ROCE" --json compare "$capture" "$same_capture" ;;
    cc) json "schema presets parameters" "$XDP_ROCE" --json cc show paper nvidia ;;
    run) json "schema experiments" "$XDP_ROCE" --json run --list
      json "schema experiment place verdict expectations prediction flows queues jain version" \
        "$XDP_ROCE" --json run incast --set duration=1ms --set expect=[] --set measure.from=0s ;;
    capture) kill -INT "$capturing"; wait "$capturing" || fail "capture"; json "schema" cat "$scratch/captured" ;;
    counters) json "schema source frames bytes opcodes ecn aeth overflow" xr --json counters rx0 --interval 0.1 --count 2 ;;
    doctor) json "schema checks" xr --json doctor rx0 ;;
    events) wait_for 15 has_event || fail "no event"
      json "time type" cat "$scratch/events" ;;
    impair) json "rules" xr --json impair rx0 list ;;
    respond) json "schema received answered overflow" xr --json respond rx0 --address 192.0.2.2 --for 100ms
      json "schema received stamps overflow" xr --json respond rx0 --address 192.0.2.2 --sink --for 100ms ;;
    peer) # nobody answers: a report says so
      json "schema summary test reaction overflow" unanswered --json --netns "$tx" peer tx0 cmtime 192.0.2.77 --address 192.0.2.1 ;;
    send) json "schema asked achieved sent overflow" xr --json send rx0 src 192.0.2.1 dst 192.0.2.2 \
      dst-mac 02:00:00:00:00:01 qp 17 size 1k messages 3
      json "schema sent pfc overflow" xr --json send rx0 pfc 3 every 1ms count 2 ;;
    record) json "schema source summary frames streams checks" xr --json record rx0 --out "$scratch/picture" --for 100ms ;;
    status) json "attachments" xr --json status rx0 ;;
    streams) json "schema source streams overflow" xr --json streams rx0 ;;
    *) fail "what does --json of $command promise?" ;;
  esac
  covered+=("$command")
done
echo "JSON of: ${covered[*]}"
xr detach one left follows >/dev/null
