#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Congestion control of one's own: the command of `cc --help` compiles the examples with gcc and clang, as C and as C++; they run
# in virtual time and are in the series; a crash, a hang and another version are said with the name of the file.
. "$(dirname "$0")/lib.sh"
need jq gcc
run() { "$XDP_ROCE" --json run "$@"; }
include=$here/../../include
plugins=$here/../../tools/plugins

# compile COMPILER OUT SOURCE [OPTION...]: the words of the help, with where the header is.
compile() {
  local compiler=$1 out=$2 source=$3
  shift 3
  "$compiler" -shared -fPIC -O2 -Wall -Wextra -Werror -I "$include" "$@" -o "$out" "$source"
}
"$XDP_ROCE" cc --help >"$scratch/help"
grep -q 'gcc -shared -fPIC -O2 -o my.so my.c' "$scratch/help" || fail "the help does not say how to compile one"

cat >"$scratch/incast.yaml" <<'END'
experiment: own algorithm
duration: 60ms
sample: 500us
vars: {step: 40mbit}
topology: {star: {senders: 2, rate: 10gbit, delay: 1us}}
queue: {words: "buffer 4MB red 5k 200k 1%"}
congestion: {plugin: {file: aimd.so, step: "{step}"}}
flows:
  - {from: all, to: receiver, words: "write size 1G"}
expect:
  - "sum(flows.drops) == 0"
END
cd "$scratch"
for compiler in gcc clang; do
  [[ $(command -v "$compiler") ]] || continue
  compile "$compiler" aimd.so "$plugins/aimd.c"
  compile "$compiler" delay.so "$plugins/delay.c"
  exits 0 run incast.yaml --out "with-$compiler"
  assert_json last.out '.verdict == "pass" and .totals.cnps > 10 and .totals.cuts > 10'
  cut -d, -f2- "with-$compiler/series.csv" >"series-$compiler"
done
[[ ! -e series-clang ]] || cmp series-gcc series-clang || fail "two compilers, two results"

# C++ is possible, too.
sed 's/malloc(sizeof \*a)/static_cast<aimd *>(malloc(sizeof *a))/; s/\*a = (struct aimd){\(.*\)};/*a = aimd{\1};/
  s/struct aimd \*a = state/auto *a = static_cast<aimd *>(state)/; s/^const struct xdp_roce_algorithm \*xdp/extern "C" &/' \
  "$plugins/aimd.c" >aimd.cpp
compile g++ aimd.so aimd.cpp -x c++ -std=c++20 -Wno-missing-field-initializers
exits 0 run incast.yaml --out with-c++
cut -d, -f2- with-c++/series.csv | cmp - series-gcc || fail "as C++ another result"

# A parameter makes a difference; values of the algorithm are in the series and in expectations.
exits 0 run incast.yaml --set step=400mbit
assert_json last.out '.totals.cnps > 10'
exits 0 run incast.yaml --set congestion="plugin delay.so target=15us" --set "expect=[\"min(flows.goodput_bps) > 0\"]" --out delay
grep -q ',flow,flow-1,window_bytes,' delay/series.csv || fail "no window in the series"

# What is refused, and what ends a run.
compile gcc version.so "$here/../unit/plugins/bad.c" -DVERSION
compile gcc crash.so "$here/../unit/plugins/bad.c" -DCRASH
compile gcc hang.so "$here/../unit/plugins/bad.c" -DHANG
misused 'version 99 of xdp-roce/congestion.h, this is 1' "$XDP_ROCE" run incast.yaml --set congestion="plugin version.so"
misused 'nosuch.so: cannot be loaded' "$XDP_ROCE" run incast.yaml --set congestion="plugin nosuch.so"
misused "'stop' is not a parameter" "$XDP_ROCE" run incast.yaml --set congestion="plugin aimd.so stop=1"
for bad in 'crash SIGSEGV' 'hang hangs'; do
  timeout 60 "$XDP_ROCE" run incast.yaml --set congestion="plugin ${bad% *}.so" >bad.out 2>bad.err && fail "${bad% *}: it ended well"
  grep -q "plug-in ${bad% *}.so .*${bad#* }" bad.err || fail "${bad% *}: $(cat bad.err)"
done
# Where hpcc runs, and which others there are.
misused 'copa or plugin is missing' "$XDP_ROCE" run incast.yaml --set congestion=bbr
"$XDP_ROCE" cc list >list.out
grep -q '^hpcc ' list.out || fail "no hpcc: $(cat list.out)"
exits 0 run incast.yaml --set congestion=hpcc
assert_json last.out '.totals.drops == 0'
"$XDP_ROCE" cc show plugin aimd.so >show.out
grep -q '^step .*40 Mbit/s' show.out || fail "cc show plugin: $(cat show.out)"
