#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of package.sh that runs in a copy of this system, with a network, processes and mounts of
# its own: the package /package.deb is installed, used and purged.
set -euo pipefail
fail() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}
assert_eq() {
  [[ $1 == "$2" ]] || fail "$3: expected '$1', got '$2'"
}
mount -t proc proc /proc

dpkg -i /package.deb
echo "version: $(xdp-roce --version | head -n 1)"
man xdp-roce-attach | grep -q -- --no-track || fail "no manual of attach"

# A port's unit is the device's: started whenever it comes, not once at boot.
systemctl enable 'xdp-roce@br\x2dlan.service' xdp-roce-exporter.service
links() {
  find /etc/systemd/system -name 'xdp-roce*' -printf '%P\n' -o -name '*br*lan*' -printf '%P\n' | sort
}
wanted='sys-subsystem-net-devices-br\x2dlan.device.wants'
assert_eq "multi-user.target.wants/xdp-roce-exporter.service
$wanted
$wanted/xdp-roce@br\x2dlan.service" "$(links)" "what enabling the units makes"

# As attach does where /sys/fs/bpf has no bpffs.
cp /var/lib/dpkg/info/xdp-roce.postrm /postrm
mkdir -p /run/xdp-roce/bpf
mount -t bpf bpf /run/xdp-roce/bpf
dpkg --purge xdp-roce 2>/purge.err || fail "purge: $(cat /purge.err)"
assert_eq "" "$(cat /purge.err)" "what purge says"
! mountpoint -q /run/xdp-roce/bpf || fail "a bpffs is left"
assert_eq "" "$(links)" "units that are still enabled"
[[ ! -e /run/xdp-roce ]] || fail "purge leaves /run/xdp-roce"

# Somebody else's mount is left to them.
mkdir -p /run/xdp-roce/theirs
mount -t tmpfs none /run/xdp-roce/theirs
/postrm purge 2>/dev/null || fail "purge fails for a mount that is not ours"
mountpoint -q /run/xdp-roce/theirs || fail "purge took a mount that is not ours"
umount /run/xdp-roce/theirs
rmdir /run/xdp-roce/theirs /run/xdp-roce
