import { Freeze } from "@stackwright/proto/stackwright";
import type { Resource } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { freeze, freezePlace } from "../queue/freeze.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { KeptFreezes } from "./kept-freezes.ts";
import { RestoredStore, thawRestored } from "./restored-store.ts";

async function all(storage: ReturnType<typeof createMemoryStorage>): Promise<Resource[]> {
  const found: Resource[] = [];
  await using snapshot = await storage.snapshot();
  for await (const resource of snapshot) found.push(resource);
  return found;
}

/** A store with a project that a user has frozen, and one that a restore from the backup monday has. */
async function restoredOnce() {
  const { storage, parts, clock, stack, put } = createRunFixture();
  await stack("one");
  const own = { account: "acme", project: "own" };
  await freeze(parts, own, { actor: "ann", reason: "a holiday" });
  const former = new RestoredStore({ reason: "restored from monday", atMs: clock.wallMs() });
  const kept = (await all(storage)).map((resource) => former.resource(resource));
  expect(kept).not.toContain(undefined);
  for (const added of former.added()) {
    const { namespace } = added.id.tenancy;
    const place = freezePlace({ account: "acme", project: namespace });
    await put(SERVER_KINDS.freeze, place, decodeRecord(SERVER_KINDS.freeze, added));
  }
  const login = SERVER_KINDS.loginSession.codec.decode(new Uint8Array());
  await put(SERVER_KINDS.loginSession, freezePlace(own), login);
  return storage;
}

it("a freeze of a former restore stays, with a reason of this one, and all else is as in the backup", async () => {
  const before = await all(await restoredOnce());
  const amend = new KeptFreezes({ reason: "the backup tuesday has the project frozen" });
  const after = before.map((resource) => amend.resource(resource));
  expect(amend.added()).toEqual([]);
  expect(amend.projects).toEqual([{ account: "acme", project: "web" }]);

  const changed = before.flatMap((resource, index) =>
    resource === after[index] ? [] : [[resource, after[index]] as const],
  );
  expect(changed).toHaveLength(1);
  const [[was, is] = []] = changed;
  if (was === undefined || is === undefined) throw new Error("no freeze was changed");
  const { data: _, ...rest } = is;
  expect(was).toMatchObject(rest);
  const former = decodeRecord(SERVER_KINDS.freeze, was);
  expect(former.reason).toBe("restored from monday");
  expect(decodeRecord(SERVER_KINDS.freeze, is)).toEqual(
    Freeze.create({ ...former, reason: "the backup tuesday has the project frozen" }),
  );
});

it("such a freeze is ended as those of the restore itself", async () => {
  const amend = new KeptFreezes({ reason: "another" });
  const copy = createMemoryStorage();
  await using restore = await copy.restore();
  for (const [index, resource] of (await all(await restoredOnce())).entries()) {
    await restore.apply({ ...amend.resource(resource), version: `copy-${index}` });
  }
  await restore.commit();
  const { signal } = new AbortController();
  expect(await thawRestored(copy, { signal })).toEqual(amend.projects);
});
