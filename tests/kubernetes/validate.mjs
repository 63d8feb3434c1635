// SPDX-License-Identifier: Apache-2.0
// validate.mjs TYPES.ts FILE...: each document of the YAML files against the schema that Kubernetes publishes for its kind (as compiled by
// kubernetes-models). It writes TYPES.ts, in which the compiler finds keys that no schema has: those schemas admit any.
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { parseAllDocuments } from "yaml";

const [types, ...files] = process.argv.slice(2);
const folders = {
  "v1": "kubernetes-models/v1",
  "apps/v1": "kubernetes-models/apps/v1",
  "batch/v1": "kubernetes-models/batch/v1",
  "monitoring.coreos.com/v1": "@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1",
};
let source = "", wrong = 0, count = 0;
for (const file of files)
  for (const document of parseAllDocuments(readFileSync(file, "utf8"), { uniqueKeys: true })) {
    const value = document.errors.length ? null : document.toJS();
    const where = `${basename(file)}: ${value?.kind} ${value?.metadata?.name}`;
    try {
      if (!value)
        throw new Error(document.errors.join("; ") || "an empty document");
      const folder = folders[value.apiVersion];
      const Kind = folder && (await import(folder))[value.kind];
      if (!Kind)
        throw new Error(`this test knows no ${value.apiVersion}`);
      new Kind(value).validate();
      source += `import { I${value.kind} as T${count} } from "${folder}";\nconst of${count}: T${count} = ${JSON.stringify(value, null, 1)};\n`;
      count++;
    } catch (error) {
      console.log(`${where}: ${error.message}`);
      wrong++;
    }
  }
writeFileSync(types, source);
console.log(`${count} documents are valid, ${wrong} are not`);
process.exit(wrong || !count ? 1 : 0);
