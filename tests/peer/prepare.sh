#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prepare.sh: what the guests of the peer's tests boot from, cached in build/peer:
#   vmlinuz, modules.cpio, version  Debian 12's kernel (the one for all machines: the cloud's has no RDMA) with rdma_rxe
#   rdma.cpio                       rdma-core, perftest and the other stock tools, and guest/init
#   skip                            instead, the reason why there is nothing
# What they need besides is the userland of tests/kernels/prepare.sh.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
made=$root/build/peer
cache=$root/build/kernels # its apt, and the packages
why=
. "$here/../../tools/archive.sh"

# Debian's, without the packages that they name for maintainer scripts.
tools=(
  rdma-core ibverbs-utils ibverbs-providers perftest rdmacm-utils iputils-ping
  libibverbs1 librdmacm1 libibumad3 libnl-3-200 libnl-route-3-200 libpci3 libudev1 libidn2-0 libunistring2
)
made_by=$(cat "$here"/{prepare.sh,guest/*} "$root"/tests/kernels/{prepare.sh,guest/*} "$root/tools/archive.sh" | sha256sum | cut -c 1-16)

give_up() {
  printf '%s\n' "$1" >"$made/skip"
  printf 'peer: %s: %s\n' "$2" "$1"
  [[ $2 == skipped ]]
  exit
}
skip() { give_up "$1" skipped; }
die() { give_up "$1" failed; }
# pack DIR FILE: with root as owner, for any caller.
pack() {
  (cd "$1" && find . -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc -R +0:+0 --quiet) >"$2.new" && mv "$2.new" "$2"
}

mkdir -p "$made" "$cache/debs/partial"
exec 8>"$made/lock"
flock 8
[[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] || skip "guests are provided for amd64 with Debian's dpkg only"
command -v qemu-system-x86_64 >/dev/null || skip "needs qemu-system-x86_64 (package qemu-system-x86)"
# Without the name of a kernel: the userland alone.
"$root/tests/kernels/prepare.sh" 8>&- || die "the userland cannot be made"
[[ -e $cache/userland.cpio ]] || skip "the guests' packages cannot be had"

exec 9>"$cache/lock"
flock 9
archive_open bookworm || skip "$why"
image=$(archive_apt bookworm apt-cache depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
[[ $image ]] || skip "bookworm has no linux-image-amd64"
rm -f "$made/skip"
[[ $(cat "$made/made" 2>/dev/null) != "$image $made_by" ]] || { echo "peer: $(cat "$made/version")"; exit 0; }
rm -rf "$made"/{made,tools,kernel,slim}

list=$(archive_files bookworm "${tools[@]}") || skip "the stock tools' packages cannot be had"
mapfile -t files <<<"$list"
mkdir -p "$made"/tools/usr/{bin,sbin,lib,lib64}
for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$made/tools/$dir"; done
archive_unpack "$made/tools" "${files[@]}" || die "unpacking the stock tools"
rm -rf "$made"/tools/{usr/share/{doc,man,locale,lintian,bug,perl5},usr/lib/{systemd,udev,truescale-serdes.cmds},lib/udev}
for dir in bin sbin lib lib64; do rm "$made/tools/$dir"; done # the userland has these links
mkdir -p "$made/tools/opt/peer"
install -m 755 "$here/guest/up" "$made/tools/opt/peer/up"
pack "$made/tools" "$made/rdma.cpio" || die "packing the stock tools"

file=$(archive_files bookworm "$image") || skip "$image cannot be downloaded"
exec 9>&-
mkdir -p "$made"/{kernel,slim}/usr/lib
ln -s usr/lib "$made/kernel/lib"
archive_unpack "$made/kernel" "$file" || die "unpacking $image"
version=$(find "$made/kernel/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n')
PATH=/usr/sbin:/sbin:$PATH depmod -b "$made/kernel" "$version" || die "depmod of $version"
# The modules that init of tests/kernels loads, and those that guest/up does.
cat "$root/tests/kernels/guest/modules.txt" "$here/guest/modules.txt" | while read -r module; do
  PATH=/usr/sbin:/sbin:$PATH modprobe -d "$made/kernel" -S "$version" -D "$module" 2>/dev/null
done | sed -n "s|^insmod $made/kernel/*||p" | sort -u | while read -r module; do
  module=usr/${module#usr/}
  install -D -m 644 "$made/kernel/${module%% *}" "$made/slim/${module%% *}" || exit 1
done || die "the modules of $version"
cp "$made/kernel/usr/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} "$made/slim/usr/lib/modules/$version/" || die "no modules"
ln -s usr/lib "$made/slim/lib"
PATH=/usr/sbin:/sbin:$PATH depmod -b "$made/slim" "$version" || die "depmod of $version"
rm "$made/slim/lib" # the userland has it
cp "$made/kernel/boot/vmlinuz-$version" "$made/vmlinuz" || die "no vmlinuz"
pack "$made/slim" "$made/modules.cpio" || die "packing the modules"
rm -rf "$made"/{tools,kernel,slim}
echo "$version" >"$made/version"
echo "$image $made_by" >"$made/made"
echo "peer: $version"
