#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of package.sh that runs in a copy of this system, with its own network, processes and
# mounts: installs, uses and purges the package /package.deb, and /later.deb, a later version.
set -euo pipefail
fail() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}
assert_eq() {
  [[ $1 == "$2" ]] || fail "$3: expected '$1', got '$2'"
}
mount -t proc proc /proc
mount -t sysfs sysfs /sys # no bpffs in it: attach mounts its own

# What maintainer scripts ask of a systemd that runs.
mkdir -p /stubs /run/systemd/system
printf '#!/bin/sh\necho "$*" >>/calls\n' >/stubs/systemctl
chmod +x /stubs/systemctl
rm -f /usr/sbin/policy-rc.d # of containers: start nothing
PATH=/stubs:$PATH
# called WORDS AFTER: no more and no less, since the last time.
called() {
  touch /calls
  assert_eq "$1" "$(cat /calls)" "what systemctl is told by $2"
  rm /calls
}

dpkg -i /package.deb
called "--system daemon-reload" "an installation"
echo "version: $(xdp-roce --version | head -n 1)"
man xdp-roce-attach | grep -q -- --no-track || fail "no manual of attach"

# An algorithm of one's own, as docs/congestion.md compiles it.
if [[ $(command -v gcc) ]]; then
  compile=$(grep -m 1 -o 'gcc .*/usr/share/doc/xdp-roce/plugins/aimd.c' /usr/share/doc/xdp-roce/docs/congestion.md) || fail "no line that compiles a plug-in"
  (cd /tmp && $compile && xdp-roce cc show plugin ./aimd.so) | grep -q '^step ' || fail "$compile: no plug-in"
fi

# A port's unit is the device's: started whenever it comes, not once at boot.
SYSTEMD_OFFLINE=1 /usr/bin/systemctl enable 'xdp-roce@br\x2dlan.service' xdp-roce-exporter.service
links() {
  find /etc/systemd/system -name 'xdp-roce*' -printf '%P\n' -o -name '*br*lan*' -printf '%P\n' | sort
}
wanted='sys-subsystem-net-devices-br\x2dlan.device.wants'
assert_eq "multi-user.target.wants/xdp-roce-exporter.service
$wanted
$wanted/xdp-roce@br\x2dlan.service" "$(links)" "what enabling the units makes"

# A port counts, and goes on through an upgrade, as does an exporter that runs.
program_of() {
  ip -json link show "$1" | jq -r '.[0].xdp.prog.id // "none"'
}
counted() {
  [[ $(xdp-roce --json counters in | jq .frames.total) == "$1" ]]
}
for f in all default; do
  echo 1 >/proc/sys/net/ipv6/conf/$f/disable_ipv6
done
ip link add in type veth peer name out
ip link set in up
ip link set out up
xdp-roce attach in
mountpoint -q /run/xdp-roce/bpf || fail "no bpffs at /run/xdp-roce/bpf"
program=$(program_of in)
[[ $program != none ]] || fail "nothing is attached"
await_counted() {
  for _ in {1..100}; do
    ! counted "$1" || return 0
    sleep 0.05
  done
  fail "$1 were sent, counted: $(xdp-roce --json counters in | jq -c .frames)"
}
exported() { curl -sf http://127.0.0.1:9479/metrics | awk '/^xdp_roce_frames_total/ { sum += $NF } END { print sum + 0 }'; }
ip link set lo up
sent=$(/replay --ifname out /capture | jq .packets)
await_counted "$sent"
xdp-roce export 2>/exporter.err &
exporter=$!
for _ in {1..100}; do
  [[ $(exported) != "$sent" ]] || break
  sleep 0.1
done
assert_eq "$sent" "$(exported)" "frames that the exporter shows: $(cat /exporter.err)"
since=$(xdp-roce --json status in | jq -r '.attachments[0].since')
dpkg -i /later.deb 2>/last.err || fail "upgrade: $(cat /last.err)"
assert_eq "" "$(grep '^xdp-roce: ' /last.err)" "what the upgrade says of a port of the same ABI"
called "--system daemon-reload
--system daemon-reload
try-restart xdp-roce-exporter.service xdp-roce-serve.service" "an upgrade"
assert_eq "$program" "$(program_of in)" "the program after an upgrade"
assert_eq "$since" "$(xdp-roce --json status in | jq -r '.attachments[0].since')" "the time of attach after an upgrade"
counted "$sent" || fail "an upgrade changes the counts: $(xdp-roce --json counters in | jq -c .frames)"
again=$(/replay --ifname out /capture | jq .packets)
sent=$((sent + again))
await_counted "$sent"
assert_eq "$sent" "$(exported)" "frames that the exporter of before shows after an upgrade"
kill "$exporter"
wait "$exporter" || fail "export ends with $?: $(cat /exporter.err)"
# Back, and with a port of another ABI: the upgrade names the command that replaces it.
dpkg -i /package.deb >/dev/null 2>&1 || fail "a downgrade fails"
assert_eq "$program" "$(program_of in)" "the program after a downgrade"
/other_abi.py /run/xdp-roce/bpf/xdp-roce/*-"$(</sys/class/net/in/ifindex)"
dpkg -i /later.deb 2>/last.err || fail "upgrade: $(cat /last.err)"
hint=$(sed -n 's/^xdp-roce: in: attached by another version .*: \(xdp-roce .*\) replaces it$/\1/p' /last.err)
assert_eq "xdp-roce attach --ensure in" "$hint" "what the upgrade says of a port of another ABI: $(cat /last.err)"
$hint >/dev/null
counted 0 || fail "the hint of the upgrade does not attach"
program=$(program_of in)
rm /calls

# What cannot be taken off is reported, and the removal continues.
cp /var/lib/dpkg/info/xdp-roce.{prerm,postrm} /
setpriv --bounding-set -all /xdp-roce.prerm remove 2>/last.err || fail "prerm fails without privilege"
grep -q '^xdp-roce: detach: ' /last.err || fail "prerm hides a failure: $(cat /last.err)"
grep -q 'ip link set IF xdp' /last.err || fail "prerm gives no way out: $(cat /last.err)"
assert_eq "$program" "$(program_of in)" "the program after a detach that failed"
rm /calls
dpkg --remove xdp-roce 2>/last.err || fail "remove: $(cat /last.err)"
assert_eq "" "$(cat /last.err)" "what the removal says"
called "stop xdp-roce-exporter.service xdp-roce-serve.service xdp-roce-wire@*.service xdp-roce@*.service
--system daemon-reload" "a removal"
assert_eq none "$(program_of in)" "the program after the removal"

mountpoint -q /run/xdp-roce/bpf || fail "no bpffs that purge could unmount"
dpkg --purge xdp-roce 2>/last.err || fail "purge: $(cat /last.err)"
assert_eq "" "$(cat /last.err)" "what purge says"
called "--system daemon-reload" "a purge"
! mountpoint -q /run/xdp-roce/bpf || fail "a bpffs is left"
assert_eq "" "$(links)" "units that are still enabled"
[[ ! -e /run/xdp-roce ]] || fail "purge leaves /run/xdp-roce"

# Somebody else's mount is left to them.
mkdir -p /run/xdp-roce/theirs
mount -t tmpfs none /run/xdp-roce/theirs
/xdp-roce.postrm purge 2>/dev/null || fail "purge fails for a mount that is not ours"
mountpoint -q /run/xdp-roce/theirs || fail "purge took a mount that is not ours"
umount /run/xdp-roce/theirs
rm -r /run/xdp-roce /xdp-roce.{prerm,postrm}
