import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  countingStore,
  MemoryBlobs,
  type StoreCalls,
  TEST_PROGRAMS,
} from "@stackwright/core/testing";
import { startServer } from "@stackwright/proto/grpc";
import { createBlobsService } from "@stackwright/storage/blob/remote";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createStorageService } from "@stackwright/storage/remote";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/* How often a command starts and asks a provider, and reads the state. */

const template = (count: number): string => `
terraform {
  required_providers {
    notes = { source = "example.com/acme/notes" }
  }
}
resource "notes_note" "n" {
  count = ${count}
  name  = "note-\${count.index}"
  text  = "hello"
}
`;

describe("a command", () => {
  let stack: AsyncDisposableStack;
  let cwd: string;
  let env: NodeJS.ProcessEnv;
  let calls: StoreCalls;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    cwd = await mkdtemp(join(tmpdir(), "stackwright-sharing-"));
    stack.defer(async () => rm(cwd, { recursive: true, force: true }));
    for (const folder of ["program", "notes"]) await mkdir(join(cwd, folder));
    const program = TEST_PROGRAMS.loggedProgram;
    await writeFile(
      join(cwd, "program/terraform-provider-notes"),
      `#!/bin/sh\nexec "${process.execPath}" "${program}"\n`,
      { mode: 0o755 },
    );
    await writeFile(
      join(cwd, "rc"),
      `provider_installation {\n  dev_overrides { "example.com/acme/notes" = "${cwd}/program" }\n}\n`,
    );
    const counting = countingStore(createMemoryStorage());
    calls = counting.calls;
    const authorize = () => ({ scopes: "all" }) as const;
    const server = stack.use(
      await startServer({
        services: [
          createStorageService({ storage: counting.storage, authorize }),
          createBlobsService({ blobs: new MemoryBlobs(), authorize }),
        ],
      }),
    );
    const { address } = server;
    if (!("port" in address)) throw new Error("the server listens on a port");
    env = {
      PATH: process.env.PATH,
      HOME: cwd,
      TF_CLI_CONFIG_FILE: join(cwd, "rc"),
      NOTES: join(cwd, "notes"),
      NOTES_LOG: join(cwd, "log"),
      STACKWRIGHT_STORE: `stackwright://${address.host}:${address.port}`,
      STACKWRIGHT_TOKEN: "t",
    };
  });

  afterEach(async () => stack.disposeAsync());

  /** What one command did, and how it ended. */
  async function observe(words: readonly string[]) {
    await rm(join(cwd, "log"), { force: true });
    calls.clear();
    const { code, error } = await tryCommand(words, { cwd, env });
    const lines = (await readFile(join(cwd, "log"), "utf8").catch(() => "")).split("\n");
    const times = (what: string): number =>
      lines.filter((line) => line.startsWith(`${what} `)).length;
    return {
      code,
      error,
      starts: times("start"),
      schemas: times("schema"),
      configurations: times("configure"),
      applies: times("apply"),
      lists: calls.of("list", "StateObject"),
    };
  }

  const once = { code: 0, starts: 1, schemas: 1, configurations: 1, lists: 1 };

  it("starts, asks and configures a provider once, and reads the state once", {
    timeout: 120_000,
  }, async () => {
    await writeFile(join(cwd, "main.tf"), template(3));
    expect(await observe(["plan", "--out", "first"])).toMatchObject({ ...once, code: 0 });
    expect(await observe(["up", "first"])).toMatchObject({ ...once, applies: 3 });
    await writeFile(join(cwd, "main.tf"), template(5));
    expect(await observe(["up", "--yes"])).toMatchObject({ ...once, applies: 2 });
    await rm(join(cwd, "notes/note-0"));
    expect(await observe(["refresh", "--yes"])).toMatchObject({ ...once, applies: 0 });
    expect(await observe(["destroy", "--yes"])).toMatchObject(once);
  });
});
