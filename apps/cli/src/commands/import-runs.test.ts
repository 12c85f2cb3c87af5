import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("a run of a server imports what the command names", { timeout: 120_000 }, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "import-runs-"));
  onTestFinished(() => scratch.remove());
  const text = 'resource "terraform_data" "b" { for_each = toset(["x=y"]) }';
  await writeFile(join(scratch.path, "main.tf"), text);
  const { server, token } = await startServer("in-process");
  const start = async (...words: string[]) =>
    tryCommand(["runs", "start", "--stack", "web/one", "--yes", ...words], {
      cwd: scratch.path,
      env: {
        HOME: scratch.path,
        STACKWRIGHT_SERVER: server.url,
        STACKWRIGHT_TOKEN: token,
      },
    });
  const made = await start("--import", 'terraform_data.b["x=y"]=id=1');
  expect([made.code, made.error]).toEqual([0, ""]);
  const client = createServerClient({ server: server.url, token });
  const { runs } = (await client.listRuns({ project: "web", stack: "one" })).data;
  expect(runs).toMatchObject([
    { mode: "import", imports: [{ address: 'terraform_data.b["x=y"]', id: "id=1" }] },
  ]);
  for (const words of [
    ["--import", "terraform_data.b"],
    ["--import", "a.b=1", "--destroy"],
  ]) {
    expect((await start(...words)).code).toBe(1);
  }
});
