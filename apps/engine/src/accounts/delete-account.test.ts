import { AccountVariableSet } from "@stackwright/proto/stackwright";
import { type ResourceId, readStored, type StorageBackend, tenancyOf } from "@stackwright/storage";
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

it("a deletion that stalled removes nothing of a later account of the name", async () => {
  const { begin, parts, put, clock, live, stored, onList } = await start();
  const stalled = begin();
  await expect.poll(() => live).toEqual([]);
  await settle();
  const user = { tenancy: PLACE.tenancy, name: "lea" };
  // After the pause, when the account has been found empty and its credentials are listed once more.
  onList(async () => {
    await remove(parts.storage);
    await put(SERVER_KINDS.account, PLACE, { ...named(), displayName: "new" });
    await put(SERVER_KINDS.user, user, SERVER_KINDS.user.codec.decode(new Uint8Array()));
  });
  const conflict = expect(stalled).rejects.toMatchObject({ code: "conflict" });
  await clock.advance(5_000);
  await conflict;
  expect(await stored()).toMatchObject({ displayName: "new", deletingAtMs: 0n });
  const id = { uid: "", type: SERVER_KINDS.user.type, ...user };
  expect(await readStored(parts.storage, "strong", id)).toBeDefined();
});

it("what a command waits for that a user of the account agreed to goes with it, and that of others stays", async () => {
  const { begin, parts, put, clock, live } = await start();
  const kind = SERVER_KINDS.deviceLogin;
  const tenancy = tenancyOf({ kind: "site" });
  for (const account of ["acme", "other"]) {
    const login = { ...kind.codec.decode(new Uint8Array()), account };
    await put(kind, { tenancy, name: `login-${account}` }, login);
  }
  const removal = begin();
  await expect.poll(() => live).toEqual([]);
  await settle();
  await clock.advance(5_000);
  await removal;
  const left = await parts.storage.list("strong", kind.type, tenancy, "");
  expect(left.map(({ id }) => id.name)).toEqual(["login-other"]);
});

/** The account of a server with one credential, and deletions of it. */
async function start() {
  const { parts, put, clock } = createRunFixture(createMemoryStorage());
  await put(SERVER_KINDS.account, PLACE, named());
  const live = ["token-1"];
  let atList: (() => Promise<void>) | undefined;
  const credentials = {
    list: async () => {
      const act = atList;
      atList = undefined;
      await act?.();
      return live.map((actor) => ({ actor, account: "acme" })) as never;
    },
    revoke: async (actor: string) => void live.splice(live.indexOf(actor), 1),
  };
  const begin = async (companion?: Companion) =>
    deleteAccount({ ...parts, credentials, companion }, "acme", () => undefined);
  const stored = async () => {
    const found = await readStored(parts.storage, "strong", ID);
    return found && SERVER_KINDS.account.codec.decode(found.data?.value ?? new Uint8Array());
  };
  const onList = (act: () => Promise<void>): void => void (atList = act);
  return { parts, put, clock, live, begin, stored, onList };
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
