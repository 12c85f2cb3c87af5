import { silentLogger } from "@stackwright/base/logger";
import { isEnded, STORED_RUN_PHASES, storedRunPhase } from "@stackwright/core";
import { Run, RunTrigger, StackOutputs, StackQueue } from "@stackwright/proto/stackwright";
import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace, RUN_KIND, STACK_OUTPUTS_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LiveView } from "./live-view.ts";

const PHASES = Object.values(STORED_RUN_PHASES);
const EVERYWHERE = { partition: "*", peerName: "*", namespace: "*" };

const change = fc.record({
  what: fc.constantFrom("run", "queue", "outputs", "trigger"),
  stack: fc.nat(2),
  // More than are kept of a stack.
  run: fc.nat(30),
  phase: fc.nat(PHASES.length - 1),
  revision: fc.nat(5),
});

it("runs, queues and due triggers are what the whole store says", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 80 }), async (changes) => {
      const { storage, put, stack: createStack } = createRunFixture();
      const stacks = [await createStack("a"), await createStack("b"), await createStack("c")];
      using live = new LiveView({ storage, logger: silentLogger });
      for (const { what, stack, run, phase, revision } of changes) {
        const reference = stacks[stack];
        if (reference === undefined) throw new Error("no stack");
        const id = `R${String(run).padStart(2, "0")}`;
        if (what === "run") {
          const stored = { id, stack: reference.stack, createdAtMs: BigInt(revision) };
          const message = Run.create({ ...stored, phase: PHASES[phase] ?? 1 });
          await put(RUN_KIND, memberPlace(reference, id), message);
        } else if (what === "queue") {
          const pending = Array.from(
            { length: revision },
            (_, at) => `R${String(at).padStart(2, "0")}`,
          );
          const message = StackQueue.create({ current: run < 6 ? "" : id, pending });
          await put(SERVER_KINDS.queue, stackPlace(reference), message);
        } else if (what === "outputs") {
          const message = StackOutputs.create({ revision: BigInt(revision) });
          await put(STACK_OUTPUTS_KIND, stackPlace(reference), message);
        } else {
          const { project, stack: producer } = stacks[run % 3] ?? reference;
          const at = { producerProject: project, producer, revision: BigInt(revision) };
          const message = RunTrigger.create({ ...at, paused: phase === 0 });
          await put(SERVER_KINDS.trigger, memberPlace(reference, `T${phase % 4}`), message);
        }
      }

      const all = async <M>(kind: Parameters<typeof decodeRecord<M>>[0]) =>
        (await storage.list("strong", kind.type, EVERYWHERE, "")).map((resource) => ({
          name: resource.id.name,
          message: decodeRecord(kind, resource),
        }));
      const runs = await all(RUN_KIND);
      const queues = await all(SERVER_KINDS.queue);
      const outputs = await all(STACK_OUTPUTS_KIND);
      const triggers = await all(SERVER_KINDS.trigger);
      const recent = stacks.flatMap(({ stack }) => {
        const own = runs.filter(({ message }) => message.stack === stack);
        const isOver = (phase: (typeof PHASES)[number]): boolean => {
          const name = storedRunPhase(phase);
          return name !== undefined && isEnded(name);
        };
        const ended = own
          .filter(({ message }) => isOver(message.phase))
          .toSorted(({ message: a }, { message: b }) => {
            const byTime = Number(b.createdAtMs - a.createdAtMs);
            return byTime === 0 ? (a.id < b.id ? 1 : -1) : byTime;
          });
        const open = own.filter(({ message }) => !isOver(message.phase));
        return [...open, ...ended.slice(0, 20)].map(({ name }) => name);
      });
      const queued = queues.flatMap(({ name, message: { current, pending } }) =>
        [current, ...pending].flatMap((id, position, ids) =>
          ids.indexOf(id) === position && runs.some((run) => run.name === `${name}.${id}`)
            ? [`${name}.${id}=${position}`]
            : [],
        ),
      );
      const due = triggers.flatMap(({ name, message }) => {
        const found = outputs.find((one) => one.name === message.producer);
        if (message.paused || found === undefined) return [];
        return found.message.revision > message.revision
          ? [`${name}@${found.message.revision}`]
          : [];
      });
      const expected = [recent, queued, due].map((list) => list.toSorted());
      const seen = () =>
        [
          live.runChanges.snapshot().objects.map(({ stack, id }) => `${stack.split("/")[2]}.${id}`),
          live.queueChanges
            .snapshot()
            .objects.map(({ stack, id, position }) => `${stack.split("/")[2]}.${id}=${position}`),
          live.dueTriggers.list().map(({ name, revision }) => `${name}@${revision}`),
        ].map((list) => list.toSorted());
      await expect.poll(seen, { timeout: 10_000, interval: 2 }).toEqual(expected);
    }),
    { numRuns: 30 },
  );
});
