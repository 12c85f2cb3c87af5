import { createMemoryStorage } from "@stackwright/storage/memory";
import { parseStateFile } from "@stackwright/tfstate";
import { describe, expect, it } from "vitest";
import { StackDirectory } from "../state/stack-directory.ts";
import { createStoredKeys } from "../state/stack-keys.ts";
import { NO_MIRROR } from "../state/stack-origin.ts";
import { createStackStates } from "../state/stack-states.ts";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { adoptState } from "./adopt-state.ts";

const project = { account: "acme", project: "web" };

/** A store, and an adopter of one state that has the lineage `lineage`. */
function adoptions(lineage = "11111111-2222-3333-4444-555555555555") {
  const storage = createMemoryStorage();
  const stacks = new StackDirectory({ storage });
  const file = parseStateFile(
    JSON.stringify({
      version: 4,
      terraform_version: "1.11.4",
      serial: 7,
      lineage,
      outputs: {},
      resources: [],
    }),
  );
  const origin = {
    kind: "state",
    timeMs: 0,
    actor: "user:ann",
    lineage,
    serial: 7n,
    backend: "http",
    place: "http://state",
    placeDigest: "0123abcd",
    workspace: "default",
    sha256: "",
    terraformVersion: "1.11.4",
    acceptedChanges: 0,
    lockId: "",
    renamedTo: "",
    mirror: NO_MIRROR,
    handedBack: false,
  } as const;
  const adopt = async (name: string, beforeCommit = async (): Promise<void> => undefined) => {
    const states = createStackStates({
      storage,
      blobs: new MemoryBlobs(),
      ciphers: createStoredKeys({ storage, current: { id: "test", bytes: new Uint8Array(32) } }),
      owner: `adopter of ${name}`,
    });
    const stateOf = states.stack.bind(states);
    return adoptState({ stacks, stateOf, project, name, file, origin, beforeCommit });
  };
  return { stacks, adopt, origin };
}

describe("an adoption", () => {
  it("of one lineage under two names at the same time succeeds once", async () => {
    const { stacks, adopt } = adoptions();
    // Both have read the list of stacks and written everything before one of them counts.
    const both = Promise.withResolvers<void>();
    let ready = 0;
    const meet = async (): Promise<void> => {
      ready += 1;
      if (ready === 2) both.resolve();
      await both.promise;
    };
    const results = await Promise.allSettled([adopt("one", meet), adopt("two", meet)]);
    const refused = results.filter((result) => result.status === "rejected");
    expect(refused).toMatchObject([{ reason: { code: "ENGINE_STATE_ADOPTED" } }]);
    expect(await stacks.list(project)).toHaveLength(1);
  });

  it("of two states without a lineage succeeds for both", async () => {
    const { stacks, adopt } = adoptions("");
    await Promise.all([adopt("one"), adopt("two")]);
    expect(await stacks.list(project)).toHaveLength(2);
  });

  it("is possible under another name after a hand-back, and after the removal of the stack", async () => {
    const { stacks, adopt, origin } = adoptions();
    await adopt("one");
    await expect(adopt("two")).rejects.toMatchObject({ code: "ENGINE_STATE_ADOPTED" });
    await stacks.recordOrigin(project, "one", { ...origin, handedBack: true });
    const two = await adopt("two");
    await expect(adopt("one")).rejects.toMatchObject({ code: "ENGINE_STATE_ADOPTED" });
    await stacks.remove(two);
    await adopt("three");
    const adopted = (await stacks.list(project)).map(({ name }) => name);
    expect(adopted).toEqual(["one", "three"]);
  });

  it("is found by the lineage and by the place, by the stack that took it last, and not after a hand-back", async () => {
    const { stacks, adopt, origin } = adoptions();
    const { lineage, placeDigest } = origin;
    const found = async (): Promise<readonly (string | undefined)[]> =>
      Promise.all(
        [{ lineage }, { placeDigest }].map(
          async (state) => (await stacks.findAdopter(project, state))?.name,
        ),
      );
    expect(await found()).toEqual([undefined, undefined]);
    await adopt("one");
    expect(await found()).toEqual(["one", "one"]);
    await stacks.recordOrigin(project, "one", { ...origin, handedBack: true });
    expect(await found()).toEqual([undefined, undefined]);
    await adopt("two");
    expect(await found()).toEqual(["two", "two"]);
    expect(await stacks.findAdopter({ account: "acme", project: "other" }, { placeDigest })).toBe(
      undefined,
    );
  });

  it("fails where the stack that handed the lineage back takes it again meanwhile", async () => {
    const { stacks, adopt, origin } = adoptions();
    await adopt("one");
    await stacks.recordOrigin(project, "one", { ...origin, handedBack: true });
    await expect(
      adopt("two", async () => {
        await stacks.recordOrigin(project, "one", origin);
      }),
    ).rejects.toMatchObject({ code: "ENGINE_STATE_ADOPTED" });
  });
});
