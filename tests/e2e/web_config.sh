#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `export` and `serve` with a web configuration of Prometheus' exporters, as curl, openssl and promtool meet them: TLS, users, headers,
# client certificates, IPv6, gzip; a new certificate and a broken file at SIGHUP; clients that are slow; addresses that are open to others.
. "$(dirname "$0")/lib.sh"
need jq curl openssl promtool python3 nsenter
lane
ip netns exec "$rx" sysctl -qw net.ipv6.conf.lo.disable_ipv6=0 # lane() disables IPv6
ip -n "$rx" link set lo up
web=$scratch/web
mkdir "$web"

inside() {
  nsenter --net="/run/netns/$rx" "$@"
}
# export_server OPTIONS...: in the background; $address is where it listens.
export_server() {
  rm -f "$scratch/exporter.err"
  in_background nsenter --net="/run/netns/$rx" "$XDP_ROCE" export "$@" 2>>"$scratch/exporter.err" # it appends: reload() empties the file
  exporter=${background[-1]}
  wait_for 10 grep -q ': https\?://' "$scratch/exporter.err" || fail "it does not listen: $(cat "$scratch/exporter.err")"
  url=$(grep -oE 'https?://[^ ]*' "$scratch/exporter.err" | head -n 1)
  url=${url%/metrics} address=${url#*//}
}
end_export() {
  end_background TERM
  assert_eq 0 "$ended" "exit status of export: $(cat "$scratch/exporter.err")"
}
# code OPTIONS... URL: the status; 000 is no answer. The body is in $scratch/answer, the header in $scratch/header.
code() {
  inside curl -s -o "$scratch/answer" -D "$scratch/header" -w '%{http_code}' -m 20 "$@" || true
}
# certificate NAME: a key and a certificate of its own in $web.
certificate() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$web/$1.key" -out "$web/$1.pem" -days 2 \
    -subj "/CN=$1" -addext 'subjectAltName = IP:127.0.0.1, IP:::1' 2>/dev/null || fail "no certificate"
}
served() {
  inside openssl s_client -connect "$address" "$@" </dev/null 2>/dev/null | openssl x509 -noout -subject 2>/dev/null
}
serves() {
  [[ $(served) == *"CN = $1" ]]
}
# reload WORDS: SIGHUP, until the exporter has said WORDS.
reload() {
  : >"$scratch/exporter.err"
  kill -HUP "$exporter"
  wait_for 10 grep -q -- "$1" "$scratch/exporter.err" || fail "after SIGHUP: $(cat "$scratch/exporter.err")"
}
refused_count() {
  code "${curl[@]}" "$url/metrics" >/dev/null
  sed -n "s/^xdp_roce_exporter_refused_total{reason=\"$1\"} //p" "$scratch/answer"
}

# Without a file: loopback only, in both address families; gzip for clients that ask.
xr attach rx0 >/dev/null
export_server rx0 --listen '[::1]:0'
curl=()
assert_eq 200 "$(code "$url/metrics")" "status by IPv6"
promtool check metrics <"$scratch/answer" >"$scratch/last.out" 2>&1 || fail "promtool check metrics: $(cat "$scratch/last.out")"
assert_eq "" "$(cat "$scratch/last.out")" "what promtool remarks"
grep -qi '^content-type: text/plain; version=0.0.4' "$scratch/header" || fail "$(cat "$scratch/header")"
for accept in gzip 'br, gzip' 'deflate, GZIP;q=0.5'; do
  assert_eq 200 "$(code -H "Accept-Encoding: $accept" "$url/metrics")" "status for $accept"
  gzip -dc "$scratch/answer" 2>/dev/null | grep -q '^xdp_roce_port_attached' || fail "not gzip for $accept: $(cat "$scratch/header")"
done
for accept in br 'gzip;q=0' identity; do
  assert_eq 200 "$(code -H "Accept-Encoding: $accept" "$url/metrics")" "status for $accept"
  grep -q '^xdp_roce_port_attached' "$scratch/answer" || fail "compressed for $accept: $(cat "$scratch/header")"
done
assert_eq 200 "$(code "$url/")" "status of /"
grep -q 'href="/metrics"' "$scratch/answer" || fail "/ has no link"
assert_eq 404 "$(code "$url/metric")" "status of another path"
for method in POST PUT DELETE OPTIONS; do
  assert_eq 405 "$(code -X "$method" -d x=y "$url/metrics")" "status of $method"
  grep -qi '^allow: GET' "$scratch/header" || fail "no Allow: $(cat "$scratch/header")"
