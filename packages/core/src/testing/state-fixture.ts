import type { Clock } from "@stackwright/base/clock";
import { createUlidGenerator, type StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import type { LeaseTiming } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { keyEncryptionKey } from "../secrets/key-encryption.ts";
import { createStoredKeys } from "../state/stack-keys.ts";
import type { StackReference, StackState } from "../state/stack-state.ts";
import { createStackStates } from "../state/stack-states.ts";
import { MemoryBlobs } from "./memory-blobs.ts";

/** The stack of tests. */
export const TEST_STACK: StackReference = {
  account: "acme",
  project: "shop",
  stack: "01J9ZC0000000000000000STAK",
};

/** What {@link createTestState} may be given instead of its own. */
interface TestStateOptions {
  readonly storage?: StorageBackend;
  readonly blobs?: BlobStore;
  readonly reference?: StackReference;
  readonly owner?: string;
  readonly scheduler?: Clock;
  readonly timing?: LeaseTiming;
}

/** A stack's state over a store of its own, for tests: memory, a fixed key, the clock of the process. */
export interface TestState {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly state: StackState;
  /** Makes ULIDs, for runs and operations. */
  readonly ulid: () => string;
}

export function createTestState(options: TestStateOptions = {}): TestState {
  const storage = options.storage ?? createMemoryStorage();
  const blobs = options.blobs ?? new MemoryBlobs();
  const states = createStackStates({
    storage,
    blobs,
    ciphers: createStoredKeys({ storage, current: keyEncryptionKey(new Uint8Array(32).fill(7)) }),
    owner: options.owner ?? "worker",
    ...(options.scheduler === undefined ? {} : { scheduler: options.scheduler }),
    ...(options.timing === undefined ? {} : { timing: options.timing }),
  });
  return {
    storage,
    blobs,
    state: states.stack(options.reference ?? TEST_STACK),
    ulid: createUlidGenerator({ wallMs: () => options.scheduler?.wallMs() ?? Date.now() }),
  };
}
