import { AccountVariableSet } from "@stackwright/proto/stackwright";
import { type ResourceId, readStored, type StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { accountPlace } from "../domain/kinds-of-accounts.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { Companion } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { deleteAccount } from "./delete-account.ts";

const PLACE = accountPlace("acme");
const ID = { uid: "", type: SERVER_KINDS.account.type, ...PLACE };
const SET = { ...PLACE, name: "late" };

it("what another server makes before it hears that its credential is revoked keeps the account, without a credential", async () => {
  const { parts, put, clock } = createRunFixture(createMemoryStorage());
  await put(SERVER_KINDS.account, accountPlace("acme"), { ...named(), displayName: "Acme" });
  const revoked: string[] = [];
  const credentials = {
    list: async () =>
      revoked.length === 0 ? ([{ actor: "token-1", account: "acme" }] as never) : [],
    revoke: async (actor: string) => {
      revoked.push(actor);
      await put(SERVER_KINDS.accountVariableSet, SET, AccountVariableSet.create({ name: "late" }));
    },
  };
  const removal = deleteAccount({ ...parts, credentials }, "acme", () => undefined);
  const refused = expect(removal).rejects.toMatchObject({
    code: "not_empty",
    message: 'the account "acme" has variable sets: 1',
  });
  await expect.poll(() => revoked).toEqual(["token-1"]);
  await clock.advance(5_000);
  await refused;
  const id = { uid: "", type: SERVER_KINDS.account.type, ...accountPlace("acme") };
  const { data } = await parts.storage.read("strong", id);
  const left = SERVER_KINDS.account.codec.decode(data?.value ?? new Uint8Array());
  expect(left).toMatchObject({ displayName: "Acme", deletingAtMs: 0n });
});

it("of two deletions that overlap the later one ends, and leaves alone what has the name afterwards", async () => {
  const { begin, parts, put, clock, stored, live } = await start();
  const first = begin();
  await expect.poll(() => live).toEqual([]);
  const conflict = expect(first).rejects.toMatchObject({ code: "conflict" });
  await clock.advance(1_000);
  const second = begin();
  await settle();
  await clock.advance(1_000);
  await conflict;
  await clock.advance(1_000);
  await second;
  // Another account has the name while a deletion of the former one still waits.
  await put(SERVER_KINDS.account, PLACE, named());
  const slow = begin();
  await settle();
  await clock.advance(1_000);
  await remove(parts.storage);
  await put(SERVER_KINDS.account, PLACE, { ...named(), displayName: "new" });
  live.push("token-of-the-new");
  const stopped = expect(slow).rejects.toMatchObject({ code: "conflict" });
  await clock.advance(5_000);
  await stopped;
  expect(await stored()).toMatchObject({ displayName: "new", deletingAtMs: 0n });
  expect(live).toEqual(["token-of-the-new"]);
});

it("a deletion takes back its own mark, and not that of another one", async () => {
  const { begin, put, clock, stored, live } = await start();
  const first = begin();
  await expect.poll(() => live).toEqual([]);
  await clock.advance(2_000 - 1);
  await put(SERVER_KINDS.account, PLACE, { ...named(), deletingAtMs: 7n });
  await put(SERVER_KINDS.accountVariableSet, SET, AccountVariableSet.create({ name: "late" }));
  const stopped = expect(first).rejects.toMatchObject({ code: "conflict" });
  await clock.advance(5_000);
  await stopped;
  expect(await stored()).toMatchObject({ deletingAtMs: 7n });
});

it("two deletions that begin in the same millisecond differ", async () => {
  const { begin, clock, stored, live } = await start();
  const outcomes = Promise.allSettled([begin(), begin()]);
  await expect.poll(() => live).toEqual([]);
  await settle();
  await clock.advance(5_000);
  const reasons = (await outcomes).map((one) =>
    one.status === "rejected" ? (one.reason as { code: string }).code : "deleted",
  );
  expect(reasons.toSorted()).toEqual(["conflict", "deleted"]);
  expect(await stored()).toBeUndefined();
});

it("an interrupted deletion of an account that has something is over when another one finds that", async () => {
  const { begin, put, stored } = await start();
  await put(SERVER_KINDS.account, PLACE, { ...named(), deletingAtMs: 7n });
  await put(SERVER_KINDS.accountVariableSet, SET, AccountVariableSet.create({ name: "late" }));
  await expect(begin()).rejects.toMatchObject({ code: "not_empty" });
  expect(await stored()).toMatchObject({ deletingAtMs: 0n });
});

it("the step that removes the record has the entry of the audit trail, and a refused deletion has none", async () => {
  const { begin, parts, put, clock, live } = await start();
  const written: string[] = [];
  const companion = {
    next: () => [],
    written: () => void written.push("entry"),
  };
  const refused = begin(companion);
  await expect.poll(() => live).toEqual([]);
  await put(SERVER_KINDS.accountVariableSet, SET, AccountVariableSet.create({ name: "late" }));
  const notEmpty = expect(refused).rejects.toMatchObject({ code: "not_empty" });
  await settle();
  await clock.advance(5_000);
  await notEmpty;
  expect(written).toEqual([]);
  await remove(parts.storage, { ...ID, type: SERVER_KINDS.accountVariableSet.type, ...SET });
  const done = begin(companion);
  await settle();
  expect(written).toEqual([]);
  await clock.advance(5_000);
  await done;
  expect(written).toEqual(["entry"]);
});

/** The account of a server with one credential, and deletions of it. */
async function start() {
  const { parts, put, clock } = createRunFixture(createMemoryStorage());
  await put(SERVER_KINDS.account, PLACE, named());
  const live = ["token-1"];
  const credentials = {
    list: async () => live.map((actor) => ({ actor, account: "acme" })) as never,
    revoke: async (actor: string) => void live.splice(live.indexOf(actor), 1),
  };
  const begin = async (companion?: Companion) =>
    deleteAccount({ ...parts, credentials, companion }, "acme", () => undefined);
  const stored = async () => {
    const found = await readStored(parts.storage, "strong", ID);
    return found && SERVER_KINDS.account.codec.decode(found.data?.value ?? new Uint8Array());
  };
  return { parts, put, clock, live, begin, stored };
}

/** Removes a record, by default that of the account, as the end of another deletion does. */
async function remove(storage: StorageBackend, id: ResourceId = ID) {
  const found = await storage.read("strong", id);
  await storage.batch([{ kind: "delete", id: found.id, version: found.version }]);
}

/** Lets a deletion come to its pause. */
async function settle() {
  for (let turn = 0; turn < 200; turn += 1) await new Promise((done) => void setImmediate(done));
}

function named() {
  return { ...SERVER_KINDS.account.codec.decode(new Uint8Array()), name: "acme" };
}
