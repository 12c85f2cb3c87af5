import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "./testing/start-server-process.ts";

// apps/engine/docs/runs.md as somebody follows it: its commands as they are written there, with another port.

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "main.ts");
const PAGE = join(import.meta.dirname, "..", "docs", "runs.md");
const TEMPLATE = `
variable "word" { sensitive = true }
resource "terraform_data" "a" { input = var.word }
resource "terraform_data" "b" { input = terraform_data.a.id }
`;

/** The commands up to the chapter on modes, and those of the variable sets; all others show single options. */
async function commandsOfWalk(): Promise<string[]> {
  const page = await readFile(PAGE, "utf8");
  const [walk = ""] = page.split("\n## Modes\n");
  const [, sets = ""] = /\n## Variable sets\n(.*?)\n## /s.exec(page) ?? [];
  const text = `${walk}\n${sets}`;
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, content = ""]) => content);
}

describe("the page about runs", { timeout: 300_000 }, () => {
  let folder: string;

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "runs-page-"));
    onTestFinished(() => scratch.remove());
    folder = scratch.path;
  });

  it("leads from a configuration to an applied plan with curl alone", async (context) => {
    const hasCurl = await run("curl", ["--version"]).then(
      () => true,
      () => false,
    );
    context.skip(!hasCurl, "the requests of the page are made with curl, which is not installed");
    const [serve = "", ...requests] = await commandsOfWalk();
    expect(requests).toHaveLength(7);
    await writeFile(join(folder, "main.tf"), TEMPLATE);
    const { url } = await startServerProcess(MAIN, serve.trim().split(" ").slice(2), {
      cwd: folder,
    });
    const script = requests.join("\n").replaceAll("http://127.0.0.1:7400", url);
    const { stdout } = await run("sh", ["-ec", script], {
      cwd: folder,
      timeout: 240_000,
      env: { HOME: folder, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` },
    });
    expect(JSON.parse(stdout)).toMatchObject({
      phase: "applied",
      number: 1,
      message: "the first run",
    });

    const plan = await readFile(join(folder, "plan.json"), "utf8");
    expect(JSON.parse(plan)).toMatchObject({
      format: "stackwright.plan/1",
      summary: { create: 2 },
      changes: expect.arrayContaining([expect.objectContaining({ address: "terraform_data.b" })]),
    });
    const events = await readFile(join(folder, "events.txt"), "utf8");
    const ids = [...events.matchAll(/^id: .*:([0-9]+)$/gm)].map(([, seq]) => Number(seq));
    expect(ids).toEqual(ids.map((_, index) => index + 1));
    expect(events.trimEnd().split("\n\n").at(-1)).toContain("event: end");
    expect(events).toContain('"type":"step-end","address":"terraform_data.a"');
    expect(JSON.parse(await readFile(join(folder, "effective.json"), "utf8"))).toMatchObject({
      variables: [
        { key: "word", origin: "stack", sensitive: true },
        { key: "TOKEN", origin: "set", set: "shared", sensitive: true },
      ],
    });
    // Of the account, for projects that are called otherwise.
    expect(JSON.parse(await readFile(join(folder, "account-set.json"), "utf8"))).toMatchObject({
      name: "baseline",
      priority: true,
    });
    // What is sensitive is in no answer.
    for (const name of [
      "set-variable.json",
      "effective.json",
      "plan.json",
      "events.txt",
      "variable.json",
      "run.json",
    ]) {
      expect(await readFile(join(folder, name), "utf8")).not.toContain("s3cret");
    }
  });
});
