/*
 * Writes what the reference command says to the cases:
 * node tools/servers/src/main.ts exec --servers none --tools terraform-provider-lab,terraform-provider-archive -- \
 *   node packages/core/src/testing/misuse/record.ts
 */

import { writeFile } from "node:fs/promises";
import { commandMissing, commandVerdict } from "./command-verdict.ts";
import type { MisuseVerdict } from "./misuse-case.ts";
import { MISUSE_CASES } from "./misuse-cases.ts";
import { RECORDED_VERDICTS } from "./recorded-verdicts.ts";

const missing = await commandMissing();
if (missing !== undefined) throw new Error(missing);
const verdicts: Record<string, MisuseVerdict> = {};
for (const one of MISUSE_CASES) {
  if (Object.hasOwn(verdicts, one.name)) throw new Error(`two cases are called ${one.name}`);
  // One after the other: each starts programs of its own.
  // oxlint-disable-next-line no-await-in-loop
  verdicts[one.name] = await commandVerdict(one);
}
await writeFile(RECORDED_VERDICTS, `${JSON.stringify(verdicts, undefined, 2)}\n`);
