import { silentLogger } from "@stackwright/base/logger";
import { Freeze, StackOutputs } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { STACK_OUTPUTS_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { freezePlace } from "../queue/freeze.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LiveView } from "./live-view.ts";

it("the first view is complete for those who wait for it", async () => {
  const { storage, stack } = createRunFixture();
  for (let index = 0; index < 50; index += 1) await stack(`s${index}`);
  using live = new LiveView({ storage, logger: silentLogger });
  await live.stackChanges.whenSynced();
  expect(live.stackChanges.snapshot().objects).toHaveLength(50);
});

it("a view that is closed ends what waits for it", async () => {
  const { storage } = createRunFixture();
  const live = new LiveView({ storage, logger: silentLogger });
  const waiting = live.stackChanges.whenSynced();
  live[Symbol.dispose]();
  await expect(waiting).rejects.toMatchObject({ code: "KRT_DISPOSED" });
});

it("a record that cannot be read is left out, and no other is", async () => {
  const { storage, stack, damage } = createRunFixture();
  await damage(SERVER_KINDS.queue, stackPlace(await stack("one")));
  await stack("two");
  using live = new LiveView({ storage, logger: silentLogger });
  await live.stackChanges.whenSynced();
  const names = live.stackChanges.snapshot().objects.map(({ name, waiting }) => [name, waiting]);
  expect(names.toSorted(([a = ""], [b = ""]) => (a < b ? -1 : 1))).toEqual([
    ["one", 0],
    ["two", 0],
  ]);
});

it("the freeze of a project is in the status of each of its stacks, and goes before that of one", async () => {
  const { storage, stack, put } = createRunFixture();
  const one = await stack("one");
  await stack("two");
  using live = new LiveView({ storage, logger: silentLogger });
  const frozen = (): readonly unknown[] =>
    live.stackChanges
      .snapshot()
      .objects.map(({ name, freeze }) => `${name}: ${freeze?.reason ?? ""}`)
      .toSorted();
  await put(SERVER_KINDS.freeze, stackPlace(one), Freeze.create({ reason: "upgrade" }));
  await expect.poll(frozen).toEqual(["one: upgrade", "two: "]);
  const { stack: _id, ...project } = one;
  await put(SERVER_KINDS.freeze, freezePlace(project), Freeze.create({ reason: "incident" }));
  await expect.poll(frozen).toEqual(["one: incident", "two: incident"]);
});

it("a stack is behind all outdated ones further up, until they are made again", async () => {
  const { storage, stack, put } = createRunFixture();
  const names = ["network", "db", "app", "front"];
  const stacks = await Promise.all(names.map(async (name) => stack(name)));
  const revisions = [1n, 1n, 1n, 1n];
  /** The stack at a place, made with the outputs of the one before. */
  const make = async (at: number, revision: bigint): Promise<void> => {
    const [own, from] = [stacks[at], stacks[at - 1]];
    if (own === undefined) throw new Error("no stack");
    revisions[at] = revision;
    const inputs =
      from === undefined ? [] : [{ ...from, name: "", revision: revisions[at - 1] ?? 0n }];
    await put(STACK_OUTPUTS_KIND, stackPlace(own), StackOutputs.fromPartial({ revision, inputs }));
  };
  for (const at of stacks.keys()) await make(at, 1n);
  using live = new LiveView({ storage, logger: silentLogger });
  const found = (): readonly string[] =>
    live.stackChanges
      .snapshot()
      .objects.map(({ name, outdated, behind }) => [name, outdated, "behind", behind].join(" "))
      .toSorted();
  await make(0, 2n);
  await expect
    .poll(found)
    .toEqual([
      "app  behind web/db",
      "db web/network behind ",
      "front  behind web/db",
      "network  behind ",
    ]);
  await make(2, 2n);
  await expect
    .poll(found)
    .toEqual([
      "app  behind web/db",
      "db web/network behind ",
      "front web/app behind web/db",
      "network  behind ",
    ]);
  // The outputs of the one in between stay what they were.
  await make(1, 1n);
  await expect
    .poll(found)
    .toEqual(["app  behind ", "db  behind ", "front web/app behind ", "network  behind "]);
});
