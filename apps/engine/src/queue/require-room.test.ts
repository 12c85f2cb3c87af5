import { systemClock } from "@stackwright/base/clock";
import { AuditWebhook } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { accountTenancy } from "../access/access-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { requireRoom } from "./require-room.ts";
import { transact } from "./transaction.ts";

const kind = SERVER_KINDS.auditWebhook;

function start() {
  const { parts, storage } = createRunFixture(createMemoryStorage());
  // Those who write at once wait for one another, for a random time.
  const racing = { ...parts, clock: systemClock, random: Math.random };
  const create = async (name: string, account = "acme", prefix = ""): Promise<string> => {
    const tenancy = accountTenancy(account);
    const room = { kind, tenancy, prefix, most: 3, detail: "at most 3" };
    return transact(racing, async (tx) => {
      await requireRoom(racing, tx, room);
      tx.create(kind, { tenancy, name }, AuditWebhook.create({ name }));
      return name;
    });
  };
  const names = async (account = "acme") =>
    (await storage.list("strong", kind.type, accountTenancy(account), "")).map(({ id }) => id.name);
  return { create, names, parts: racing, storage };
}

it("of those that create at once only as many succeed as there is room for", async () => {
  const { create, names } = start();
  await create("first");
  const wanted = Array.from({ length: 12 }, (_, at) => `w${at}`);
  const ends = await Promise.allSettled(wanted.map(async (name) => create(name)));
  const done = ends.filter(({ status }) => status === "fulfilled");
  const refused = ends.filter((one) => one.status === "rejected");
  expect([done.length, refused.length]).toEqual([2, 10]);
  for (const { reason } of refused) {
    expect(reason).toMatchObject({ code: "unprocessable", message: "at most 3" });
  }
  expect(await names()).toHaveLength(3);
});

it("accounts and prefixes are counted apart, and what was deleted makes room", async () => {
  const { create, names, parts } = start();
  for (const name of ["a.1", "a.2", "b.1"]) await create(name);
  await create("other", "beta");
  await create("a.3", "acme", "a.");
  await expect(create("a.4", "acme", "a.")).rejects.toMatchObject({ code: "unprocessable" });
  await create("b.2", "acme", "b.");
  const tenancy = accountTenancy("acme");
  await transact(parts, async (tx) => tx.remove(await tx.get(kind, { tenancy, name: "a.1" })));
  await create("a.4", "acme", "a.");
  expect((await names()).toSorted()).toEqual(["a.2", "a.3", "a.4", "b.1", "b.2"]);
});
