import { silentLogger } from "@stackwright/base/logger";
import {
  DriftHook,
  DriftRule,
  Project,
  Run_Mode,
  StackTool,
  StateObject,
  StateObject_Mode,
} from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { projectPlace } from "../domain/project-settings.ts";
import { decodeRecord, recordKind } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { settleByClock } from "../testing/settle-by-clock.ts";
import { askForCheck } from "./ask-for-check.ts";
import { DriftMirror } from "./drift-index.ts";
import { fireDriftChecks } from "./fire-drift-checks.ts";

const HOOK = DriftHook.create({ id: "HOOK", name: "cloud", actor: "ann" });
const OBJECT_KIND = recordKind("StateObject", StateObject);

/** A stack that was applied, with objects, and that no rule checks. */
async function start(
  addresses: readonly string[] = ["x.a", "x.b[0]", "x.b[1]", "module.m.x.c"],
  given: StorageBackend = createMemoryStorage(),
) {
  const fixture = createRunFixture(given);
  const { parts, storage, put, tenancy, clock } = fixture;
  const stack = await fixture.stack("one");
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
  });
  for (const [index, address] of addresses.entries()) {
    const object = StateObject.fromPartial({
      address,
      type: "x",
      mode: StateObject_Mode.MODE_MANAGED,
    });
    await put(OBJECT_KIND, memberPlace(stack, String(index)), object);
  }
  const named = { stack, stackName: "one" };
  const ask = async (id: string, resources: readonly string[] = [], hook = HOOK) =>
    askForCheck(parts, named, { hook, id, resources });
  /** A sweep of one server, with what it knew of the store before. */
  const fire = async (): Promise<number> => {
    const withLogger = { ...parts, logger: silentLogger };
    const ending = new AbortController();
    const synced = Promise.withResolvers<void>();
    const mirror = new DriftMirror(withLogger, synced.resolve, ending.signal);
    await synced.promise;
    ending.abort();
    await mirror.done;
    if (mirror.index === undefined) throw new Error("the store was not read");
    return fireDriftChecks(withLogger, mirror.index);
  };
  const runs = async () =>
    (await storage.list("strong", RUN_KIND.type, tenancy, "")).map((one) =>
      decodeRecord(RUN_KIND, one),
    );
  const record = async () =>
    decodeRecord(
      SERVER_KINDS.drift,
      await storage.read("strong", idOf(SERVER_KINDS.drift, stackPlace(stack))),
    );
  const cancel = async (run: string) =>
    settleByClock(clock, cancelRun(parts, { stack, run }, { actor: "ann" }));
  return { ...fixture, first: stack, ask, fire, runs, record, cancel };
}

it("a delivery that many servers get, again and again, makes one run", async () => {
  const { ask, fire, runs, record, clock, cancel } = await start();
  const answers = await settleByClock(
    clock,
    Promise.all(Array.from({ length: 5 }, async () => ask("event-1"))),
  );
  const [{ run } = { run: "" }] = answers;
  expect(new Set(answers.map((one) => one.run)).size).toBe(1);
  expect(answers.filter(({ isNew }) => isNew)).toHaveLength(1);
  const fired = await settleByClock(
    clock,
    Promise.all(Array.from({ length: 4 }, async () => fire())),
  );
  expect(fired.reduce((sum, one) => sum + one, 0)).toBe(1);
  expect(await runs()).toMatchObject([
    {
      id: run,
      mode: Run_Mode.MODE_REFRESH_ONLY,
      planOnly: true,
      background: true,
      automatic: true,
      actor: "ann",
      targets: [],
      cause: expect.stringMatching(/^drift-check:/),
    },
  ]);
  expect(await record()).toMatchObject({ check: run, asked: undefined });
  // Also after the check has ended.
  await cancel(run);
  expect(await ask("event-1")).toEqual({ run, isNew: false });
  expect(await fire()).toBe(0);
  expect(await runs()).toHaveLength(1);
  // The same name at another hook is another delivery.
  expect(await ask("event-1", [], { ...HOOK, id: "OTHER" })).toMatchObject({ isNew: true });
});

