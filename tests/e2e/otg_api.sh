#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The API of `serve` as clients meet it, judged by OTG's published model: every call, right and wrong; large, slow and cut bodies, many
# clients at once; tokens, TLS, addresses that are open to others; and what is left when it ends, also by kill -9.
. "$(dirname "$0")/otg_lib.sh"
need python3 curl openssl bpftool
lane3
direct
fixtures=${XR_OTG_SCHEMA:-$here/../../../shared/otg}/fixtures
before=$(kernel_objects)
code() { curl -s -o "$scratch/answer" -w '%{http_code}' -m 30 "$@" || true; }
on_direct() { bpftool -N "$1" net 2>/dev/null || ip netns exec "$1" bpftool net; }
attached() { "$XDP_ROCE" --json --netns "$1" status | jq '.attachments | length'; }

judged_server api.py "$fixtures" "$left/direct0" "$right/direct1"
# A location that --ports does not have.
assert_eq 400 "$(code -d '{"ports": [{"name": "p", "location": "lo"}]}' "$location/config")" "status of another port"
grep -q 'is not a port of this server' "$scratch/answer" || fail "no sentence: $(cat "$scratch/answer")"
assert_eq "1 1" "$(attached "$left") $(attached "$right")" "ports attached"
end_serve
assert_eq "0 0" "$(attached "$left") $(attached "$right")" "ports attached after the end"
[[ $(ip -n "$left" link show direct0) != *xdp* ]] || fail "a program is left: $(ip -n "$left" link show direct0)"
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"

# Killed in the middle of traffic: the next start cleans up.
serve
sed "s#\"veth-a\"#\"$left/direct0\"#; s#\"veth-b\"#\"$right/direct1\"#" "$fixtures/rc_one_way.json" >"$scratch/config.json"
start='{"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}}'
assert_eq "200 200" "$(code -d "@$scratch/config.json" "$location/config") $(code -d "$start" "$location/control/state")" "statuses before the kill"
end_serve KILL 137
serve
assert_eq 200 "$(code -d "@$scratch/config.json" "$location/config")" "status after a kill ($(cat "$scratch/answer"))"
end_serve TERM
assert_eq "0 0" "$(attached "$left") $(attached "$right")" "ports attached after a kill and an end"
wait_for 5 nothing_since "$before" || fail "left in the kernel after a kill: $(since "$before")"

# A token.
echo geheim >"$scratch/token"
serve --token "$scratch/token"
for header in 'X: y' 'Authorization: Bearer gehei' 'Authorization: Bearer geheimm' 'Authorization: Basic geheim' 'Authorization:'; do
  assert_eq 401 "$(code -H "$header" "$location/config")" "status with '$header'"
  jq -e '.code == 401 and (.errors | length == 1)' "$scratch/answer" >/dev/null || fail "answer: $(cat "$scratch/answer")"
done
assert_eq 401 "$(code -d '{}' "$location/no/such/path")" "status of another path without the token"
assert_eq 200 "$(code -H 'Authorization: Bearer geheim' "$location/config")" "status with the token"
end_serve

# TLS, with a certificate that is checked.
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$scratch/key.pem" -out "$scratch/cert.pem" -days 2 -subj /CN=localhost \
  -addext 'subjectAltName = IP:127.0.0.1' 2>/dev/null || fail "no certificate"
serve --tls "$scratch/cert.pem" "$scratch/key.pem"
[[ $location == https://* ]] || fail "not https: $location"
assert_eq 200 "$(code --cacert "$scratch/cert.pem" "$location/capabilities/version")" "status by TLS"
assert_eq 000 "$(code "$location/capabilities/version")" "status with a certificate that nobody signed"
assert_eq 000 "$(code "http://${location#https://}/capabilities/version")" "status without TLS"
end_serve

# Refused before anything runs.
misused 'open to others' "$XDP_ROCE" serve --listen 0.0.0.0:0
misused 'open to others' "$XDP_ROCE" serve --listen '[::]:0'
refused 'not a certificate' "$XDP_ROCE" serve --listen 127.0.0.1:0 --tls "$scratch/token" "$scratch/key.pem"
refused 'token' "$XDP_ROCE" serve --listen 127.0.0.1:0 --token "$scratch/none"
: >"$scratch/empty"
refused 'no token in its first line' "$XDP_ROCE" serve --listen 127.0.0.1:0 --token "$scratch/empty"
serve
refused 'cannot listen on' "$XDP_ROCE" serve --listen "${location#http://}"
end_serve
