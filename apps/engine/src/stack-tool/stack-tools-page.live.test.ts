import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { startServerProcess } from "../testing/start-server-process.ts";

// apps/engine/docs/stack-tools.md as a reader follows it: its commands as they are written there, with another port and another place of terraform.

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "../main.ts");
const COMMAND = join(import.meta.dirname, "../../../cli/bin/stackwright.mjs");
const PAGE = join(import.meta.dirname, "../../docs/stack-tools.md");
const TERRAFORM = process.env["STACKWRIGHT_TERRAFORM"] ?? "/usr/local/bin/terraform";

it("the page leads from an empty server over an adopted stack back to terraform, whose plan is empty", {
  timeout: 240_000,
}, async (context) => {
  for (const [program, ...words] of [
    ["curl", "--version"],
    [TERRAFORM, "version"],
  ] as const) {
    const isThere = spawnSync(program, words).status === 0;
    context.skip(!isThere, `the walk of the page needs ${program}, which is not installed`);
  }
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stack-tools-page-"));
  const folder = scratch.path;
  const page = await readFile(PAGE, "utf8");
  const [, rest = ""] = page.split("\n## From terraform to the engine, and back\n");
  const [walk = ""] = rest.split("\n## ");
  const [serve = "", ...blocks] = [...walk.matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, content = ""]) => content,
  );
  expect(blocks).toHaveLength(3);
  const words = serve.trim().replace("/usr/local/bin/terraform", TERRAFORM).split(" ").slice(2);
  const env = { CHECKPOINT_DISABLE: "1" };
  const { url } = await startServerProcess(MAIN, words, { cwd: folder });
  await mkdir(join(folder, "bin"));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`;
  await writeFile(join(folder, "bin/stackwright"), program, { mode: 0o755 });
  const places = [join(folder, "bin"), dirname(TERRAFORM), dirname(process.execPath)];
  await run("bash", ["-ec", blocks.join("\n").replaceAll("http://127.0.0.1:7400", url)], {
    cwd: folder,
    timeout: 200_000,
    env: { ...env, HOME: folder, PATH: [...places, process.env["PATH"]].join(":") },
  });
  const shown = async (name: string) => readFile(join(folder, name), "utf8");
  expect(await shown("engine.txt")).toContain("has no changes");
  expect(await shown("terraform.txt")).toContain("No changes.");
});
