import { randomBytes } from "node:crypto";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { AccountPlaces } from "../api/account-places.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { workspaceStates } from "./workspace-states.ts";

const CALLER = {
  account: "acme",
  actor: "ann",
  credential: "token-1",
  isOperator: true,
  isAdmin: false,
  projects: [],
};
const { signal } = new AbortController();

async function start(places: number) {
  const { parts, stack, storage, clock } = createRunFixture();
  const reference = await stack("one");
  const served = {
    ...parts,
    blobs: new MemoryBlobs(),
    keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
  };
  const states = workspaceStates({
    ...served,
    audited: () => served,
    logger: pino({ level: "silent" }),
    stackOf: async () => ({ name: "one", reference }) as NamedStack,
    stateUploads: new AccountPlaces({ all: places, account: places }),
  });
  return { states, clock };
}

async function* nothing(): AsyncGenerator<Uint8Array> {
  // Ends at once.
}

describe("an upload", () => {
  it("needs one of the places of the server", async () => {
    const { states } = await start(0);
    const state = { workspace: "one", serial: 1n, md5: "0".repeat(32), force: false, lock: "l" };
    const limited = { code: "rate_limited" };
    await expect(states.store(CALLER, state, nothing(), signal)).rejects.toMatchObject(limited);
    await expect(states.skip(CALLER, nothing(), signal)).rejects.toMatchObject(limited);
  });

  it("of the form that is not kept may not stand still, and frees its place", async () => {
    const { states, clock } = await start(1);
    const still: AsyncIterable<Uint8Array> = {
      [Symbol.asyncIterator]: () => ({ next: async () => new Promise(() => undefined) }),
    };
    const late = expect(states.skip(CALLER, still, signal)).rejects.toMatchObject({
      code: "invalid_request",
    });
    await clock.advance(30_000);
    await late;
    await states.skip(CALLER, nothing(), signal);
  });
});
