#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# image.sh IMAGE VERSION: podman runs the image: it prints its version, analyzes a capture, and exports the metrics of a port that the
# program of this machine attached, with CAP_BPF only. Skipped where this kernel does not let podman start anything.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
need podman curl
image=$1 version=$2
lane 1500
ip -n "$rx" link set lo up
store=(--root "$scratch/containers" --runroot "$scratch/containers-run" --storage-driver vfs --cgroup-manager cgroupfs)
name=xr-image-$$
# shellcheck disable=SC2317 # by the trap
end_container() {
  podman "${store[@]}" "${runtime[@]}" rm -f -t 2 "$name" >/dev/null 2>&1 || true
  tidy_up
}
trap end_container EXIT
runtime=()
keep podman "${store[@]}" load -i "$image" || fail "podman load: $(cat "$scratch/last.err")"
reference=localhost/xdp-roce:$version
# Limits below those of this machine: to raise one needs CAP_SYS_RESOURCE.
limits=(--ulimit nofile=1024:1024 --ulimit nproc=1024:1024)
pod() { timeout 60 podman "${store[@]}" "${runtime[@]}" "$@"; }
why=''
for one in '' runc crun; do
  [[ -z $one ]] || { command -v "$one" >/dev/null || continue; }
  runtime=(${one:+--runtime "$one"})
  if pod run --rm "${limits[@]}" --network host "$reference" --version >"$scratch/version" 2>"$scratch/last.err"; then
    why=''
    break
  fi
  why=$(tail -n 1 "$scratch/last.err")
done
[[ -z $why ]] || skip "podman starts no container here: $why"
assert_eq "xdp-roce $version" "$(head -n 1 "$scratch/version")" "the version of the image"

file=$(capture rc_send_cm_v4)
pod run --rm "${limits[@]}" --network none --cap-drop all -v "$(dirname "$file"):/data:ro" "$reference" --json analyze "/data/$(basename "$file")" >"$scratch/there"
assert_eq "$("$XDP_ROCE" --json analyze "$file" | jq .frames.total)" "$(jq .frames.total "$scratch/there")" "packets of the capture"

xr attach rx0 2>/dev/null
replay "$file"
await_frames "$(sent packets)"
pod run -d --name "$name" "${limits[@]}" --network "ns:/run/netns/$rx" --cap-drop all --cap-add BPF --read-only \
  -v "$LIBXDP_BPFFS:/sys/fs/bpf" -v /run/xdp-roce:/run/xdp-roce "$reference" export --listen 127.0.0.1:9479 >/dev/null ||
  fail "the exporter does not start: $(tail -n 1 "$scratch/last.err")"
for _ in {1..100}; do
  ! ip netns exec "$rx" curl -sf http://127.0.0.1:9479/metrics >"$scratch/metrics" || break
  sleep 0.1
done
packets=$(xr --json counters rx0 | jq '[.opcodes[].packets] | add')
grep -E '^xdp_roce_packets_total\{' "$scratch/metrics" | awk '{ sum += $NF } END { printf "%d\n", sum }' >"$scratch/sum"
assert_eq "$packets" "$(cat "$scratch/sum")" "packets: $(pod logs "$name" 2>&1 | tail -n 3)"
echo "exported $packets packets, with CAP_BPF only"
xr detach rx0
