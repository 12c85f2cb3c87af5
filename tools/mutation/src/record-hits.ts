// Imported by the setup file of a sandbox: writes which functions with probes each test file calls.
import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { HIT_EVENT } from "./hit-event.ts";

const folder = process.env.STACKWRIGHT_HITS;
if (folder !== undefined) {
  // Files that share a worker share its process object, and each has a set of its own.
  process.removeAllListeners(HIT_EVENT);
  const hits = new Set<string>();
  process.on(HIT_EVENT, (hit: string) => hits.add(hit));
  afterAll(() => {
    const test = expect.getState().testPath ?? "";
    const name = createHash("sha256").update(test).digest("hex");
    writeFileSync(join(folder, `${name}.json`), JSON.stringify({ test, hits: [...hits] }));
  });
}
