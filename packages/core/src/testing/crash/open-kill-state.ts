import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { createUlidGenerator } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { keyEncryptionKey } from "../../secrets/key-encryption.ts";
import { createRuns, type Runs } from "../../state/runs.ts";
import { createStoredKeys } from "../../state/stack-keys.ts";
import type { StackState } from "../../state/stack-state.ts";
import { createStackStates } from "../../state/stack-states.ts";
import { TEST_STACK } from "../state-fixture.ts";

/** A stack in a folder, for a process that may be killed. */
export interface KillState extends AsyncDisposable {
  readonly state: StackState;
  readonly runs: Runs;
  readonly ulid: () => string;
}

export async function openKillState(folder: string): Promise<KillState> {
  await using resources = new AsyncDisposableStack();
  const storage = resources.use(await createSqliteStorage({ directory: join(folder, "store") }));
  const blobs = resources.use(await createDirectoryBlobs({ directory: join(folder, "blobs") }));
  const ulid = createUlidGenerator({ wallMs: () => Date.now() });
  const states = createStackStates({
    storage,
    blobs,
    ciphers: createStoredKeys({ storage, current: keyEncryptionKey(new Uint8Array(32).fill(7)) }),
    owner: `process-${process.pid}-${ulid()}`,
    // Short, as the next process has to see that this one is gone.
    timing: { ttlMs: 2_000, renewMs: 300, stopMs: 1_500 },
  });
  const owned = resources.move();
  return {
    state: states.stack(TEST_STACK),
    runs: createRuns(TEST_STACK, { storage, scheduler: systemClock, token: ulid }),
    ulid,
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}
