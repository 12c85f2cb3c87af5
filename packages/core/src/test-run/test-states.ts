import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import { createUlidGenerator } from "@stackwright/storage";
import { keyEncryptionKey } from "../secrets/key-encryption.ts";
import { createStoredKeys } from "../state/stack-keys.ts";
import type { StackState } from "../state/stack-state.ts";
import { createStackStates } from "../state/stack-states.ts";
import { openStore } from "../store/open-store.ts";

/** States that exist as long as a test does. */
export interface TestStates extends AsyncDisposable {
  /** A new state without objects. */
  create(): StackState;
}

/** Opens a store in memory. Large values are in a temporary folder, encrypted with a key that is kept nowhere. */
export async function openTestStates(clock: Clock): Promise<TestStates> {
  const folder = await mkdtemp(join(tmpdir(), "stackwright-test-"));
  const store = await openStore({ kind: "memory" }, { blobDirectory: folder });
  const { storage, blobs } = store;
  const ciphers = createStoredKeys({ storage, current: keyEncryptionKey(randomBytes(32)) });
  const states = createStackStates({ storage, blobs, ciphers, owner: "test" });
  const ulid = createUlidGenerator({ wallMs: () => clock.wallMs(), randomBytes });
  return {
    create: () => states.stack({ account: "test", project: "test", stack: ulid() }),
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
