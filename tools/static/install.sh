#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh [PREFIX]: copies the program, its manual, experiments and units to PREFIX (/usr/local).
# install.sh --remove [PREFIX]: takes them away again, after it has detached what is attached.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
remove=
case ${1:-} in
  -h | --help) sed -n '3,4s/^# //p' "$0"; exit 0 ;;
  --remove) remove=1 && shift ;;
  -*) echo "install.sh: what is $1? install.sh [--remove] [PREFIX]" >&2; exit 2 ;;
esac
prefix=${1:-/usr/local}
[ "$(cd "$prefix" 2>/dev/null && pwd)" != "$here" ] || { echo "install.sh: $prefix is this folder: name another" >&2; exit 2; }
list=$prefix/share/xdp-roce/installed
files() { (cd "$here" && find bin lib include share ! -type d | LC_ALL=C sort); }
if [ "$remove" ]; then
  [ -e "$list" ] || { echo "install.sh: nothing was installed at $prefix: there is no $list" >&2; exit 1; }
  [ "$(id -u)" != 0 ] || "$prefix/bin/xdp-roce" detach --all >/dev/null || true
  while read -r file; do
    rm -f "$prefix/$file"
    dir=$(dirname "$file")
    while [ "$dir" != . ] && rmdir "$prefix/$dir" 2>/dev/null; do dir=$(dirname "$dir"); done
  done <"$list"
  rm -f "$list"
  rmdir "$prefix/share/xdp-roce" "$prefix/share" 2>/dev/null || true
  exit 0
fi
[ -d "$prefix" ] || mkdir -p "$prefix"
[ -w "$prefix" ] || { echo "install.sh: $prefix cannot be written: sudo $0 $prefix, or $0 \$HOME/.local" >&2; exit 1; }
files | while read -r file; do
  mkdir -p "$prefix/$(dirname "$file")"
  # A program that runs is replaced, not written to.
  cp -p "$here/$file" "$prefix/$file.new"
  mv -f "$prefix/$file.new" "$prefix/$file"
done
# systemd looks only in some of the folders where a program may be.
for unit in "$prefix"/lib/systemd/system/xdp-roce*.service; do
  sed "s|=xdp-roce |=$prefix/bin/xdp-roce |" "$unit" >"$unit.new"
  mv -f "$unit.new" "$unit"
done
files >"$list"
echo "installed in $prefix: $("$prefix/bin/xdp-roce" --version | head -n 1)"
case :$PATH: in
  *:"$prefix/bin":*) ;;
  *) echo "$prefix/bin is not in PATH" >&2 ;;
esac
