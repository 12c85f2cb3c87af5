import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "../testing/start-server-process.ts";

// apps/engine/docs/pull-requests.md as a reader follows it: its commands as they are written there, with other ports.

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "../main.ts");
const COMMAND = join(import.meta.dirname, "../../../cli/bin/stackwright.mjs");
const PAGE = join(import.meta.dirname, "../../docs/pull-requests.md");

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => void server.close(resolve));
  return port;
}

it("the page leads from an empty server to an applied pull request, and back to terraform", {
  timeout: 180_000,
}, async (context) => {
  for (const [program, ...words] of [
    ["curl", "--version"],
    ["git", "--version"],
    ["perl", "-MDigest::SHA", "-e", "1"],
    [process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform", "version"],
  ] as const) {
    const isThere = await run(program, words).then(
      () => true,
      () => false,
    );
    context.skip(!isThere, `the walk of the page needs ${program}, which is not installed`);
  }
  const scratch = await mkdtempDisposable(join(tmpdir(), "pull-requests-page-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  const page = await readFile(PAGE, "utf8");
  const [walk = ""] = page.split("\n## What is affected\n");
  const [serve = "", ...blocks] = [...walk.matchAll(/^```sh\n(.*?)^```$/gms)].map(
    ([, content = ""]) => content,
  );
  expect(blocks).toHaveLength(7);
  const storagePort = await freePort();
  const words = serve.trim().replace("7401", String(storagePort)).split(" ").slice(2);
  const { url } = await startServerProcess(MAIN, words, { cwd: folder });
  await mkdir(join(folder, "bin"));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`;
  await writeFile(join(folder, "bin/stackwright"), program, { mode: 0o755 });
  const script = blocks
    .join("\n")
    .replaceAll("http://127.0.0.1:7400", url)
    .replaceAll("127.0.0.1:7401", `127.0.0.1:${storagePort}`);
  const terraform = process.env["STACKWRIGHT_TERRAFORM"];
  const path = [join(folder, "bin"), dirname(process.execPath), process.env["PATH"]];
  if (terraform !== undefined) path.splice(1, 0, dirname(terraform));
  await run("bash", ["-ec", script], {
    cwd: folder,
    timeout: 150_000,
    env: { HOME: folder, CHECKPOINT_DISABLE: "1", GIT_CONFIG_NOSYSTEM: "1", PATH: path.join(":") },
  });
  const comment = await readFile(join(folder, "comment.md"), "utf8");
  expect(comment).toContain("## Stackwright: 1 stack is affected");
  expect(comment).toContain("| `web` | 1 to add, 0 to change, 0 to destroy, run 1 |");
  expect(comment).toContain("module.hello.terraform_data.word");
  expect(JSON.parse(await readFile(join(folder, "merged.json"), "utf8"))).toMatchObject({
    state: "merged",
    apply_requested_by: "merge",
    applies: [{ stack: "web" }],
  });
  expect(await readFile(join(folder, "terraform.txt"), "utf8")).toContain("No changes.");
});
