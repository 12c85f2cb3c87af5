import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { keyEncryptionKey } from "../secrets/key-encryption.ts";
import { countWrapped, listKeyOwners, rewrapAllKeys } from "./key-owners.ts";
import { stackTenancy } from "./kinds.ts";
import { createStoredKeys } from "./stack-keys.ts";
import type { StackReference } from "./stack-state.ts";
import { accountSetKeys } from "./variable-set-keys.ts";

const OLD = keyEncryptionKey(new Uint8Array(32).fill(1));
const NEW = keyEncryptionKey(new Uint8Array(32).fill(2));
const FOREIGN = keyEncryptionKey(new Uint8Array(32).fill(3));
const ONE = { account: "acme", project: "web", stack: "one" };
const SETS = { account: "acme", project: "web", stack: "variable-sets" };
const OF_ACCOUNT = accountSetKeys({ account: "acme" });
const OTHER = { account: "other", project: "own", stack: "two" };

function start() {
  const storage = createMemoryStorage();
  const keysOf = (current = OLD) => createStoredKeys({ storage, current });
  const wrapped = async (reference: StackReference) =>
    (await keysOf().list(reference)).map(({ wrappedBy }) => wrappedBy);
  return { storage, keysOf, wrapped };
}

it("all data keys of a store are encrypted with the current key, but for those of keys that were not given", async () => {
  const { storage, keysOf, wrapped } = start();
  for (const reference of [ONE, SETS, OF_ACCOUNT]) await keysOf().ensure(reference);
  await keysOf().rotate(ONE);
  await keysOf(FOREIGN).ensure(OTHER);
  const before = await keysOf().dataKeys(ONE);
  let seen: readonly string[] = [];
  const rewrapped = await rewrapAllKeys({
    storage,
    current: NEW,
    former: [OLD],
    before: async () => {
      seen = await wrapped(ONE);
    },
  });
  expect(rewrapped).toEqual({ rewrapped: 4, left: new Map([[FOREIGN.id, 1]]) });
  expect(seen).toEqual([OLD.id, OLD.id]);
  expect(await keysOf(NEW).dataKeys(ONE)).toEqual(before);
  expect(countWrapped(await listKeyOwners(storage))).toEqual(
    new Map([
      [NEW.id, 4],
      [FOREIGN.id, 1],
    ]),
  );
  const own = await listKeyOwners(storage, stackTenancy(ONE));
  expect(own.map(({ reference }) => reference.stack).toSorted()).toEqual(["one", "variable-sets"]);
  const again = await rewrapAllKeys({ storage, current: NEW, former: [OLD] });
  expect(again.rewrapped).toBe(0);
});

it("nothing changes where a stack needs one more key than was given", async () => {
  const { storage, keysOf, wrapped } = start();
  await keysOf().ensure(SETS);
  await keysOf().ensure(ONE);
  await createStoredKeys({ storage, current: FOREIGN, former: [OLD] }).rotate(ONE);
  let isReached = false;
  const rewrapped = rewrapAllKeys({
    storage,
    current: NEW,
    former: [OLD],
    before: async () => {
      isReached = true;
    },
  });
  await expect(rewrapped).rejects.toMatchObject({ code: "ENGINE_KEY_UNAVAILABLE" });
  expect(isReached).toBe(false);
  expect([await wrapped(SETS), await wrapped(ONE)]).toEqual([[OLD.id], [OLD.id, FOREIGN.id]]);
});
