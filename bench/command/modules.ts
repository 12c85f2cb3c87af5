import { spawnSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { independent } from "./commands.ts";
import { installBuilt } from "./installation.ts";

/* How many modules a command loads, and from which packages: what its start is made of. */

const HOOK = `
import { registerHooks } from "node:module";
const found = new Map();
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const name = /.*node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1] ?? "node";
    const entry = found.get(name) ?? { modules: 0, bytes: 0 };
    entry.modules += 1;
    entry.bytes += loaded.source?.length ?? 0;
    found.set(name, entry);
    return loaded;
  },
});
process.on("exit", () => console.error(JSON.stringify([...found])));
`;

const root = join(import.meta.dirname, "../..");
const scratch = await mkdtemp(join(tmpdir(), "command-modules-"));
try {
  const command = await installBuilt(root, join(scratch, "installed"));
  await writeFile(join(scratch, "hook.mjs"), HOOK);
  await writeFile(join(scratch, "main.tf"), independent(1));
  for (const words of process.argv.length > 2
    ? [process.argv.slice(2)]
    : [["version"], ["validate"], ["plan"]]) {
    const { stderr } = spawnSync(
      process.execPath,
      ["--import", join(scratch, "hook.mjs"), command, ...words],
      { cwd: scratch, encoding: "utf8", env: { PATH: process.env.PATH, HOME: scratch } },
    );
    const last = stderr.trim().split("\n").at(-1) ?? "[]";
    const found = JSON.parse(last) as [
      string,
      { readonly modules: number; readonly bytes: number },
    ][];
    const total = found.reduce((sum, [, { modules }]) => sum + modules, 0);
    console.log(`${words.join(" ")}: ${total} modules`);
    for (const [name, { modules, bytes }] of found.toSorted((a, b) => b[1].bytes - a[1].bytes)) {
      console.log(
        `  ${name.padEnd(32)}${String(modules).padStart(6)}${`${(bytes / 1024).toFixed(0)} KiB`.padStart(12)}`,
      );
    }
  }
} finally {
  await rm(scratch, { recursive: true, force: true });
}
