#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [--write] [PROGRAM]: the Helm chart of tools/kubernetes. What its templates make of several values is valid by Kubernetes' published
# schemas, whose packages come from npm's registry; values that would open the exporter are refused; tools/kubernetes/*.yaml are what
# the chart makes of its defaults (--write makes them, with the version of CMakeLists.txt); PROGRAM takes the arguments of the containers.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$here/../..
folder=$root/tools/kubernetes chart=$root/tools/kubernetes/chart
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

export GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS='' GOCACHE=${GOCACHE:-$root/build/gocache}
command -v go >/dev/null || skip "needs golang-go"
[[ -d $GOPATH/src/github.com/Masterminds/sprig && -d $GOPATH/src/gopkg.in/yaml.v3 ]] ||
  skip "needs golang-github-masterminds-sprig-dev and golang-gopkg-yaml.v3-dev"
# Distributions differ in where sprig is.
sprig=github.com/Masterminds/sprig
[[ ! -d $GOPATH/src/$sprig/v3 ]] || sprig+=/v3
sed "s#\"github.com/Masterminds/sprig\"#\"$sprig\"#" "$here/render.go" >"$scratch/render.go"
go build -o "$scratch/render" "$scratch/render.go" || fail "render.go"
render() { "$scratch/render" "$chart" xdp-roce "$@"; }

