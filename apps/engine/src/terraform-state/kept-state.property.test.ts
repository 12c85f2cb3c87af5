import { systemClock } from "@stackwright/base/clock";
import { TerraformLock } from "@stackwright/proto/stackwright";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isServerError } from "../domain/server-error.ts";
import { lockStack, unlockStack } from "../queue/stack-lock.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import type { StateContent } from "./state-content.ts";
import { breakLock, lockState, unlockState } from "./state-lock.ts";
import {
  addStateVersion,
  deleteState,
  findCurrentVersion,
  listStateVersions,
} from "./state-versions.ts";

/** A state whose bytes are told apart by one letter. */
function contentOf(serial: number, letter: string, lineage: string): StateContent {
  return {
    serial: BigInt(serial),
    lineage,
    terraformVersion: "1.11.4",
    md5: letter,
    bytes: 1n,
    serialOffset: 0n,
    contentSha256: `${letter}${serial}`.padEnd(64, "0"),
  };
}

async function start() {
  const fixture = createRunFixture();
  const reference = await fixture.stack("one");
  const stack = {
    name: "one",
    reference,
    description: "",
    createdAtMs: 0,
    adoption: undefined,
  };
  return { ...fixture, reference, stack };
}

/** `ok`, or the code of the refusal. */
async function outcomeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "ok";
  } catch (error) {
    if (isServerError(error)) return error.code;
    throw error;
  }
}

const id = fc.constantFrom("a", "b");
const lockId = fc.constantFrom(undefined, "a", "b");
const operation = fc.oneof(
  fc.record({ kind: fc.constant("lock" as const), id }),
  fc.record({ kind: fc.constant("unlock" as const), id }),
  fc.record({ kind: fc.constant("break" as const) }),
  fc.record({ kind: fc.constant("person locks" as const), forMs: fc.constantFrom(undefined, 50) }),
  fc.record({ kind: fc.constant("person unlocks" as const) }),
  fc.record({ kind: fc.constant("wait" as const) }),
  fc.record({ kind: fc.constant("delete" as const), lockId }),
  fc.record({
    kind: fc.constant("write" as const),
    lockId,
    serial: fc.integer({ min: 1, max: 4 }),
    letter: fc.constantFrom("x", "y"),
    lineage: fc.constantFrom("one", "two"),
  }),
);

it("decides as a naive model does", { timeout: 60_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 30 }), async (operations) => {
      const { parts, storage, clock, stack, reference } = await start();
      let held: { id: string | undefined; untilMs: number } | undefined;
      let current: { serial: number; letter: string; lineage: string } | undefined;
      let count = 0;
      for (const given of operations) {
        if (held !== undefined && held.untilMs <= clock.wallMs()) held = undefined;
        let expected = "ok";
        let actual = "ok";
        switch (given.kind) {
          case "lock": {
            const lock = TerraformLock.create({ id: given.id });
            actual = await outcomeOf(lockState(parts, stack, { actor: "ann", lock }));
            if (held === undefined) held = { id: given.id, untilMs: Number.POSITIVE_INFINITY };
            else if (held.id !== given.id) expected = "stack_locked";
            break;
          }
          case "unlock":
            actual = await outcomeOf(unlockState(parts, reference, given.id));
            if (held?.id === given.id) held = undefined;
            else if (held !== undefined) expected = "conflict";
            break;
          case "break":
            actual = await outcomeOf(breakLock(parts, reference, { actor: "ben", force: false }));
            if (held !== undefined && held.id === undefined) expected = "stack_locked";
            else held = undefined;
            break;
          case "person locks": {
            const { forMs } = given;
            const reason = "maintenance";
            actual = await outcomeOf(lockStack(parts, reference, { actor: "ann", reason, forMs }));
            if (held?.id !== undefined) expected = "stack_locked";
            else {
              const untilMs =
                forMs === undefined ? Number.POSITIVE_INFINITY : clock.wallMs() + forMs;
              held = { id: undefined, untilMs };
            }
            break;
          }
          case "person unlocks":
            actual = await outcomeOf(unlockStack(parts, reference, { actor: "ann", force: false }));
            if (held?.id !== undefined) expected = "stack_locked";
            else held = undefined;
            break;
          case "wait":
            await clock.advance(30);
            break;
          case "delete":
            actual = await outcomeOf(deleteState(parts, { stack, lockId: given.lockId }));
            expected = lockOutcome(held, given.lockId);
            if (expected === "ok") current = undefined;
            break;
          case "write": {
            const { serial, letter, lineage } = given;
            const content = contentOf(serial, letter, lineage);
            const write = { stack, actor: "ann", content, lockId: given.lockId };
            actual = await outcomeOf(addStateVersion(parts, write));
            expected = lockOutcome(held, given.lockId);
            if (expected !== "ok") break;
            if (current?.serial === serial && current.letter === letter) break;
            const follows = current === undefined || serial > current.serial;
            const isSameLine = current === undefined || lineage === current.lineage;
            if (!follows || (!isSameLine && held === undefined)) expected = "state_conflict";
            else {
              current = { serial, letter, lineage };
              count += 1;
            }
            break;
          }
          default:
            given satisfies never;
        }
        expect([given, actual]).toEqual([given, expected]);
      }
      const found = await findCurrentVersion(storage, reference);
      expect(found && [Number(found.serial), found.md5, found.lineage]).toEqual(
        current && [current.serial, current.letter, current.lineage],
      );
      const numbers = (await listStateVersions(storage, reference)).map(({ number }) => number);
      expect(numbers).toEqual(Array.from({ length: count }, (_, index) => BigInt(count - index)));
    }),
    { numRuns: 300 },
  );
});

function lockOutcome(held: { id: string | undefined } | undefined, given: string | undefined) {
  if (held === undefined) return given === undefined ? "ok" : "state_conflict";
  return given !== undefined && held.id === given ? "ok" : "stack_locked";
}

it("of many writers of one serial at once, one writes it", { timeout: 60_000 }, async () => {
  const { parts: still, storage, stack, reference } = await start();
  // Attempts that lost wait a moment.
  const parts = { ...still, clock: systemClock };
  for (let serial = 1; serial <= 10; serial += 1) {
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, async (_, writer) =>
        outcomeOf(
          addStateVersion(parts, {
            stack,
            actor: "ann",
            content: contentOf(serial, String(writer), "one"),
            lockId: undefined,
          }),
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === "ok")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "state_conflict")).toHaveLength(7);
  }
  const versions = await listStateVersions(storage, reference);
  expect(versions.map(({ serial }) => Number(serial))).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
});

it("of many commands that lock at once, one has the lock", async () => {
  const { parts: still, stack } = await start();
  const parts = { ...still, clock: systemClock };
  const outcomes = await Promise.all(
    Array.from({ length: 16 }, async (_, index) =>
      outcomeOf(
        lockState(parts, stack, { actor: "ann", lock: TerraformLock.create({ id: `l${index}` }) }),
      ),
    ),
  );
  expect(outcomes.filter((outcome) => outcome === "ok")).toHaveLength(1);
});
