import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openBackend } from "./open-backend.ts";
import type { LockRecord, StateBackend } from "./state-backend.ts";

function record(ID: string, Info = ""): LockRecord {
  const Created = "2026-01-01T00:00:00Z";
  return {
    ID,
    Operation: "adopt",
    Info,
    Who: `ann@${hostname()}`,
    Version: "1",
    Created,
    Path: "",
  };
}

async function place(): Promise<{
  readonly directory: string;
  readonly open: () => Promise<StateBackend>;
}> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "local-backend-"));
  onTestFinished(() => scratch.remove());
  const directory = scratch.path;
  writeFileSync(join(directory, "terraform.tfstate"), "the state");
  return {
    directory,
    open: async () => openBackend({ type: "local", values: {} }, { directory, env: {} }),
  };
}

describe("the lock of a state file", () => {
  it("is held by one of two backends", async () => {
    const { directory, open } = await place();
    await using one = await open();
    await using two = await open();
    const held = await one.lock("default", record("one"));
    await expect(two.lock("default", record("two"))).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_LOCKED",
      message: expect.stringContaining("ID one"),
    });
    await held.release();
    await (await two.lock("default", record("two"))).release();
    expect(readdirSync(directory)).toEqual(["terraform.tfstate"]);
  });

  it("is taken from a process that ended, and not from one that runs", async () => {
    const { directory, open } = await place();
    const child = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: "pipe" });
    await once(child, "spawn");
    const info = join(directory, ".terraform.tfstate.lock.info");
    writeFileSync(info, JSON.stringify(record("other", `process ${child.pid}`)));
    await using backend = await open();
    const lock = async () => backend.lock("default", record("own"));
    await expect(lock()).rejects.toMatchObject({ code: "TFSTATE_BACKEND_LOCKED" });
    child.stdin.end();
    await once(child, "exit");
    const held = await lock();
    expect(readFileSync(info, "utf8")).toContain('"own"');
    await held.release();
    expect(readdirSync(directory)).toEqual(["terraform.tfstate"]);
  });
});

it("never overwrites the copy of an adopted state", async () => {
  const { directory, open } = await place();
  await using backend = await open();
  const marker = Buffer.from("a marker");
  await backend.retire?.("default", "adopted-7", marker);
  const kept = join(directory, "terraform.tfstate.adopted-7");
  await expect(backend.retire?.("default", "adopted-7", marker)).rejects.toThrow("another state");
  expect(readFileSync(kept, "utf8")).toBe("the state");
  expect(readdirSync(directory).toSorted()).toEqual([
    "terraform.tfstate",
    "terraform.tfstate.adopted-7",
  ]);
});

it.each(["..", ".", "", "../x", "a/b", "a\\b", "a\0"])(
  "reads no workspace with the name %j, which is no folder below",
  async (workspace) => {
    const open = { type: "local", values: {} };
    await using backend = await openBackend(open, { directory: tmpdir(), env: {} });
    await expect((async () => backend.read(workspace))()).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_INVALID",
    });
  },
);
