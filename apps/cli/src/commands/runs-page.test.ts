import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { spawnCommand } from "../testing/spawned-command.ts";

// docs/runs.md as a reader follows it: its commands as they are written there, with another port.

const PAGE = join(import.meta.dirname, "../../docs/runs.md");
const COMMAND = join(import.meta.dirname, "../../bin/stackwright.mjs");

it("the page about runs leads from a login to a run that is requested again", {
  timeout: 240_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "runs-page-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  await mkdir(join(folder, "network"));
  await writeFile(join(folder, "network/main.tf"), 'resource "terraform_data" "a" { input = 1 }\n');
  await mkdir(join(folder, "bin"));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${COMMAND}' "$@"\n`;
  await writeFile(join(folder, "bin/stackwright"), program, { mode: 0o755 });

  const text = await readFile(PAGE, "utf8");
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, content = ""]) => content);
  const [serve = "", ...others] = blocks;
  expect(others).toHaveLength(5);
  const words = [...serve.trim().split(" ").slice(1), "--port", "0"];
  await using server = spawnCommand(words, { cwd: folder });
  const [, url = ""] = await server.waitFor(/The server is at (http:\S+)/);
  const script = others.join("\n").replaceAll("http://127.0.0.1:7400", url);
  const { stdout } = await promisify(execFile)("sh", ["-ec", script], {
    cwd: folder,
    env: {
      HOME: folder,
      PATH: `${join(folder, "bin")}:${dirname(process.execPath)}:${process.env["PATH"]}`,
    },
  });
  expect(stdout).toContain("Created the stack web/network.");
  expect(stdout).toContain("Run 1 waits for approval.");
  expect(stdout).toContain("Approved by");
  expect(stdout).toMatch(/Run 1 is applied, revision \d+\./);
  expect(stdout).toContain("Run 2 has no changes");
  expect(stdout).toMatch(/^3 {2}no_changes {2}plan_only/m);
  expect(stdout).toContain("Run 4 is discarded.");
  expect(stdout).toContain("Run 5 has no changes");
  expect(stdout).toContain('region = "south"  # set enforced, before stack, set shared\n');
  expect(stdout).toContain("env TOKEN = (sensitive)  # set shared\n");
  expect(stdout).toContain("enforced: net*, priority, 1 variable\n");
  expect(stdout).not.toContain("s3cret");
  expect(stdout).toContain('The project "web" is frozen until ');
  expect(stdout).toContain('The project "web" is not frozen.');
  const events = (await readFile(join(folder, "events.jsonl"), "utf8")).trim().split("\n");
  expect(JSON.parse(events.at(-1) ?? "")).toMatchObject({ type: "run", run: { number: 3 } });
});
