#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Public test suites of the Open Traffic Generator against `serve`, with the stock client. XR_OTG_SUITES: the folder with their checkouts, as the
# head of tests/otg/suites.py makes it; XR_PYTHON: a Python with the client's modules; XR_SUITES_ONLY: SUITE/FILE, with * and ?.
. "$(dirname "$0")/otg_lib.sh"
[[ -n ${XR_OTG_SUITES:-} ]] || skip "needs XR_OTG_SUITES, a folder of public suites"
[[ -e $XR_OTG_SUITES/snappi/snappi/snappi.py ]] || skip "needs the client snappi in $XR_OTG_SUITES/snappi/snappi"
python=${XR_PYTHON:-/usr/bin/python3}
"$python" -c 'import pytest, dpkt, requests, yaml, semantic_version, google.protobuf, grpc, numpy' 2>"$scratch/modules" ||
  skip "needs Python's modules: $(tail -n 1 "$scratch/modules")"
lane3
direct
# Two more ports between the same namespaces.
ip -n "$left" link add direct2 type veth peer name direct3 netns "$right"
ip -n "$left" link set direct2 up
ip -n "$right" link set direct3 up
ports=("$left/direct0" "$right/direct1" "$left/direct2" "$right/direct3")
serve --ports "$(IFS=,; echo "${ports[*]}")"
status=0
"$python" "$otg_tests/suites.py" --only "${XR_SUITES_ONLY:-*}" "$XR_OTG_SUITES" "$location" "${ports[@]}" 2>"$scratch/last.err" || status=$?
assert_eq 0 "$status" "exit status of the suites ($(grep '^FAIL' "$scratch/last.err" || tail -n 3 "$scratch/last.err"))"
end_serve
