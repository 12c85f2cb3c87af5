import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import type * as FileSystem from "node:fs/promises";
import { mkdtempDisposable } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { openBackend } from "./open-backend.ts";
import type { LockRecord } from "./state-backend.ts";

vi.mock("node:fs/promises", async (load) => ({
  ...(await load<typeof FileSystem>()),
  link: async () => {
    throw Object.assign(new Error("EPERM: operation not permitted, link"), { code: "EPERM" });
  },
}));

const record = (ID: string): LockRecord => ({
  ID,
  Operation: "adopt",
  Info: "",
  Who: `ann@${hostname()}`,
  Version: "1",
  Created: "2026-01-01T00:00:00Z",
  Path: "",
});

async function place() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "local-backend-"));
  onTestFinished(() => scratch.remove());
  writeFileSync(join(scratch.path, "terraform.tfstate"), "the state");
  return { directory: scratch.path, path: (name: string) => join(scratch.path, name) };
}

it("locks and marks a state on a file system without hard links", async () => {
  const { directory, path } = await place();
  await using one = await openBackend({ type: "local", values: {} }, { directory, env: {} });
  await using two = await openBackend({ type: "local", values: {} }, { directory, env: {} });
  const held = await one.lock("default", record("one"));
  await expect(two.lock("default", record("two"))).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_LOCKED",
    message: expect.stringContaining("ID one"),
  });
  await one.retire?.("default", "adopted-7", Buffer.from("a marker"));
  await held.release();
  await (await two.lock("default", record("two"))).release();
  expect(readFileSync(path("terraform.tfstate.adopted-7"), "utf8")).toBe("the state");
  expect(readFileSync(path("terraform.tfstate"), "utf8")).toBe("a marker");
  expect(readdirSync(directory)).toHaveLength(2);
});

it("takes an empty lock record for one that is being written, for a while", async () => {
  const { directory, path } = await place();
  const info = path(".terraform.tfstate.lock.info");
  await using backend = await openBackend({ type: "local", values: {} }, { directory, env: {} });
  writeFileSync(info, "");
  await expect(backend.lock("default", record("own"))).rejects.toMatchObject({
    code: "TFSTATE_BACKEND_LOCKED",
  });
  utimesSync(info, 0, 0);
  await (await backend.lock("default", record("own"))).release();
  expect(readdirSync(directory)).toEqual(["terraform.tfstate"]);
});

it("completes the copy of a state that an interrupted call left empty", async () => {
  const { directory, path } = await place();
  await using backend = await openBackend({ type: "local", values: {} }, { directory, env: {} });
  writeFileSync(path("terraform.tfstate.adopted-7"), "");
  await backend.retire?.("default", "adopted-7", Buffer.from("a marker"));
  expect(readFileSync(path("terraform.tfstate.adopted-7"), "utf8")).toBe("the state");
});
