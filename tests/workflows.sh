#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# workflows.sh: .github/workflows are valid by the schema of GitHub Actions (action-validator, from npm's registry), call nothing of this
# repository but tools/test and tools/release, and have the permissions that they need only.
set -uo pipefail
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.github/workflows" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

skip() {
  printf 'SKIP: %s\n' "$*"
  exit 77
}
fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

cd "$folder" || exit 1
called=$(sed 's/#.*//' ./*.yml | grep -v 'name: ' | grep -ohE '\b(tools|tests|\.ci|build)/[a-z_/.-]+' | grep -vF build/test/ | sort -u)
[[ $called == $'tools/release\ntools/test' ]] || fail "called: $called"
wrong=$(grep -n 'uses: ' ./*.yml | grep -vE 'uses: actions/[a-z-]+@v[0-9]+$')
[[ ! $wrong ]] || fail "not an action of GitHub's by its major version: $wrong"
for file in *.yml; do
  grep -q '^permissions:' "$file" || fail "$file has no permissions: those of the token would be the repository's"
done
[[ $(grep -ch ': write' ci.yml release.yml | paste -sd ' ') == '0 1' ]] || fail "more than the release is written"

[[ $(type -t node npm) == file$'\n'file ]] || skip "needs npm and node"
cd "$scratch" || exit 1
timeout 100 npm install --no-audit --no-fund --fetch-retries 0 --fetch-timeout 20000 @action-validator/core@0.6.0 @action-validator/cli@0.6.0 \
  >npm.log 2>&1 || skip "needs npm's registry: $(tail -n 1 npm.log)"
for file in "$folder"/*.yml; do
  node_modules/.bin/action-validator "$file" >out 2>&1 || fail "$(basename "$file"): $(cat out)"
done
# It finds a key that is not there.
sed 's/runs-on:/run-on:/' "$folder/ci.yml" >wrong.yml
! node_modules/.bin/action-validator wrong.yml >out 2>&1 || fail "a wrong key is not found"
