#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prepare.sh [--all | --qemu] NAME...: what the guests of these kernels (kernels.txt) boot from, cached in build/kernels:
#   userland.cpio  Debian 12's tools, with Debian 13's C library, so that libraries of both load; both libxdps,
#                  with their libbpf and dispatcher objects, in /opt/libxdp/VERSION/{lib,bpf}
#   more.cpio      what the full run needs besides (--all)
#   NAME/{vmlinuz,modules.cpio,version}, or NAME/skip with the reason why there is none
#   qemu/          Debian 13's QEMU with its libraries (--qemu), which emulates more NICs: guest.sh has how it is called
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(cd "$here/../.." && pwd)/build/kernels
. "$here/../../tools/archive.sh"
[[ ${1:-} == --all ]] && full=1 && shift
[[ ${1:-} == --qemu ]] && qemu=1 && shift
mkdir -p "$cache/debs/partial"
exec 9>"$cache/lock"
flock 9

tools=(
  bash dash coreutils util-linux mount grep sed gawk gzip findutils diffutils procps kmod hostname base-passwd
  iproute2 ethtool bpftool xdp-tools jq python3 tcpdump libcap2-bin libbpf1 libxdp1
)
more=(tshark tmux curl python3-scapy ncurses-base wireshark-common) # the e2e scenarios of the full run
alone=(prometheus) # of the full run too, without what they depend on: static programs
other_suite=trixie
# The newest C and C++ libraries: what was built on this machine or is in $other_suite runs on them.
runtime=(libc6 libc-bin libgcc-s1 libstdc++6)
other=(libxdp1 libbpf1 libelf1t64 zlib1g)

