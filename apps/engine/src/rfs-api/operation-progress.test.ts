import {
  RfsStackInstance_Phase,
  RfsStackSetOperation,
  type RfsStackSetOperation_Member,
} from "@stackwright/proto/stackwright";
import fc from "fast-check";
import { expect, it } from "vitest";
import { operationProgress } from "./operation-progress.ts";

const { PHASE_WAITING, PHASE_RUNNING, PHASE_COMPLETE, PHASE_FAILED, PHASE_CANCELED } =
  RfsStackInstance_Phase;

const LETTERS: Readonly<Record<string, RfsStackInstance_Phase>> = {
  w: PHASE_WAITING,
  r: PHASE_RUNNING,
  c: PHASE_COMPLETE,
  f: PHASE_FAILED,
  x: PHASE_CANCELED,
};

/** An operation with the phases of its members by region, such as "cfww". */
function operationOf(
  regions: Readonly<Record<string, string>>,
  given: Parameters<typeof RfsStackSetOperation.fromPartial>[0] = {},
) {
  const members = Object.entries(regions).flatMap(([region, phases]) =>
    phases.split("").map((letter, at) => ({
      region,
      project: `p${at}`,
      phase: LETTERS[letter] ?? PHASE_WAITING,
    })),
  );
  return RfsStackSetOperation.fromPartial({
    sequential: true,
    concurrency: { amount: 1 },
    ...given,
    members,
  });
}

function names(members: readonly Pick<RfsStackSetOperation_Member, "region" | "project">[]) {
  return members.map(({ region, project }) => `${region}/${project}`);
}

it("begins with one instance of the first region, and goes on to the next region after it", () => {
  expect(names(operationProgress(operationOf({ a: "ww", b: "w" })).start)).toEqual(["a/p0"]);
  expect(names(operationProgress(operationOf({ a: "rw", b: "w" })).start)).toEqual([]);
  expect(names(operationProgress(operationOf({ a: "cc", b: "w" })).start)).toEqual(["b/p0"]);
  expect(operationProgress(operationOf({ a: "cc", b: "c" }))).toMatchObject({
    isOver: true,
    exceeded: [],
  });
});

it("leaves the rest out after too many failures: of the region, or of all that come after it", () => {
  const one = operationProgress(operationOf({ a: "fw", b: "w" }));
  expect(names(one.cancel)).toEqual(["a/p1", "b/p0"]);
  expect(one.exceeded).toEqual(["a"]);
  const sideBySide = operationProgress(operationOf({ a: "fw", b: "w" }, { sequential: false }));
  expect(names(sideBySide.cancel)).toEqual(["a/p1"]);
  expect(names(sideBySide.start)).toEqual(["b/p0"]);
  expect(operationProgress(operationOf({ a: "fx", b: "x" }))).toMatchObject({
    isOver: true,
    exceeded: ["a"],
  });
});

it("has as many in progress as may fail yet, unless the tolerance is soft", () => {
  const given = { tolerance: { amount: 2 }, concurrency: { amount: 5 } };
  expect(operationProgress(operationOf({ a: "wwwww" }, given)).start).toHaveLength(3);
  expect(operationProgress(operationOf({ a: "fwwww" }, given)).start).toHaveLength(2);
  const soft = { ...given, soft: true };
  expect(operationProgress(operationOf({ a: "fwwww" }, soft)).start).toHaveLength(4);
  const share = {
    tolerance: { amount: 50, percent: true },
    concurrency: { amount: 1, percent: true },
  };
  expect(operationProgress(operationOf({ a: "wwww" }, share)).start).toHaveLength(1);
});

it("ends from any choice of outcomes, with at most one failure more than a region tolerates", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }),
      fc.nat(3),
      fc.integer({ min: 1, max: 6 }),
      fc.boolean(),
      fc.infiniteStream(fc.boolean()),
      (sizes, tolerance, concurrency, sequential, outcomes) => {
        const regions = Object.fromEntries(sizes.map((size, at) => [`r${at}`, "w".repeat(size)]));
        const given = {
          sequential,
          tolerance: { amount: tolerance },
          concurrency: { amount: concurrency },
        };
        const operation = operationOf(regions, given);
        for (let step = 0; step < 100; step += 1) {
          const { start, cancel, isOver } = operationProgress(operation);
          if (isOver) break;
          for (const member of cancel) member.phase = PHASE_CANCELED;
          for (const member of start) member.phase = PHASE_RUNNING;
          const running = operation.members.find(({ phase }) => phase === PHASE_RUNNING);
          if (running === undefined) continue;
          running.phase = outcomes.next().value === true ? PHASE_FAILED : PHASE_COMPLETE;
        }
        expect(operationProgress(operation).isOver).toBe(true);
        for (const own of Map.groupBy(operation.members, ({ region }) => region).values()) {
          const failed = own.filter(({ phase }) => phase === PHASE_FAILED).length;
          expect(failed).toBeLessThanOrEqual(tolerance + 1);
        }
      },
    ),
  );
});
