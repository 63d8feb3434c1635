#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tools/ as a user: they use sudo if it exists, otherwise they print what to do; files that root
# created in build/ get the owner of the tree.
. "$(dirname "$0")/lib.sh"
need_root
need setpriv
tree=$scratch/tree bin=$scratch/bin
user=65534
mkdir -p "$bin" "$tree/build"
cp -r "$here/../../tools" "$tree"
for tool in bash dirname find cat env mktemp rm id grep mkdir chown stat; do
  ln -s "$(command -v $tool)" "$bin/$tool"
done
# A machine on which nothing is installed.
printf '#!/bin/bash\nexit 1\n' >"$bin/dpkg-query"
cp "$bin/dpkg-query" "$bin/apt-get"
chmod +x "$bin"/{dpkg-query,apt-get}
chmod 755 "$scratch"
chown -R $user "$tree"

as_user() { keep setpriv --reuid $user --regid $user --clear-groups env -i "PATH=$bin" HOME=/ bash "$@"; }
# says STATUS WORDS COMMAND...
says() {
  local want=$1 words=$2 status=0
  shift 2
  as_user "$@" || status=$?
  assert_eq "$want" "$status" "exit status of $*"
  grep -q -- "$words" "$scratch/last.err" || fail "$*: '$words' is not in: $(cat "$scratch/last.err")"
}

says 1 "su -c '$tree/tools/setup --test'" "$tree/tools/setup" --test
says 1 "su -c '$tree/tools/demo'" "$tree/tools/demo"
says 1 "su -c '$tree/tools/bench'" "$tree/tools/bench"
says 1 "su -c '$tree/tools/setup --test'" "$tree/tools/test" unit # what is missing is missing for it too

# With sudo: it is asked for the installation alone.
# shellcheck disable=SC2016 # the fake's
printf '#!/bin/bash\necho "sudo: $*" >&2\nexit 7\n' >"$bin/sudo"
chmod +x "$bin/sudo"
says 7 "^sudo: -- bash $tree/tools/setup --test\$" "$tree/tools/setup" --test
says 7 "^sudo: -- bash $tree/tools/setup\$" "$tree/tools/demo"
says 7 "^sudo: -- bash $tree/tools/setup --test\$" "$tree/tools/bench"
rm "$bin/sudo"

# What a previous run as root left.
mkdir "$tree/build/release"
touch "$tree/build/release/of_root"
says 1 "su -c 'chown -R $user $tree/build'" "$tree/tools/test" unit
keep env "root=$tree" bash -c ". '$tree/tools/root.sh'; give_build_back" || fail "give_build_back: $(cat "$scratch/last.err")"
assert_eq "" "$(find "$tree" ! -user $user)" "what is not the owner's"
says 1 "su -c '$tree/tools/setup --test'" "$tree/tools/test" unit
