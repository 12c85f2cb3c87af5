import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { createRuns, openStore, type Run, StackDirectory } from "@stackwright/core";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

describe("runs of the command", () => {
  let cwd: string;
  const run = async (...words: string[]): Promise<CommandResult> => tryCommand(words, { cwd });

  /** What is written down, the oldest first. */
  async function runs(): Promise<readonly Run[]> {
    await using store = await openStore(
      { kind: "sqlite", directory: join(cwd, ".stackwright", "store") },
      { readOnly: true, blobDirectory: join(cwd, ".stackwright", "blobs") },
    );
    const project = { account: "default", project: "default" };
    const stack = await new StackDirectory(store).find(project, "default");
    if (stack === undefined) throw new Error("there is no stack");
    const options = { storage: store.storage, scheduler: systemClock, token: () => "" };
    return await createRuns(stack.reference, options).list();
  }

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-runs-"));
    await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" { input = 1 }\n');
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("are written down to their ends", async () => {
    await run("up");
    expect(await runs()).toMatchObject([{ phase: "discarded" }]);
    await run("up", "--yes");
    await run("up", "--yes");
    await run("plan");
    expect(await runs()).toMatchObject([
      { phase: "discarded" },
      { phase: "applied", revision: 2n, cause: expect.stringMatching(/^user:/) as string },
      { phase: "no_changes" },
    ]);
  });

  it("begin with an approved plan where it was kept", async () => {
    await run("plan", "--out", "p");
    expect(await runs()).toEqual([]);
    await run("up", "p");
    expect(await run("up", "p")).toMatchObject({ code: 1 });
    expect(await runs()).toMatchObject([{ phase: "applied" }, { phase: "superseded" }]);
  });
});
