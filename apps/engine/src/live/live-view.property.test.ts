import { silentLogger } from "@stackwright/base/logger";
import { STORED_RUN_PHASES, storedRunPhase } from "@stackwright/core";
import {
  Run,
  StackLock,
  Stack as StackMessage,
  StackOutputs,
  StackQueue,
} from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeRecord, type RecordKind } from "../domain/record-kind.ts";
import {
  memberPlace,
  type Place,
  projectTenancy,
  RUN_KIND,
  STACK_KIND,
  STACK_OUTPUTS_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LiveView } from "./live-view.ts";

const PROJECTS = ["web", "base"] as const;
const PHASES = Object.values(STORED_RUN_PHASES);
const stackOf = (index: number) => ({
  account: "acme",
  project: PROJECTS[index % 2] ?? "web",
  stack: `S${index}`,
});

interface Seen {
  readonly key: string;
  readonly behind: readonly string[] | undefined;
}

/** The statuses of a store, computed from all of it. */
async function naive(storage: StorageBackend): Promise<readonly Seen[]> {
  const everywhere = { partition: "*", peerName: "*", namespace: "*" };
  const all = async <M>(kind: RecordKind<M>) =>
    (await storage.list("strong", kind.type, everywhere, "")).map((resource) => ({
      at: `${resource.id.tenancy.partition}/${resource.id.tenancy.namespace}`,
      name: resource.id.name,
      message: decodeRecord(kind, resource),
    }));
  const stacks = await all(STACK_KIND);
  const queues = await all(SERVER_KINDS.queue);
  const runs = await all(RUN_KIND);
  const locks = await all(SERVER_KINDS.lock);
  const outputs = await all(STACK_OUTPUTS_KIND);
  const producersOf = (key: string): readonly string[] =>
    (outputs.find((one) => `${one.at}/${one.name}` === key)?.message.inputs ?? [])
      .map(({ account, project, stack }) => `${account}/${project}/${stack}`)
      .filter((producer) => producer !== key);
  /** What a stack depends on, itself or through others. */
  const above = (key: string): ReadonlySet<string> => {
    const found = new Set<string>();
    const next = [...producersOf(key)];
    for (let one = next.pop(); one !== undefined; one = next.pop()) {
      if (found.has(one)) continue;
      found.add(one);
      next.push(...producersOf(one));
    }
    return found;
  };
  const statuses = stacks.map(({ at, name, message: { id } }) => {
    const own = <T extends { at: string; name: string }>(rows: readonly T[]) =>
      rows.find((row) => row.at === at && row.name === id);
    const ofStack = runs
      .filter((run) => run.at === at && run.message.stack === id)
      .toSorted((a, b) => {
        const byTime = Number(b.message.createdAtMs - a.message.createdAtMs);
        return byTime === 0 ? (a.message.id < b.message.id ? 1 : -1) : byTime;
      });
    const view = (run: { message: Run } | undefined) =>
      run && { id: run.message.id, phase: storedRunPhase(run.message.phase) };
    const queue = own(queues)?.message;
    const outdated = (own(outputs)?.message.inputs ?? []).flatMap(
      ({ account, project, stack, revision }) => {
        const inPlace = `${account}/${project}`;
        const producer = outputs.find((one) => one.at === inPlace && one.name === stack);
        const named = stacks.find((one) => one.at === inPlace && one.message.id === stack);
        const isLater = producer !== undefined && producer.message.revision > revision;
        return isLater && named !== undefined ? [`${project}/${named.name}`] : [];
      },
    );
    return {
      key: `${at}/${id}`,
      name,
      current: view(ofStack.find((run) => run.message.id === queue?.current)),
      waiting: queue?.pending.length ?? 0,
      newest: view(ofStack[0]),
      lock: own(locks)?.message.reason,
      outdated: [...new Set(outdated)].toSorted(),
    };
  });
  return statuses.map((status) => {
    const upper = [...above(status.key)];
    const behind = statuses
      .filter(({ key, outdated }) => upper.includes(key) && outdated.length > 0)
      .map(({ key, name }) => `${key.split("/")[1]}/${name}`);
    const isCircular = [status.key, ...upper].some((key) => above(key).has(key));
    return { ...status, behind: isCircular ? undefined : behind.toSorted() };
  });
}

