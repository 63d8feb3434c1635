#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# peer with peer, as client and server of each tool, over two namespaces: each test and option, what
# hostile clients do, faults, and what is left after kill -9.
. "$(dirname "$0")/traffic_lib.sh"
need jq python3
lane

server() { in_background endpoint "$scratch/server.json" --json --netns "$rx" peer rx0 "$@"; }
# Until the server's QPs have an address and it listens: a client tries for some seconds.
client() {
  status=0
  timeout 60 "$XDP_ROCE" --json --netns "$tx" peer tx0 "$@" >"$scratch/client.json" 2>"$scratch/client.err" || status=$?
}
ended() {
  ended=0
  wait "${background[-1]}" || ended=$?
  unset 'background[-1]'
}
# both "SERVER" "CLIENT" FILTER: both end well, and the filter is true of {client, server}.
both() {
  local -a ours theirs
  read -ra ours <<<"$1"
  read -ra theirs <<<"$2"
  server "${ours[@]}" once
  client "${theirs[@]}"
  ended
  [[ $status$ended == 00 ]] ||
    fail "$2: client $status, server $ended: $(cat "$scratch/client.err" "$scratch/server.json.err" "$scratch/client.json" "$scratch/server.json" | grep -v note: | jq -c "[.test, .reaction]")"
  jq -n --slurpfile c "$scratch/client.json" --slurpfile s "$scratch/server.json" '{client: $c[0], server: $s[0]}' >"$scratch/both.json"
  assert_json "$scratch/both.json" ".client.test.finished and .server.test.finished and ($3)"
}
ip -n "$tx" address add 192.0.2.1/24 dev tx0
ip -n "$rx" address add 192.0.2.2/24 dev rx0

counts='.client.test.sent == 200 and .server.test.arrived == 200'
seen() { echo "$counts and .server.test.tool == \"perftest $1\""; }
for test in write_bw read_bw send_bw atomic_bw read_lat send_lat atomic_lat; do
  both perftest "perftest $test 192.0.2.2 iters 200" "$(seen $test)"
done
# A server that sends first looks for the size, and sends until the client ends.
both perftest "perftest write_lat 192.0.2.2 iters 200 size 64" '.client.test.sent == 200 and .client.latency.count == 199'
both "perftest write_lat size 64" "perftest write_lat 192.0.2.2 iters 200 size 64" "$(seen write_lat)"
both perftest "perftest write_bw 192.0.2.2 transport uc iters 200" "$counts and .server.test.transport == \"uc\""
both perftest "perftest send_bw 192.0.2.2 transport ud iters 200" '.client.test.sent == 200 and .server.test.transport == "ud"'
both perftest "perftest write_bw 192.0.2.2 qps 4 iters 50" "$counts and .server.test.qps == 4"
both perftest "perftest write_bw 192.0.2.2 both-ways iters 200" "$counts and .client.test.arrived == 200"
both perftest "perftest send_bw 192.0.2.2 both-ways iters 200" "$counts and .client.test.arrived == 200"
both perftest "perftest send_bw 192.0.2.2 for 1s" '.client.test.sent == .server.test.arrived and .client.seconds > 0.9'
both perftest "perftest write_bw 192.0.2.2 cm qps 2 iters 100" "$counts and .client.test.cm"
both perftest "perftest send_lat 192.0.2.2 cm iters 200" "$counts"
both perftest "perftest write_bw 192.0.2.2 all iters 2" '(.client.sizes | length) == 23 and .client.sizes[22].size == 8388608'
both perftest "perftest write_bw 192.0.2.2 qps 1000 iters 2 size 1k" '.client.test.sent == 2000 and .server.test.qps == 1000'
both rping "rping 192.0.2.2 iters 50 size 1000" '.server.test.arrived == 50 and .server.test.bad_data == 0'
for kind in rc uc ud srq; do
  both "pingpong $kind" "pingpong $kind 192.0.2.2 iters 100" '.client.test.arrived == 100 and .server.test.bad_data == 0'
done
both rdma_server "rdma_client 192.0.2.2" '.client.test.arrived == 1'
both ucmatose "ucmatose 192.0.2.2" '.client.test.arrived == 10 and .server.test.arrived == 10'
both cmtime "cmtime 192.0.2.2 qps 10" '.server.test.qps == 10'

# Faults, and what the other side did.
both "perftest answers skip every 20" "perftest write_bw 192.0.2.2 iters 200 size 1k" \
  "$counts and .server.reaction.answer_faults > 5"
# If the client runs late, it reads the ACKs after the NAK before it retransmits, and has nothing left to retransmit.
both "perftest answers nak sequence at 50" "perftest write_bw 192.0.2.2 iters 200 size 4k" \
  "$counts and .client.answers.naks == 1 and
   if .client.recovery.retransmitted > 0 then .server.reaction.rounds == 1 and .server.reaction.first_ms > 0 else .server.reaction.rounds == 0 end"
both "perftest rnr-every 10" "perftest send_bw 192.0.2.2 iters 200" "$counts and .client.answers.rnr_naks == 20"
both "perftest cnp-every 100" "perftest write_bw 192.0.2.2 iters 200 size 1k" "$counts and .client.answers.cnps == 2"
both perftest "perftest write_bw 192.0.2.2 iters 200 fault skip every 100" "$counts and .server.received.naks > 0"
server perftest once answers silent at 100
client perftest write_bw 192.0.2.2 iters 200 size 1k timeout 10
assert_eq 1 "$status" "a client whose server fell silent"
assert_json "$scratch/client.json" '.test.failure | test("retries are used up")'
ended
# Seven retries, and more rounds if the timer ran out before on a busy machine.
assert_json "$scratch/server.json" '.reaction.rounds >= 7 and .test.failure != null'
server perftest once
client perftest write_bw 192.0.2.2 iters 200 rkey 0xbad
assert_eq 1 "$status" "a client with a wrong R_Key"
assert_json "$scratch/client.json" '.test.failure | test("remote access error")'
ended
assert_json "$scratch/server.json" '.refused.bad_rkey == 1'

# Hostile clients of a server that stays: garbage, a part of a record, much of it, another version.
server perftest
say() { # say BYTES, as an expression of Python
  ip netns exec "$tx" python3 -c 'import socket, sys, time
for _ in range(100):
    try:
        c = socket.create_connection(("192.0.2.2", 18515), 2); break
    except OSError:
        time.sleep(0.1)
try:
    c.sendall(eval(sys.argv[1])); c.settimeout(15)
    while c.recv(65536): pass
except OSError: pass' "$1"
}
say 'b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"'
say 'b"\0" * (8 << 20)'
say 'b"24.07".ljust(16, b"\0")'
say 'b"6.06".ljust(16, b"\0") + bytes(8) + b"3\0" + b"x" * 200'
client perftest send_bw 192.0.2.2 iters 100
assert_eq 0 "$status" "a client after hostile ones"
end_background INT
assert_json <(jq -s . "$scratch/server.json") 'length == 5 and ([.[:4][] | .test.failure] | all) and .[4].test.arrived == 100 and (.[2].test.failure | test("24.07"))'

# kill -9: the other side ends by its own retries, and the port is free again.
server perftest once
in_background endpoint "$scratch/client.json" --json --netns "$tx" peer tx0 perftest write_bw 192.0.2.2 for 60s timeout 10
sleep 2
kill -9 "${background[-2]}"
ended=0
wait "${background[-1]}" || ended=$?
assert_eq 1 "$ended" "a client whose server was killed"
wait "${background[-2]}" 2>/dev/null || true
background=()
both perftest "perftest write_bw 192.0.2.2 iters 200" "$counts"