# The cache is made again when this changes.
made_by=$(cat "$here"/{prepare.sh,../../tools/archive.sh,guest/*} | sha256sum | cut -c 1-16)

die() { printf 'kernels: %s\n' "$*" >&2; exit 1; }
# pack DIR FILE: with root as owner, for any caller.
pack() {
  (cd "$1" && find . -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc -R +0:+0 --quiet) >"$2.new" && mv "$2.new" "$2"
}

# layer NAME PACKAGE...: unpacks what the packages need and earlier layers do not have.
unpacked=()
layer() {
  local root=$cache/$1 files new=() file
  shift
  files=$(archive_closure bookworm "$@") || { why="the guest's packages cannot be had"; return 1; }
  for file in $files; do
    [[ " ${unpacked[*]} " == *" $file "* ]] || new+=("$file")
  done
  unpacked+=("${new[@]}")
  empty_root "$root"
  archive_unpack "$root" "${new[@]}" || die "unpacking the guest's packages"
}
empty_root() {
  local dir
  rm -rf "$1"
  mkdir -p "$1"/usr/{bin,sbin,lib,lib64}
  for dir in bin sbin lib lib64; do ln -s "usr/$dir" "$1/$dir"; done
}
lean() {
  rm -rf "$1"/usr/share/{doc,man,locale,info,zoneinfo,i18n,common-licenses,lintian,bug,icons,mime,fonts,perl} \
    "$1"/usr/share/{perl5,keyrings,bash-completion,applications,pixmaps} "$1"/usr/lib/{systemd,udev,apt} \
    "$1"/usr/{include,lib/x86_64-linux-gnu/{gconv,perl-base,perl}} "$1"/var/lib/{apt,dpkg}
  [[ ! -d $1/usr/lib/locale ]] || find "$1/usr/lib/locale" -mindepth 1 -maxdepth 1 ! -name C.utf8 -exec rm -r {} +
}

userland() {
  local list files root=$cache/userland
  [[ $(cat "$cache/userland.made" 2>/dev/null) == "$made_by" ]] || rm -f "$cache"/{userland,more}.cpio
  [[ ! -e $cache/userland.cpio || (${full:-} && ! -e $cache/more.cpio) ]] || return 0
  archive_open bookworm && archive_open "$other_suite" || return 1
  layer userland "${tools[@]}" || return 1
  list=$(archive_files "$other_suite" "${runtime[@]}") || { why="$other_suite's C library cannot be had"; return 1; }
  mapfile -t files <<<"$list"
  archive_unpack "$root" "${files[@]}" || die "unpacking $other_suite's C library"
  list=$(archive_files "$other_suite" "${other[@]}") || { why="$other_suite's libxdp cannot be had"; return 1; }
  mapfile -t files <<<"$list"
  archive_unpack "$cache/other" "${files[@]}" || die "unpacking $other_suite's libxdp"
  libxdp "$root" "$root"
  libxdp "$cache/other" "$root"
  lean "$root"
  mkdir -p "$root"/{dev,proc,sys,run,tmp,root,etc}
  # What maintainer scripts would have done.
  cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
  cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
  ln -sf gawk "$root/usr/bin/awk"
  ln -sf dash "$root/usr/bin/sh"
  echo 'tcpdump:x:101:101::/nonexistent:/usr/sbin/nologin' >>"$root/etc/passwd"
  echo 'tcpdump:x:101:' >>"$root/etc/group"
  cp "$here/guest/modules.txt" "$root/etc/modules-to-load"
  install -m 755 "$here/guest/init" "$root/init"
  cp "$here/guest/agent.py" "$root/agent.py"
  pack "$root" "$cache/userland.cpio" || die "packing the userland"
  if [[ ${full:-} ]]; then
    layer more "${tools[@]}" "${more[@]}" || return 1
    list=$(archive_files bookworm "${alone[@]}") || { why="the guest's packages cannot be had"; return 1; }
    mapfile -t files <<<"$list"
    archive_unpack "$cache/more" "${files[@]}" || die "unpacking ${alone[*]}"
    lean "$cache/more"
    pack "$cache/more" "$cache/more.cpio" || die "packing the userland"
  fi
  echo "$made_by" >"$cache/userland.made"
  rm -rf "$root" "$cache/other" "$cache/more"
}

# libxdp FROM TO: /opt/libxdp/VERSION/{lib,bpf} from unpacked packages.
libxdp() {
  local from=$1/usr/lib to version object
  version=$(zcat "$1"/usr/share/doc/libxdp1/changelog.Debian.gz | sed -n '1s/.*(\([^-)]*\).*/\1/p')
  to=$2/opt/libxdp/$version
  object=$(find "$from" -name xdp-dispatcher.o)
  [[ $version && $object ]] || die "no dispatcher object of libxdp '$version'"
  mkdir -p "$to/lib" "$to/bpf"
  cp "$(dirname "$object")"/* "$to/bpf/"
  cp -P "$from"/x86_64-linux-gnu/lib{xdp,bpf,elf,z}[.-]*so* "$to/lib/" || die "the libraries of libxdp $version"
}

# The other suite's QEMU, with all that it loads.
emulator() {
  local files list
  archive_open "$other_suite" || return 1
  list=$(archive_closure "$other_suite" qemu-system-x86 seabios) || { why="$other_suite's QEMU cannot be had"; return 1; }
  [[ $(cat "$cache/qemu/made" 2>/dev/null) != "$list" ]] || return 0
  mapfile -t files <<<"$list"
  empty_root "$cache/qemu"
  archive_unpack "$cache/qemu" "${files[@]}" || die "unpacking $other_suite's QEMU"
  rm -rf "$cache"/qemu/usr/share/{doc,man,locale,perl5}
  echo "$list" >"$cache/qemu/made"
}

# kernel NAME SUITE PACKAGE
kernel() {
  local name=$1 suite=$2 package=$3 dir=$cache/$1 packages files version
  mkdir -p "$dir"
  rm -f "$dir/skip"
  archive_open "$suite" || return 1
  packages=$(archive_apt "$suite" apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts \
    --no-breaks --no-replaces --no-enhances "$package" 2>/dev/null |
    grep -E '^linux-(image|binary|modules|base)-[0-9]' | sort -u)
  [[ $packages ]] || { why="suite $suite has no $package"; return 1; }
  mapfile -t packages <<<"$packages"
  [[ $(cat "$dir/made" 2>/dev/null) != "${packages[*]} $made_by" ]] || return 0
  files=$(archive_files "$suite" "${packages[@]}") || { why="${packages[*]} cannot be downloaded"; return 1; }
  rm -rf "$dir/root" "$dir/slim"
  mkdir -p "$dir/root/usr/lib" "$dir/slim/usr/lib/modules"
  ln -s usr/lib "$dir/root/lib"
  mapfile -t files <<<"$files"
  archive_unpack "$dir/root" "${files[@]}" || die "unpacking ${packages[*]}"
  version=$(find "$dir/root/usr/lib/modules" -mindepth 1 -maxdepth 1 -printf '%f\n')
  some_modules "$dir/root" "$dir/slim" "$version" || die "the modules of $version"
  cp "$(find "$dir/root" -name 'vmlinuz*' -type f | head -n 1)" "$dir/vmlinuz" &&
    pack "$dir/slim" "$dir/modules.cpio" && echo "$version" >"$dir/version" &&
    echo "${packages[*]} $made_by" >"$dir/made" && rm -rf "$dir/root" "$dir/slim"
}

# some_modules FROM TO VERSION: the modules of guest/modules.txt that there are, and what they need.
some_modules() {
  local from=$1 to=$2 version=$3 module path=/usr/sbin:/sbin:$PATH
  PATH=$path depmod -b "$from" "$version" || return 1
  while read -r module; do
    PATH=$path modprobe -d "$from" -S "$version" -D "$module" 2>/dev/null
  done <"$here/guest/modules.txt" | sed -n "s|^insmod $from/*||p" | sort -u | while read -r module; do
    module=usr/${module#usr/}
    install -D -m 644 "$from/${module%% *}" "$to/${module%% *}" || return 1
  done || return 1
  cp "$from/usr/lib/modules/$version"/modules.{order,builtin,builtin.modinfo} "$to/usr/lib/modules/$version/" || return 1
  ln -s usr/lib "$to/lib"
  PATH=$path depmod -b "$to" "$version" && rm "$to/lib"
  mkdir -p "$to/boot"
  cp "$(find "$from" -name 'config-*' -o -path '*/modules/*/config' | head -n 1)" "$to/boot/config-$version"
}

[[ $(dpkg --print-architecture 2>/dev/null) == amd64 ]] || why="guests are provided for amd64 with Debian's dpkg only"
[[ ! ${why:-} ]] && userland && { [[ ! ${qemu:-} ]] || emulator; }
while read -r name suite package _; do
  [[ $name != \#* && " $* " == *" $name "* ]] || continue
  if [[ ${why:-} || ! -e $cache/userland.cpio ]] || ! kernel "$name" "$suite" "$package"; then
    mkdir -p "$cache/$name"
    printf '%s\n' "${why:-unknown}" >"$cache/$name/skip"
    echo "$name: skipped: ${why:-unknown}"
  else
    echo "$name: $(cat "$cache/$name/version")"
  fi
done <"$here/kernels.txt"