it("deliveries that come while a check waits or is in progress are one more check, of all that they name", async () => {
  const { ask, fire, runs, cancel } = await start();
  const first = await ask("1", ["x.a"]);
  expect(await ask("2", ["x.b"])).toEqual({ run: first.run, isNew: true });
  expect(await fire()).toBe(1);
  const second = await ask("3", ["module.m"]);
  expect(second.run).not.toBe(first.run);
  // The one before has not ended.
  expect(await fire()).toBe(0);
  await ask("4");
  await cancel(first.run);
  expect(await fire()).toBe(1);
  const made = new Map((await runs()).map(({ id, targets }) => [id, targets]));
  expect(made).toEqual(
    new Map([
      [first.run, ["x.a", "x.b[0]", "x.b[1]"]],
      // One that names nothing is of all.
      [second.run, []],
    ]),
  );
});

it("a check that cannot be requested is given up, and the stack says why", async () => {
  const { ask, fire, record, runs, parts, first, storage } = await start();
  await ask("1", ["x.a"]);
  // It is deleted meanwhile.
  const { tenancy, name } = memberPlace(first, "");
  for (const { id, version } of await storage.list("strong", OBJECT_KIND.type, tenancy, name)) {
    await storage.deleteCAS(id, version);
  }
  expect(await fire()).toBe(0);
  const lastProblem = "a hook asked for a check of resources that the stack has not";
  expect(await record()).toMatchObject({ asked: undefined, lastProblem });
  expect(await runs()).toEqual([]);
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, first), { configuration: "" });
  });
  await expect(ask("2")).rejects.toMatchObject({ code: "unprocessable" });
});

it("a delivery for resources of which the stack has none is refused, as no run would be made for it", async () => {
  const { ask, record, put, first } = await start();
  for (const resources of [["x.gone"], ["x.b[2]", "module.other"]]) {
    await expect(ask("1", resources)).rejects.toMatchObject({ code: "unprocessable" });
  }
  await expect(record()).rejects.toMatchObject({ code: "STORAGE_NOT_FOUND" });
  // One of them is enough; and what another tool has recorded is not looked through.
  expect(await ask("1", ["x.gone", "x.b"])).toMatchObject({ isNew: true });
  await put(SERVER_KINDS.tool, stackPlace(first), StackTool.create({ tool: "terraform" }));
  expect(await ask("2", ["x.gone"])).toMatchObject({ isNew: true });
});

it("a delivery costs no look at all objects of a large stack, and a repeated one none at all", async () => {
  const inner = createMemoryStorage();
  let looks = 0;
  const counted = (given: StorageBackend): StorageBackend =>
    new Proxy(given, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          if (String(key).startsWith("list")) looks += 1;
          return member.apply(target, args) as unknown;
        };
      },
    });
  const many = Array.from({ length: 1_000 }, (_, at) => `x.a[${at}]`);
  const { ask } = await start(many, counted(inner));
  // Whether one of them is meant is left to the check.
  expect(await ask("1", ["x.gone"])).toMatchObject({ isNew: true });
  expect(looks).toBeGreaterThan(0);
  looks = 0;
  expect(await ask("1", ["x.gone"])).toMatchObject({ isNew: false });
  await ask("2");
  // The check that waits is of all.
  expect(await ask("3", ["x.gone"])).toMatchObject({ isNew: true });
  expect(looks).toBe(0);
});

it("no more is kept of deliveries than a bound, and what names too much is of all", async () => {
  const { ask, record } = await start(Array.from({ length: 105 }, (_, at) => `x.a[${at}]`));
  for (let index = 0; index < 105; index += 1) await ask(`event-${index}`, [`x.a[${index}]`]);
  const { asked, deliveries } = await record();
  expect(asked?.resources).toEqual([]);
  expect(deliveries).toHaveLength(100);
  expect(await ask("event-104", ["x.a"])).toMatchObject({ isNew: false });
});

it("a storm of deliveries keeps no stack from the check of all objects that its rule says", async () => {
  const { ask, fire, runs, record, cancel, put, first, clock } = await start();
  const project = Project.create({ name: "web", drift: DriftRule.create({ everyMinutes: 60 }) });
  await put(SERVER_KINDS.project, projectPlace(first), project);
  await fire();
  clock.skip(Number((await record()).nextAtMs) - clock.wallMs());
  clock.skip(1_000);
  await ask("1", ["x.a"]);
  expect(await fire()).toBe(1);
  const [whole] = await runs();
  expect(whole?.targets).toEqual([]);
  await cancel(whole?.id ?? "");
  expect(await fire()).toBe(1);
  expect((await runs()).map(({ targets }) => targets)).toContainEqual(["x.a"]);
});
