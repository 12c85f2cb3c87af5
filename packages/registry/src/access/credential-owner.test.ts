import { systemClock } from "@stackwright/base/clock";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { createRegistryFixture } from "../testing/registry-fixture.ts";
import { MAX_OF_OWNER } from "./credential-owner.ts";
import { CredentialStore } from "./credentials.ts";
import { createKeyRing } from "./key-ring.ts";

const FULL = { code: "REGISTRY_QUOTA_EXCEEDED" };
const OF_ALICE = { account: "acme", user: "alice", roles: ["reader"] as const };
const PLAIN = { account: "acme", roles: ["reader"] as const };

/** The credentials of one store, as two servers have them. */
async function start() {
  const fixture = await createRegistryFixture(createMemoryStorage());
  const { records } = fixture.registry.parts;
  let passedMs = 0;
  const clock = { ...systemClock, wallMs: () => systemClock.wallMs() + passedMs };
  const open = () =>
    new CredentialStore({
      records,
      clock,
      keys: createKeyRing([Buffer.alloc(32, 1)]),
      cacheMs: 0,
      rightsOf: async (token) => token,
    });
  const pass = (ms: number): void => {
    passedMs += ms;
  };
  return { one: open(), two: open(), pass, clock };
}

async function fill(store: CredentialStore, count: number, input: object = OF_ALICE) {
  const made: string[] = [];
  while (made.length < count) {
    made.push((await store.createToken({ ...PLAIN, ...input })).tokenId);
  }
  return made;
}

it("of those that two servers make at once for a user only as many succeed as there is room for", async () => {
  const { one, two } = await start();
  await fill(one, MAX_OF_OWNER - 3);
  expect(await two.hasRoom(OF_ALICE)).toBe(true);
  const making = Array.from({ length: 12 }, async (_, at) => {
    const store = at % 2 === 0 ? one : two;
    return at % 3 === 0 ? store.createKey(OF_ALICE) : store.createToken(OF_ALICE);
  });
  const ends = await Promise.allSettled(making);
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
  for (const end of ends) if (end.status === "rejected") expect(end.reason).toMatchObject(FULL);
  const all = await one.list("acme");
  expect(all.filter(({ user }) => user === "alice")).toHaveLength(MAX_OF_OWNER);
  expect(await two.hasRoom(OF_ALICE)).toBe(false);
  // Others have their own room, and what stands for itself is not counted.
  await one.createToken({ ...OF_ALICE, user: "ben" });
  await one.createToken(PLAIN);
});

it("what was revoked or has expired makes room, and a rotation needs some", async () => {
  const { one, two, pass, clock } = await start();
  const { accessKey } = await one.createKey(OF_ALICE);
  const expireTimeMs = clock.wallMs() + 1_000;
  await fill(one, 1, { ...OF_ALICE, expireTimeMs });
  const [revoked = ""] = await fill(one, MAX_OF_OWNER - 2);
  await expect(two.createToken(OF_ALICE)).rejects.toMatchObject(FULL);
  await expect(two.rotateKey(accessKey, 60_000)).rejects.toMatchObject(FULL);
  expect((await two.list("acme")).find(({ actor }) => actor === accessKey)).toMatchObject({
    expireTimeMs: undefined,
  });
  await one.revoke(revoked);
  await two.rotateKey(accessKey, 60_000);
  await expect(two.createToken(OF_ALICE)).rejects.toMatchObject(FULL);
  pass(1_000);
  await two.createToken(OF_ALICE);
  pass(60_000);
  await two.createToken(OF_ALICE);
  await expect(two.createToken(OF_ALICE)).rejects.toMatchObject(FULL);
});

it("what is made with a token that has no user is counted with that one, by whatever way it is made", async () => {
  const { one, two } = await start();
  const [parent = ""] = await fill(one, 1, PLAIN);
  const [child = ""] = await fill(one, 1, { parent });
  await fill(one, MAX_OF_OWNER - 1, { parent: child });
  for (const made of [parent, child]) {
    await expect(two.createToken({ ...PLAIN, parent: made })).rejects.toMatchObject(FULL);
    await expect(two.createTokenOf(made, {})).rejects.toMatchObject(FULL);
    expect(await two.hasRoom({ account: "acme", parent: made })).toBe(false);
  }
  const [other = ""] = await fill(two, 1, PLAIN);
  const { tokenId } = await two.createTokenOf(other, { description: "of the other" });
  expect((await one.list("acme")).find(({ actor }) => actor === tokenId)).toMatchObject({
    parent: other,
    roles: ["reader"],
    description: "of the other",
  });
});

it("a token that is given is made once", async () => {
  const { one, two } = await start();
  const token = `sw_${"A".repeat(43)}`;
  const ends = await Promise.allSettled(
    [one, two, one].map(async (store) => store.createToken({ ...OF_ALICE, token })),
  );
  expect(ends.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const end of ends) {
    if (end.status === "rejected") {
      expect(end.reason).toMatchObject({ details: { problem: "duplicate" } });
    }
  }
});