done
assert_eq 200 "$(code -I "$url/metrics")" "status of HEAD"
# A body that is refused is not taken for the next request.
inside python3 - "${address##*:}" <<'PYTHON' || fail "a body is taken for a request"
import socket, sys
inner = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
connection = socket.create_connection(("::1", int(sys.argv[1])), timeout=20)
connection.sendall(b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(inner) + inner)
text = b""
while got := connection.recv(65536):
    text += got
assert text.count(b"HTTP/1.1 ") == 1 and b" 405 " in text.split(b"\r\n")[0], text
PYTHON
assert_eq 5 "$(refused_count method)" "refused methods"
end_export

# More clients that never end their request than the server has threads: others are served.
export_server rx0 --listen 127.0.0.1:0
# shellcheck disable=SC2016 # Python's
inside_slow='
import socket, sys, time
slow = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60) for _ in range(40)]
end = time.monotonic() + 25
while time.monotonic() < end:
    for i, connection in enumerate(slow):
        try:
            connection.sendall(b"G" if i % 2 == 0 else b"GET /metrics HTTP/1.1\r\nX: y\r\n"[:1])
        except OSError:
            pass
    time.sleep(1)
'
in_background nsenter --net="/run/netns/$rx" python3 -c "$inside_slow" "${address##*:}"
sleep 1
for _ in 1 2 3; do
  assert_eq 200 "$(code "$url/metrics")" "status beside slow clients"
done
slow_counted() { (($(refused_count slow) > 0)); }
wait_for 20 slow_counted || fail "no slow client is counted: $(grep refused "$scratch/answer")"
end_background TERM # the clients
# A client that reads nothing.
inside python3 - "${address##*:}" <<'PYTHON' &
import socket, sys, time
connection = socket.socket()
connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
connection.connect(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 400)
time.sleep(8)
PYTHON
reader=$!
background+=("$reader")
sleep 1
assert_eq 200 "$(code "$url/metrics")" "status beside a client that reads nothing"
wait "$reader"
unset 'background[-1]'
end_export

