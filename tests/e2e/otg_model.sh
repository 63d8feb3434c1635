#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What docs/otg.md says that `serve` takes of OTG's model is what it takes. XR_WRITE=1 writes it there.
. "$(dirname "$0")/otg_lib.sh"
need python3
lane3
direct
cp "$here/../../docs/otg.md" "$scratch/otg.md"
judged_server model_table.py "$left/direct0" "$right/direct1" "$scratch/otg.md" ${XR_WRITE:+--write}
end_serve
[[ ! ${XR_WRITE:-} ]] || cp "$scratch/otg.md" "$here/../../docs/otg.md"