/** The statuses of a view, without what is not known of stacks that read one another in a circle. */
function seen(live: LiveView, expected: readonly Seen[]): readonly Seen[] {
  const circular = new Set(
    expected.filter(({ behind }) => behind === undefined).map(({ key }) => key),
  );
  return live.stacks
    .list()
    .map(({ key, name, current, waiting, newest, lock, outdated, behind }) => ({
      key,
      name,
      current: current && { id: current.id, phase: current.phase },
      waiting,
      newest: newest && { id: newest.id, phase: newest.phase },
      lock: lock?.reason,
      outdated,
      behind: circular.has(key) ? undefined : behind,
    }));
}

const sorted = (rows: readonly object[]): string =>
  JSON.stringify(
    rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    undefined,
    1,
  );

const change = fc.record({
  what: fc.constantFrom("stack", "queue", "run", "lock", "outputs", "remove"),
  stack: fc.nat(4),
  run: fc.nat(5),
  phase: fc.nat(PHASES.length - 1),
  other: fc.nat(4),
  revision: fc.nat(6),
});

it("after any writes two views are what the whole store says", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 40 }), fc.nat(40), async (changes, late) => {
      const { storage, put } = createRunFixture();
      using first = new LiveView({ storage, logger: silentLogger });
      let second: LiveView | undefined;
      for (const [index, { what, stack, run, phase, other, revision }] of changes.entries()) {
        if (index === late) second = new LiveView({ storage, logger: silentLogger });
        const reference = stackOf(stack);
        const place: Place = stackPlace(reference);
        const named = { tenancy: projectTenancy(reference), name: `n${stack}` };
        const id = `R${run}`;
        if (what === "stack") {
          await put(STACK_KIND, named, StackMessage.create({ id: reference.stack }));
        } else if (what === "queue") {
          const pending = Array.from({ length: other }, (_, at) => `R${at}`);
          await put(SERVER_KINDS.queue, place, StackQueue.create({ current: id, pending }));
        } else if (what === "run") {
          const stored = { id, stack: reference.stack, createdAtMs: BigInt(revision) };
          const message = Run.create({ ...stored, phase: PHASES[phase] ?? 1 });
          await put(RUN_KIND, memberPlace(reference, id), message);
        } else if (what === "lock") {
          await put(SERVER_KINDS.lock, place, StackLock.create({ reason: id }));
        } else if (what === "outputs") {
          const { account, project, stack: read } = stackOf(other);
          const inputs = [{ account, project, stack: read, name: "", revision: 2n, outputs: [] }];
          const message = StackOutputs.create({ revision: BigInt(revision), inputs });
          await put(STACK_OUTPUTS_KIND, place, message);
        } else {
          const kinds = [STACK_KIND, SERVER_KINDS.queue, RUN_KIND, SERVER_KINDS.lock];
          const kind = kinds[other % kinds.length] ?? STACK_KIND;
          const at =
            kind === STACK_KIND ? named : kind === RUN_KIND ? memberPlace(reference, id) : place;
          const found = await storage.read("strong", idOf(kind, at)).catch(() => undefined);
          if (found !== undefined) await storage.deleteCAS(found.id, found.version);
        }
      }
      const whole = await naive(storage);
      const expected = sorted(whole);
      second ??= new LiveView({ storage, logger: silentLogger });
      using other = second;
      for (const live of [first, other]) {
        await expect
          .poll(() => sorted(seen(live, whole)), { timeout: 10_000, interval: 2 })
          .toBe(expected);
      }
    }),
    { numRuns: 60 },
  );
});
