#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of package.sh that runs in a copy of this system, with its own network, processes and
# mounts: installs, uses and purges the package /package.deb.
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

# A port's unit is the device's: started whenever it comes, not once at boot.
SYSTEMD_OFFLINE=1 /usr/bin/systemctl enable 'xdp-roce@br\x2dlan.service' xdp-roce-exporter.service
links() {
  find /etc/systemd/system -name 'xdp-roce*' -printf '%P\n' -o -name '*br*lan*' -printf '%P\n' | sort
}
wanted='sys-subsystem-net-devices-br\x2dlan.device.wants'
assert_eq "multi-user.target.wants/xdp-roce-exporter.service
$wanted
$wanted/xdp-roce@br\x2dlan.service" "$(links)" "what enabling the units makes"

# A port counts, and goes on through an upgrade.
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
dpkg -i /package.deb
called "--system daemon-reload
--system daemon-reload
try-restart xdp-roce-exporter.service xdp-roce-serve.service" "an upgrade"
assert_eq "$program" "$(program_of in)" "the program after an upgrade"
sent=$(/replay --ifname out /capture | jq .packets)
for _ in {1..100}; do
  ! counted "$sent" || break
  sleep 0.05
done
counted "$sent" || fail "$sent were sent, counted: $(xdp-roce --json counters in | jq -c .frames)"

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