# TLS and users, in a file that promtool takes too.
certificate first
certificate second
cp "$web/first.pem" "$web/server.pem"
cp "$web/first.key" "$web/server.key"
hash() {
  python3 -W ignore -c 'import crypt, sys; print(crypt.crypt(sys.argv[1], crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=1 << int(sys.argv[2]))))' "$@"
}
hash x 4 >/dev/null 2>&1 || skip "python3 has no crypt module"
cat >"$web/web.yml" <<YAML
tls_server_config:
  cert_file: server.pem
  key_file: server.key
  min_version: TLS12
  cipher_suites: [TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
  curve_preferences: [CurveP256]
http_server_config:
  http2: true
  headers:
    X-Frame-Options: deny
    Strict-Transport-Security: max-age=60
basic_auth_users:
  alice: $(hash geheim 8)
  bob: $(hash 'b:o b' 8)
YAML
promtool check web-config "$web/web.yml" >"$scratch/last.out" 2>&1 || fail "promtool check web-config: $(cat "$scratch/last.out")"
export_server rx0 --listen '0.0.0.0:0' --web.config.file "$web/web.yml"
grep -q 'speaks HTTP/1.1' "$scratch/exporter.err" || fail "no note of http2"
url=https://127.0.0.1:${address##*:} address=127.0.0.1:${address##*:}
curl=(--cacert "$web/first.pem" -u alice:geheim)
assert_eq 200 "$(code "${curl[@]}" "$url/metrics")" "status with the right password"
grep -qi '^x-frame-options: deny' "$scratch/header" || fail "header: $(cat "$scratch/header")"
grep -qi '^strict-transport-security: max-age=60' "$scratch/header" || fail "header: $(cat "$scratch/header")"
assert_eq 200 "$(code --cacert "$web/first.pem" -u 'bob:b:o b' "$url/metrics")" "status of a password with a colon"
for user in alice:geheimm alice: alice:geheim$'\t' :geheim carol:geheim bob:geheim; do
  assert_eq 401 "$(code --cacert "$web/first.pem" -u "$user" "$url/metrics")" "status of $user"
  grep -qi '^www-authenticate: basic' "$scratch/header" || fail "header: $(cat "$scratch/header")"
done
assert_eq 401 "$(code --cacert "$web/first.pem" "$url/metrics")" "status without a password"
assert_eq 401 "$(code --cacert "$web/first.pem" -H 'Authorization: Basic !!!' "$url/nosuch")" "status with no base64"
assert_eq 000 "$(code -u alice:geheim "$url/metrics")" "status with a certificate that nobody signed"
assert_eq 000 "$(code "http://$address/metrics")" "status without TLS"
served -tls1_1 -cipher DEFAULT@SECLEVEL=0 && fail "it speaks TLS 1.1"
assert_eq 8 "$(refused_count login)" "refused log-ins"
(($(refused_count tls) >= 2)) || fail "refused handshakes: $(grep refused "$scratch/answer")"

# SIGHUP: a new certificate, a file that is wrong, another password.
cp "$web/second.pem" "$web/server.pem"
cp "$web/second.key" "$web/server.key"
serves first || fail "a new certificate before SIGHUP: $(served)"
reload 'read the configuration again'
serves second || fail "not the new certificate: $(served)"
curl=(--cacert "$web/second.pem" -u alice:geheim)
assert_eq 200 "$(code "${curl[@]}" "$url/metrics")" "status with the new certificate"
cp "$web/web.yml" "$web/right.yml"
echo 'basic_auth_user: {}' >>"$web/web.yml"
reload 'previous configuration is still in use'
grep -q "web.yml:.*no key 'basic_auth_user'" "$scratch/exporter.err" || fail "no sentence: $(cat "$scratch/exporter.err")"
echo nonsense >"$web/server.pem"
cp "$web/right.yml" "$web/web.yml"
reload 'server.pem is not a certificate; the previous configuration is still in use'
: >"$web/web.yml"
reload 'open to others; the previous configuration is still in use'
assert_eq 200 "$(code "${curl[@]}" "$url/metrics")" "status after wrong files"
cp "$web/second.pem" "$web/server.pem"
sed "s|alice: .*|alice: $(hash anders 4)|" "$web/right.yml" >"$web/web.yml"
reload 'read the configuration again'
assert_eq "401 200" "$(code "${curl[@]}" "$url/metrics") $(code --cacert "$web/second.pem" -u alice:anders "$url/metrics")" \
  "statuses after a new password"
# Without TLS, a header and a password for each request.
sed '/^tls/,/curve/d' "$web/right.yml" >"$web/web.yml"
reload 'http from now on'
assert_eq 200 "$(code -u alice:geheim "http://$address/metrics")" "status without TLS"
end_export

# Certificates of clients.
cat >"$web/clients.yml" <<YAML
tls_server_config: {cert_file: server.pem, key_file: server.key, client_auth_type: RequireAndVerifyClientCert, client_ca_file: first.pem}
YAML
promtool check web-config "$web/clients.yml" >"$scratch/last.out" 2>&1 || fail "promtool check web-config: $(cat "$scratch/last.out")"
export_server rx0 --listen '[::]:0' --web.config.file "$web/clients.yml"
url="https://[::1]:${address##*:}"
curl=(--cacert "$web/second.pem")
assert_eq 000 "$(code "${curl[@]}" "$url/metrics")" "status without a certificate"
assert_eq 000 "$(code "${curl[@]}" --cert "$web/second.pem" --key "$web/second.key" "$url/metrics")" "status with another's certificate"
assert_eq 200 "$(code "${curl[@]}" --cert "$web/first.pem" --key "$web/first.key" "$url/metrics")" "status with a certificate"
end_export

# `serve` takes the same file. A body of some size goes both ways by TLS.
cp "$web/right.yml" "$web/web.yml"
in_background "$XDP_ROCE" serve --listen 127.0.0.1:0 --web.config.file "$web/web.yml" 2>"$scratch/serve.err"
wait_for 15 grep -q ': https://' "$scratch/serve.err" || fail "serve does not run: $(cat "$scratch/serve.err")"
url=$(grep -oE 'https://[^ ]*' "$scratch/serve.err" | head -n 1)
direct() { curl -s -o "$scratch/answer" -w '%{http_code}' -m 30 --cacert "$web/second.pem" "$@" || true; }
assert_eq "401 200" "$(direct "$url/capabilities/version") $(direct -u alice:geheim "$url/capabilities/version")" "statuses of serve"
python3 -c 'print("{" + " " * (8 << 20) + "}")' >"$scratch/large.json"
assert_eq 200 "$(direct -u alice:geheim -d "@$scratch/large.json" "$url/config")" "status of a large body: $(cat "$scratch/answer")"
end_background TERM
assert_eq 0 "$ended" "exit status of serve: $(cat "$scratch/serve.err")"

# Open to others only if asked.
misused 'open to others' "$XDP_ROCE" export --listen 0.0.0.0:0
misused 'exclude each other' "$XDP_ROCE" export --web.config.file "$web/web.yml" --token "$web/web.yml"
: >"$web/empty.yml"
refused 'open to others' "$XDP_ROCE" export --listen '[::]:0' --web.config.file "$web/empty.yml"
export_server rx0 --listen '[::]:0' --insecure
assert_eq 200 "$(code "http://127.0.0.1:${address##*:}/metrics")" "status with --insecure, by IPv4"
# Nothing to read again: SIGHUP does not end it.
kill -HUP "$exporter"
assert_eq 200 "$(code "http://[::1]:${address##*:}/metrics")" "status after SIGHUP"
end_export
