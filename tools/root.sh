# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the tools, with $root set: how they get root where they need it, and how build/ stays the
# property of the tree's owner.

can_be_root() { ((EUID == 0)) || command -v sudo >/dev/null; }
# As root: at once, or through sudo.
as_root() {
  if ((EUID == 0)); then "$@"; else sudo -- "$@"; fi
}
# How to run a command as root where there is no sudo.
without_sudo() { printf "there is no sudo: run it as root, for example: su -c '%s'" "$*"; }

# What root has built or tested is given back.
give_build_back() {
  [[ ! -d $root/build ]] || as_root chown -R --no-dereference --reference="$root" "$root/build"
}
# Before a user builds: root's files of a run that was killed, or of an older release, are in the way.
take_build() {
  ((EUID != 0)) || return 0
  [[ -n $(find "$root/build" ! -user "$EUID" -print -quit 2>/dev/null) ]] || return 0
  can_be_root || {
    printf 'some of %s belongs to root; %s\n' "$root/build" "$(without_sudo "chown -R $EUID $root/build")" >&2
    return 1
  }
  give_build_back
}