version=$(sed -n 's/^project(xdp-roce VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
write=
if [[ ${1:-} == --write ]]; then
  write=yes
  shift
  sed -i -E "s/^(version|appVersion): .*/\1: $version/" "$chart/Chart.yaml"
fi
[[ $(grep -cE "^(version|appVersion): ${version//./[.]}\$" "$chart/Chart.yaml") == 2 ]] ||
  fail "Chart.yaml is not of version $version: tests/kubernetes/check.sh --write"

# manifest NAME VALUE...: NAME.yaml is what the chart makes of these values.
manifest() {
  local name=$1
  shift
  {
    printf '# SPDX-License-Identifier: Apache-2.0\n# Made by tests/kubernetes/check.sh --write from chart/, whose values.yaml says what can be changed.\n'
    render "$@"
  } >"$scratch/$name.yaml" || fail "$name.yaml"
  [[ ! $write ]] || cp "$scratch/$name.yaml" "$folder/$name.yaml"
  diff -u "$folder/$name.yaml" "$scratch/$name.yaml" || fail "tools/kubernetes/$name.yaml is not what the chart makes: tests/kubernetes/check.sh --write"
}
manifest exporter
manifest sweep exporter.enabled=false sweep.enabled=true

# What other values make.
made=("$scratch/exporter.yaml" "$scratch/sweep.yaml")
variant() {
  made+=("$scratch/variant${#made[@]}.yaml")
  render "$@" >"${made[-1]}" || fail "refused: $*"
}
variant exporter.address=0.0.0.0 exporter.webConfigSecret=web serviceMonitor.enabled=true serviceMonitor.scheme=https \
  'serviceMonitor.labels={release: prometheus}' \
  'serviceMonitor.endpoint={tlsConfig: {insecureSkipVerify: true}, basicAuth: {username: {name: web, key: user}, password: {name: web, key: password}}}'
[[ $(grep -oE -- '- --(web.config.file|insecure)' "${made[-1]}") == '- --web.config.file' ]] || fail "the web configuration is not used: $(cat "${made[-1]}")"
variant exporter.address='"::"' exporter.insecure=true service.enabled=true exporter.ports=[] 'exporter.tolerations=[{operator: Exists}]' \
  'exporter.exportOptions=[--top-streams, "20"]' exporter.priorityClassName=system-node-critical 'imagePullSecrets=[{name: registry}]' image.tag=1.2.3 \
  exporter.seccompProfile=Unconfined
[[ $(grep -oE -- '- --insecure|"\[::\]:9479"' "${made[-1]}") == '"[::]:9479"'$'\n''- --insecure' ]] || fail "not on all addresses: $(cat "${made[-1]}")"
variant sweep.enabled=true sweep.configMap=files sweep.experiment=mine.yaml 'sweep.options=[--set, duration=5ms]' 'sweep.nodeSelector={a: b}' \
  'sweep.tolerations=[{key: a, operator: Exists}]'

# refused SENTENCE VALUE...
refused() {
  local sentence=$1
  shift
  ! render "$@" >"$scratch/out" 2>"$scratch/err" || fail "not refused: $*"
  grep -qF "$sentence" "$scratch/err" || fail "$*: $(cat "$scratch/err")"
}
refused 'set exporter.webConfigSecret (TLS, users), or exporter.insecure=true' exporter.address=0.0.0.0
refused 'set exporter.webConfigSecret (TLS, users), or exporter.insecure=true' exporter.address=192.0.2.1
refused 'need an exporter.address that Prometheus reaches' service.enabled=true
refused 'need an exporter.address that Prometheus reaches' serviceMonitor.enabled=true exporter.webConfigSecret=web

# No container is privileged, and each has only these capabilities.
! grep -n 'privileged: true' "${made[@]}" || fail "a container is privileged"
capabilities=$(grep -hoE 'add: \[.*\]' "${made[@]}" | sort -u)
[[ $capabilities == 'add: [BPF, NET_ADMIN, PERFMON, SYS_ADMIN]'$'\n''add: [BPF]' ]] || fail "capabilities: $capabilities"

# The words of a container are a right command line: the status is not 2. The ports are none of this machine.
words() { sed -n "/^        - name: $2\$/,/^          [a-z]*Context:/p" "$1" | sed -nE 's/^            - "?([^"]*)"?$/\1/p'; }
if [[ ${1:-} ]]; then
  mapfile -t attach < <(words "$scratch/exporter.yaml" attach)
  [[ ${attach[0]} == attach && ${attach[-1]} == tap0 ]] || fail "the words of attach: ${attach[*]}"
  status=0
  "$1" "${attach[@]/#tap0/none0}" 2>"$scratch/err" || status=$?
  ((status == 1)) || fail "exit status $status of ${attach[*]}: $(cat "$scratch/err")"
  mapfile -t export < <(words "$scratch/exporter.yaml" export | grep -v '^metrics$')
  status=0
  "$1" "${export[@]}" none0 --once >/dev/null 2>"$scratch/err" || status=$?
  ((status != 2)) || fail "exit status $status of ${export[*]}: $(cat "$scratch/err")"
  # Two pods of a sweep, and what they left as one.
  render exporter.enabled=false sweep.enabled=true sweep.experiment="$root/tests/kubernetes/sweep_test.yaml" sweep.parts=2 >"$scratch/parts.yaml" || fail "parts"
  for JOB_COMPLETION_INDEX in 0 1; do
    export JOB_COMPLETION_INDEX
    mapfile -t run < <(words "$scratch/parts.yaml" run)
    run=("${run[@]//\$(JOB_COMPLETION_INDEX)/$JOB_COMPLETION_INDEX}")
    "$1" "${run[@]//\/results/$scratch\/results}" >"$scratch/out" 2>&1 || fail "${run[*]}: $(cat "$scratch/out")"
  done
  "$1" run merge "$scratch"/results/* --out "$scratch/merged" >"$scratch/out" 2>&1 || fail "merge: $(cat "$scratch/out")"
  [[ $(python3 -c 'import json, sys; print(len(json.load(open(sys.argv[1]))["points"]))' "$scratch/merged/sweep.json") == 3 ]] ||
    fail "the merged sweep: $(cat "$scratch/out")"
fi

[[ $(type -t node npm) == file$'\n'file ]] || skip "needs npm and node"
cp "$here/validate.mjs" "$scratch"
cd "$scratch" || exit 1
timeout 100 npm install --no-audit --no-fund --fetch-retries 0 --fetch-timeout 20000 kubernetes-models@5.1.0 \
  @kubernetes-models/prometheus-operator@6.0.0 yaml@2 typescript@5 >npm.log 2>&1 || skip "needs npm's registry: $(tail -n 1 npm.log)"
node validate.mjs types.ts "${made[@]}" || fail "not valid"
node_modules/.bin/tsc --noEmit --strict --skipLibCheck --module nodenext --moduleResolution nodenext --target es2022 types.ts || fail "keys that no schema has"
# That check finds a key that is not there.
sed 's/"hostNetwork"/"hostNetwrok"/' types.ts >wrong.ts
! node_modules/.bin/tsc --noEmit --skipLibCheck --module nodenext --moduleResolution nodenext --target es2022 wrong.ts >/dev/null || fail "a wrong key is not found"
