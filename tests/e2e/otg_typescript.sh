#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A stock client against `serve`: openapi-typescript makes it from OTG's published model, the TypeScript compiler checks what the program
# sends and reads, and openapi-fetch does the calls. Their packages come from npm's registry.
. "$(dirname "$0")/otg_lib.sh"
need npm node
model=${XR_OTG_SCHEMA:-$here/../../../shared/otg}/openapi.yaml
[[ -e $model ]] || skip "needs OTG's published model: $model"
mkdir "$scratch/client"
cp "$otg_tests/client.ts" "$scratch/client"
cd "$scratch/client"
timeout 100 npm install --no-audit --no-fund --fetch-retries 0 --fetch-timeout 20000 openapi-typescript@7.13.0 openapi-fetch@0.17.0 \
  typescript@5 >"$scratch/npm" 2>&1 || skip "needs npm's registry: $(tail -n 1 "$scratch/npm")"
keep node_modules/.bin/openapi-typescript "$model" --default-non-nullable false -o otg.d.ts || fail "openapi-typescript"
keep node_modules/.bin/tsc --strict --skipLibCheck --module nodenext --moduleResolution nodenext --target es2022 client.ts || fail "the compiler"
cd /
lane3
direct
serve
keep node "$scratch/client/client.js" "$location" "$left/direct0" "$right/direct1" || fail "the client"
cat "$scratch/last.out"
end_serve
