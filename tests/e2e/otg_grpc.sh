#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# gRPC of `serve`: its calls beside those of HTTP, with otg.proto of this project and with the published one, if it is there; a token, TLS,
# addresses that are open to others, two servers at one address; and it ends while a client holds a call open.
. "$(dirname "$0")/otg_lib.sh"
need protoc openssl
/usr/bin/python3 -c 'import grpc, google.protobuf' 2>/dev/null || skip "needs python3-grpcio and python3-protobuf"
status=0
"$XDP_ROCE" serve --grpc 127.0.0.1:0 --web.config.file /dev/null >"$scratch/refused" 2>&1 || status=$?
! grep -q 'libgrpc++-dev' "$scratch/refused" || skip "the program was built without gRPC"
assert_eq 2 "$status" "exit status with a web configuration"
lane3
direct
before=$(kernel_objects)
protos=("$here/../../userspace/serve/otg_grpc/otg.proto")
published=${XR_OTG_SCHEMA:-$here/../../../shared/otg}/otg.proto
[[ ! -e $published ]] || protos+=("$published")
address() { sed -nE 's/.*gRPC on ([^ ]+).*/\1/p' "$scratch/serve.err" | head -n 1; }
client() { "$otg_tests/grpc_client.py" "${protos[0]}" "$(address)" "$location" - - "$@" >"$scratch/client" 2>&1; }

for proto in "${protos[@]}"; do
  serve --ports "$left/direct0,$right/direct1" --grpc 127.0.0.1:0
  "$otg_tests/grpc_client.py" "$proto" "$(address)" "$location" "$left/direct0" "$right/direct1" >"$scratch/client" 2>&1 ||
    fail "$proto: $(tail -n 5 "$scratch/client")"
  end_serve
done
wait_for 5 nothing_since "$before" || fail "left in the kernel: $(since "$before")"

# A token, also over TLS.
echo geheim >"$scratch/token"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$scratch/key.pem" -out "$scratch/cert.pem" -days 2 -subj /CN=localhost \
  -addext 'subjectAltName = IP:127.0.0.1' 2>/dev/null || fail "no certificate"
serve --grpc 127.0.0.1:0 --token "$scratch/token"
TOKEN=geheim client || fail "the token is refused: $(cat "$scratch/client")"
for token in gehei geheimm ''; do
  ! TOKEN=$token client || fail "the token '$token' is taken"
  grep -q 'StatusCode.UNAUTHENTICATED' "$scratch/client" || fail "another error: $(tail -n 3 "$scratch/client")"
done
end_serve
serve --grpc 127.0.0.1:0 --tls "$scratch/cert.pem" "$scratch/key.pem" --token "$scratch/token"
TOKEN=geheim client "$scratch/cert.pem" || fail "no call by TLS: $(cat "$scratch/client")"
! TOKEN=geheim client || fail "a call without TLS is answered"
end_serve

misused 'open to others' "$XDP_ROCE" serve --listen 127.0.0.1:0 --grpc 0.0.0.0:0
misused 'open to others' "$XDP_ROCE" serve --listen 127.0.0.1:0 --grpc '[::]:0'
misused 'does not take --web.config.file' "$XDP_ROCE" serve --grpc 127.0.0.1:0 --web.config.file /dev/null
serve --grpc 127.0.0.1:0
refused 'cannot listen on' "$XDP_ROCE" serve --listen 127.0.0.1:0 --grpc "$(address)"
end_serve

# The module alone has gRPC. It is looked for beside the program, and taken from the same build, and where no others can write.
! ldd "$XDP_ROCE" | grep -E 'grpc|protobuf' || fail "the program itself is linked with gRPC"
copy=$scratch/copy module=$scratch/copy/lib/xdp-roce/xdp-roce-grpc.so
mkdir -p "$copy/bin" "$(dirname "$module")"
cp "$XDP_ROCE" "$copy/bin/"
refused 'is without gRPC: it has no xdp-roce-grpc.so' "$copy/bin/xdp-roce" serve --listen 127.0.0.1:0 --grpc 127.0.0.1:0
cp "$(dirname "$XDP_ROCE")/../lib/xdp-roce/xdp-roce-grpc.so" "$module"
chmod o+w "$module"
refused 'can be written by others' "$copy/bin/xdp-roce" serve --listen 127.0.0.1:0 --grpc 127.0.0.1:0
chmod o-w "$module"
version=$("$XDP_ROCE" --version | sed -n '1s/.* //p')
LC_ALL=C sed -i "s/$version/9${version:1}/" "$module"
refused 'is of another build' "$copy/bin/xdp-roce" serve --listen 127.0.0.1:0 --grpc 127.0.0.1:0
echo none >"$module"
refused 'cannot be loaded' "$copy/bin/xdp-roce" serve --listen 127.0.0.1:0 --grpc 127.0.0.1:0
installed=$XDP_ROCE
cp "$(dirname "$XDP_ROCE")/../lib/xdp-roce/xdp-roce-grpc.so" "$module"
XDP_ROCE=$copy/bin/xdp-roce
serve --grpc 127.0.0.1:0
end_serve
XDP_ROCE=$installed

# A call without a message.
serve --grpc 127.0.0.1:0
held() {
  exec /usr/bin/python3 -c '
import grpc, sys, time
def never():
    time.sleep(60)
    yield b""
call = grpc.insecure_channel(sys.argv[1]).stream_unary("/otg.Openapi/streamSetConfig")
print("calls", flush=True)
call(never(), timeout=60)' "$1" >"$scratch/held" 2>&1
}
in_background held "$(address)"
background=("${background[@]:0:${#background[@]}-2}" "${background[-1]}" "$serving") # the server ends first
wait_for 10 grep -q calls "$scratch/held"
sleep 1
began=$SECONDS
end_serve
((SECONDS - began <= 3)) || fail "the end took $((SECONDS - began)) s"
