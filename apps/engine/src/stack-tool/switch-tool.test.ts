import { randomBytes } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createStackStates,
  createStoredKeys,
  keyEncryptionKey,
  NO_MIRROR,
  StackDirectory,
  type StackOrigin,
} from "@stackwright/core";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { expect, it, onTestFinished } from "vitest";
import { findStackTool } from "../queue/stack-tool.ts";
import { storeStateContent } from "../terraform-state/state-content.ts";
import { addStateVersion, findCurrentVersion } from "../terraform-state/state-versions.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { switchTool } from "./switch-tool.ts";

const { signal } = new AbortController();
const PROJECT = { account: "acme", project: "web" };

const handedBack = (isBack: boolean): StackOrigin => ({
  kind: "state",
  timeMs: 1,
  actor: "ann",
  lineage: "l-1",
  serial: 3n,
  backend: "http",
  place: "http://127.0.0.1/state",
  placeDigest: "",
  workspace: "one",
  sha256: "",
  terraformVersion: "1.11.4",
  acceptedChanges: 0,
  lockId: "",
  renamedTo: "",
  mirror: NO_MIRROR,
  handedBack: isBack,
});

async function* textOf(text: string): AsyncGenerator<Uint8Array, void, undefined> {
  yield Buffer.from(text);
}

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "switch-"));
  onTestFinished(() => scratch.remove());
  const { parts: given, storage } = createRunFixture();
  const blobs = await createDirectoryBlobs({ directory: scratch.path });
  onTestFinished(() => blobs[Symbol.asyncDispose]());
  const keys = createStoredKeys({ storage, current: keyEncryptionKey(randomBytes(32)) });
  const parts = { ...given, blobs, keys };
  const stacks = new StackDirectory({ storage, nextId: given.token });
  const { reference } = await stacks.ensure(PROJECT, "one");
  // What the engine applied.
  const states = createStackStates({ storage, blobs, ciphers: keys, owner: "test" });
  await using hold = await states.stack(reference).acquire();
  const writer = await hold.begin({ run: given.token() });
  await writer.finish({
    outputs: new Map([["old", { type: '"string"', json: '"old"', sensitive: false }]]),
  });
  return {
    parts,
    reference,
    record: async (is: boolean) => stacks.recordOrigin(PROJECT, "one", handedBack(is)),
  };
}

it("leaves the state of a stack that was handed back to the commands that have it", async () => {
  const { parts, reference, record } = await start();
  const stack = await record(true);
  const text =
    '{"version":4,"terraform_version":"1.11.4","serial":9,"lineage":"l-1","outputs":{},"resources":[]}';
  const content = await storeStateContent(parts, {
    stack: reference,
    content: textOf(text),
    signal,
  });
  await addStateVersion(parts, { stack, actor: "ann", content, lockId: undefined });
  const switching = switchTool(parts, { stack, tool: "terraform", actor: "ann", signal });
  await expect(switching).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining("was handed back to http://127.0.0.1/state") as string,
  });
  expect(await findCurrentVersion(parts.storage, reference)).toMatchObject({ serial: 9n });
  expect((await findStackTool(parts.storage, reference)).tool).toBe("stackwright");
});

it("hands the state of the engine over with its lineage", async () => {
  const { parts, reference, record } = await start();
  const stack = await record(false);
  await switchTool(parts, { stack, tool: "terraform", actor: "ann", signal });
  expect(await findCurrentVersion(parts.storage, reference)).toMatchObject({ lineage: "l-1" });
});
