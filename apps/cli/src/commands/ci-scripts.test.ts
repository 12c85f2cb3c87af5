import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const EXAMPLES = fileURLToPath(new URL("../../../../examples/ci/", import.meta.url));

/** Runs a script with a command that writes down how it is called, and reads all of its input. */
async function runScript(
  name: string,
  changed: string,
): Promise<{ readonly failed: boolean; readonly calls: string[] }> {
  await using temporary = await mkdtempDisposable(join(tmpdir(), "ci-scripts-"));
  const folder = temporary.path;
  const command = `#!/bin/sh\nif [ "$1" = ci ]; then ${changed}; exit; fi\necho "$*" >>"${folder}/calls"\ncat >/dev/null\n`;
  await writeFile(join(folder, "stackwright"), command, { mode: 0o755 });
  await writeFile(join(folder, "calls"), "");
  const failed = await promisify(execFile)(
    "sh",
    [join(EXAMPLES, name), "main", join(folder, "summary.md")],
    { env: { PATH: `${folder}:${process.env.PATH ?? ""}` } },
  ).then(
    () => false,
    () => true,
  );
  const calls = await readFile(join(folder, "calls"), "utf8");
  return { failed, calls: calls.split("\n").filter((line) => line !== "") };
}

describe.each(["plan-changed.sh", "apply-changed.sh"])("%s", (name) => {
  it("fails where it is not known what has changed", async () => {
    expect(await runScript(name, "exit 1")).toEqual({ failed: true, calls: [] });
  });

  it("runs for each root module, also where a command reads its input", async () => {
    const { failed, calls } = await runScript(name, String.raw`printf '.\nlive/web\n'`);
    expect(failed).toBe(false);
    const stacks = calls.flatMap((call) => /--stack (\S+) (?:--out|--yes)/.exec(call)?.[1] ?? []);
    expect(stacks).toEqual(["root", "live-web"]);
  });
});
