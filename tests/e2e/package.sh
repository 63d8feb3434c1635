#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package: it is built and checked by lintian, and its manual and completion work; on a
# copy of this system it is installed, used and purged completely. The capabilities of its units are
# sufficient.
# shellcheck disable=SC2034 # for the harness
bpffs=machine
. "$(dirname "$0")/lib.sh"
need cpack dpkg-deb jq lintian man unshare setpriv systemd-analyze
need_root
build=${XR_BUILD:-$here/../../build/release}
version=$("$XDP_ROCE" --version | head -n 1)

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$scratch/pack" >"$scratch/last.out" 2>&1 ||
  fail "cpack: $(cat "$scratch/last.out")"
packages=("$scratch"/pack/*.deb)
assert_eq 1 "${#packages[@]}" "packages made"
deb=${packages[0]}
lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs "$deb" >"$scratch/last.out" 2>&1 ||
  fail "lintian: $(cat "$scratch/last.out")"
dpkg-deb -x "$deb" "$scratch/tree"

# What must be in it, by what uses it.
units=$scratch/tree/usr/lib/systemd/system
for command in $("$XDP_ROCE" help | sed -n '/^Commands:/,$s/^  \([a-z]*\) .*/\1/p'); do
  page=$scratch/tree/usr/share/man/man8/xdp-roce-$command.8.gz
  [[ -e $page ]] || fail "there is no manual page of $command"
  said=$(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
  assert_eq "" "$said" "what man says of $page"
  LC_ALL=C.UTF-8 man -l "$page" | grep -q -- --help || fail "$page does not tell --help"
done
[[ ${page:-} ]] || fail "no commands were found"

# completes EXPECTED WORD...: what bash makes of the last word, in $rx.
completes() {
  local expected=$1 got
  shift
  # shellcheck disable=SC2016 # the inner shell's
  got=$(PATH=$scratch/tree/usr/bin:$PATH ip netns exec "$rx" bash -c '. "$1"
    shift
    mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/{mlx5_0,rxe0}
    COMP_WORDS=(xdp-roce "$@") COMP_CWORD=$#
    _xdp_roce
    echo "${COMPREPLY[@]}"' \
    bash "$scratch/tree/usr/share/bash-completion/completions/xdp-roce" "$@")
  assert_eq "$expected" "$got" "what is completed of: $*"
}
lane
completes streams str
completes skb attach --mode s
# After a flag comes what would come without it.
completes watch --json wa
completes 'watch wire' --json w
completes "attach analyze" -v a
completes "lo rx0" watch --once ""
completes rx0 attach --no-track r
completes rx0 bridge --fix r
# What others call their interfaces is no shell's.
ip -n "$rx" link add 'y$(echo)' type veth peer name 'z`echo`'
# shellcheck disable=SC2016 # not expanded
completes 'y$(echo)' watch y
ip -n "$rx" link del 'y$(echo)'
# Each word once, and what the check of an option takes.
completes "lo rx0" bridge ""
completes "lo rx0" bridge lo ""
completes "v1 v2" doctor --peer-mode v
completes v2 doctor --set-roce-mode v2
completes gap capture --around g
completes nak capture --class n
completes "ipv4_rocev2_rc_send ipv4_rocev2_ud_send" send --preset ipv4
completes rxe0 streams --nic r
completes mlx5_0 doctor --rdma-dev m
completes list impair rx0 li
completes rewinds streams --sort rew
completes packets_per_s watch --sort packets_

# What programs and clusters read.
for name in report result sweep; do
  jq -e '."$schema"' "$scratch/tree/usr/share/xdp-roce/schemas/$name.schema.json" >/dev/null || fail "the package lacks $name.schema.json"
done
for name in chart/Chart.yaml chart/templates/exporter.yaml exporter.yaml sweep.yaml; do
  [[ -e $scratch/tree/usr/share/xdp-roce/kubernetes/$name ]] || fail "the package lacks kubernetes/$name"
done

# The module of `serve --grpc`, where the build has one, and its libraries.
module=userspace/lib/xdp-roce/xdp-roce-grpc.so
if [[ -e $build/$module ]]; then
  [[ -n $(find "$scratch/tree/usr" -path "*/xdp-roce/xdp-roce-grpc.so") ]] || fail "the package lacks $(basename "$module")"
  dpkg-deb -f "$deb" Depends | grep -q 'libgrpc++' || fail "the package does not depend on gRPC's library"
fi

# Units: known to systemd, and with no more than they need.
PATH=$scratch/tree/usr/bin:$PATH
mkdir "$scratch/units"
for unit in "$units"/*.service; do
  sed "s|=xdp-roce |=$scratch/tree/usr/bin/xdp-roce |" "$unit" >"$scratch/units/$(basename "$unit")"
done
cp "$scratch/units/xdp-roce@.service" "$scratch/units/xdp-roce@eth9.service"
cp "$scratch/units/xdp-roce-wire@.service" "$scratch/units/xdp-roce-wire@lab.service"
systemd-analyze verify --man=no "$scratch/units/xdp-roce@eth9.service" "$scratch/units/xdp-roce-wire@lab.service" \
  "$scratch/units/xdp-roce-exporter.service" "$scratch/units/xdp-roce-serve.service" >"$scratch/last.out" 2>&1 ||
  fail "systemd-analyze: $(cat "$scratch/last.out")"
assert_eq "" "$(grep -v '^$' "$scratch/last.out")" "what systemd says of the units"

# with_caps UNIT COMMAND...: as that unit would run it, in $rx.
with_caps() {
  local set=-all cap caps unit=$1
  shift
  read -ra caps < <(sed -n 's/^CapabilityBoundingSet=//p' "$units/$unit")
  for cap in "${caps[@]}"; do
    cap=${cap#CAP_}
    set+=,+${cap,,}
  done
  # The limit cannot be raised everywhere where the tests run: the capability to exceed it takes its place.
  ! grep -q '^LimitMEMLOCK=infinity' "$units/$unit" || set+=,+ipc_lock
  [[ $set == *,+bpf* ]] || fail "$unit has no capabilities: $set"
  nsenter --net="/run/netns/$rx" setpriv --bounding-set "$set" --no-new-privs -- "$@"
}
with_caps xdp-roce@.service xdp-roce attach rx0 2>/dev/null || fail "attach needs more than its unit has"
replay "$(capture rc_send_cm_v4)"
await_frames "$(sent packets)"
with_caps xdp-roce-exporter.service xdp-roce export --once >"$scratch/metrics" ||
  fail "export needs more than its unit has"
grep -q '^xdp_roce_packets_total{.*port="rx0"' "$scratch/metrics" || fail "no metrics of rx0"
with_caps xdp-roce@.service xdp-roce detach rx0 || fail "detach needs more than its unit has"
ip -n "$rx" link add wire0 up type veth peer name wire1
ip -n "$rx" link set wire1 up
with_caps xdp-roce-wire@.service xdp-roce wire rx0 wire0 --for 200ms >/dev/null 2>"$scratch/last.err" ||
  fail "wire needs more than its unit has: $(cat "$scratch/last.err")"
# A server opens the port that a client names.
ip -n "$rx" link set lo up
with_caps xdp-roce-serve.service timeout 8 xdp-roce serve --listen 127.0.0.1:8443 2>"$scratch/last.err" &
server=$!
for _ in {1..100}; do
  ! nsenter --net="/run/netns/$rx" curl -sf http://127.0.0.1:8443/capabilities/version >"$scratch/version" || break
  sleep 0.1
done
nsenter --net="/run/netns/$rx" curl -s --data '{"ports": [{"name": "p", "location": "rx0"}]}' http://127.0.0.1:8443/config >"$scratch/answer" ||
  fail "no answer of serve: $(cat "$scratch/last.err")"
wait "$server" || true # its time is over
assert_eq "{}" "$(jq -c 'del(.warnings)' "$scratch/answer")" "serve with what its unit has: $(cat "$scratch/last.err")"
ip -n "$rx" link del wire0

# A later version of the package.
dpkg-deb -R "$deb" "$scratch/later"
sed -i 's/^Version: .*/&+later/' "$scratch/later/DEBIAN/control"
dpkg-deb --root-owner-group -b "$scratch/later" "$scratch/later.deb" >"$scratch/last.out" 2>&1 || fail "dpkg-deb: $(cat "$scratch/last.out")"

# A copy of this system, where only the copy changes.
# shellcheck disable=SC2016 # the inner shell's
unshare --mount --net bash -euc '
  mount -t tmpfs none "$1"
  mkdir "$1"/{upper,work,root}
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" "$1/root"
  cp "$2" "$1/root/package.deb"
  cp "$3" "$1/root/inside.sh"
  cp "$4" "$1/root/replay"
  cp "$5" "$1/root/capture"
  cp "$6" "$1/root/later.deb"
  cp "$7" "$1/root/other_abi.py"
  unshare --pid --fork --root "$1/root" \
    env PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive bash /inside.sh
  rm "$1/root/"{package,later}.deb
  find "$1/upper" -name "*xdp-roce*" ! -type c ! -path "*/cache/man/*" | sed "s/^/left: /"
' package "$(mktemp -d -p "$scratch")" "$deb" "$here/package_inside.sh" \
  "$XR_REPLAY" "$(capture rc_send_cm_v4)" "$scratch/later.deb" "$here/other_abi.py" >"$scratch/last.out" 2>"$scratch/last.err" ||
  fail "installing, running and purging it: $(cat "$scratch/last.out" "$scratch/last.err")"
grep -qxF "version: $version" "$scratch/last.out" || fail "not the version that was built: $(cat "$scratch/last.out")"
assert_eq "" "$(grep '^left: ' "$scratch/last.out")" "what is left after the purge"
