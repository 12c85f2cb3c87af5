import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { type FunctionRow, startPlatform, urnOf } from "./platform.ts";

// A private provider from its code to addresses in use: it runs as a function, is registered, and is used by the
// same template in HCL and in JSON.
const say = (text: string) => process.stdout.write(`${text}\n`);
const here = import.meta.dirname;
const folder = await mkdtemp(join(tmpdir(), "private-provider-"));
try {
  const file = await readFile(join(here, "functions.json"), "utf8");
  const { functions } = JSON.parse(file) as { readonly functions: readonly FunctionRow[] };
  const env = { IPAM_FOLDER: join(folder, "pools") };
  await using platform = await startPlatform({
    folder,
    functions: functions.map((row) => ({ ...row, cwd: here, env })),
  });
  say(await platform.register("ipam", "1.0.0", urnOf("ipam")));

  const hcl = await platform.stackwright(join(here, "hcl"), "plan");
  say(hcl);
  assert.equal(await platform.stackwright(join(here, "json"), "plan"), hcl);
  say("The template in JSON has the same plan.\n");

  say(await platform.stackwright(join(here, "hcl"), "up", "--yes"));
  const taken = join(env.IPAM_FOLDER, "10.20.0.0_28");
  say(`Taken: ${(await readdir(taken)).toSorted().join(", ")}`);
  await platform.stackwright(join(here, "json"), "plan", "--detailed-exitcode");
  say("After that neither template has anything to do.\n");

  say(await platform.stackwright(join(here, "json"), "destroy", "--yes"));
  assert.deepEqual(await readdir(taken), []);
} finally {
  await rm(folder, { recursive: true, force: true });
}
