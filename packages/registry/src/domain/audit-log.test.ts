import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished, vi } from "vitest";
import { createRegistryFixture, TEST_CONTEXT, TEST_REGION } from "../testing/registry-fixture.ts";

const scope = { account: "acme", region: TEST_REGION };

it.each([
  ["the beginning of time", "00000000000000000000000000", ["provider.create"]],
  ["the end of time", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", []],
])("the trail is read in few steps also behind %s", async (_where, after, actions) => {
  const storage = createMemoryStorage();
  const fixture = await createRegistryFixture(storage);
  onTestFinished(async () => {
    await fixture[Symbol.asyncDispose]();
    await storage.close();
  });
  const { registry, clock } = fixture;
  clock.setWallMs(Date.parse("2026-01-02T03:04:05Z"));
  await registry.createProvider(scope, { name: "hello" }, TEST_CONTEXT);
  clock.setWallMs(Date.parse("2026-01-03T00:00:30Z"));

  const list = storage.list.bind(storage);
  let reads = 0;
  vi.spyOn(storage, "list").mockImplementation(async (...given) => {
    if ((reads += 1) > 1_000) throw new Error("it reads without an end");
    return list(...given);
  });
  const found = await registry.auditPage(scope, { after, limit: 10 });
  expect(found.map(({ action }) => action)).toEqual(actions);
});

it("the beginning of the trail is read a day at a time, however much follows", async () => {
  const storage = createMemoryStorage();
  const fixture = await createRegistryFixture(storage);
  onTestFinished(async () => {
    await fixture[Symbol.asyncDispose]();
    await storage.close();
  });
  const { registry, clock } = fixture;
  for (const day of ["01", "02", "05"]) {
    clock.setWallMs(Date.parse(`2026-01-${day}T12:00:00Z`));
    await registry.createProvider(scope, { name: `of-${day}` }, TEST_CONTEXT);
  }
  clock.setWallMs(Date.parse("2026-01-06T00:00:00Z"));
  const list = vi.spyOn(storage, "list");
  const targets = async (limit: number) =>
    (await registry.auditPage(scope, { after: "", limit })).map(({ target }) => target);
  expect(await targets(1)).toEqual(["of-01"]);
  expect(list.mock.calls.map(([, , , prefix]) => prefix)).toEqual(["2026-01-01/"]);
  expect(await targets(10)).toEqual(["of-01", "of-02", "of-05"]);
  const other = { account: "other", region: TEST_REGION };
  expect(await registry.auditPage(other, { after: "", limit: 1 })).toEqual([]);
});
