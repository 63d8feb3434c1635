#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run_names.sh PROGRAM: `run NAME` is the installed experiment, also where a file or a directory has its name.
set -eu
program=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
for make in "mkdir incast" "touch incast"; do
  rm -rf incast
  $make
  "$program" --json run incast --set "sweep={}" --set measure.from=0s --set duration=2ms --set "expect=[]" >out 2>err || [ $? -eq 3 ] || {
    cat err
    exit 1
  }
  grep -q "^note: run: runs the installed experiment 'incast', not ./incast$" err || {
    cat err
    exit 1
  }
done
# A path, and a name with an ending, are the file.
for name in ./incast ./none.yaml; do
  if "$program" run "$name" >out 2>err; then
    echo "$name ran"
    exit 1
  fi
  if grep "the installed experiment" err; then
    exit 1
  fi
done
