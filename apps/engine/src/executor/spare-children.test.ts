import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { SpareChildren } from "./spare-children.ts";

function start() {
  const clock = createManualClock();
  const made: { readonly number: number; isOver: boolean; kills: number; kill(): void }[] = [];
  let isFull = false;
  const create = () => {
    if (isFull) throw new Error("no room");
    const child = {
      number: made.length,
      isOver: false,
      kills: 0,
      kill: () => void (child.kills += 1),
    };
    made.push(child);
    return child;
  };
  const fill = (is: boolean): void => void (isFull = is);
  const kills = (): readonly number[] => made.map((child) => child.kills);
  return {
    kills,
    clock,
    made,
    fill,
    spare: new SpareChildren({ create, clock, waitMs: 1_000, quietMs: 100 }),
  };
}

it("each child is taken once, and the next one is started with it", () => {
  const { made, spare } = start();
  expect(made).toEqual([]);
  expect(spare.take().number).toBe(0);
  expect(made).toHaveLength(2);
  expect(spare.take().number).toBe(1);
  expect(spare.take().number).toBe(2);
  expect(made).toHaveLength(4);
  expect(made.map(({ kills }) => kills)).toEqual([0, 0, 0, 0]);
});

it("a child that ended while it waited is given to no step", () => {
  const { made, spare } = start();
  spare.take();
  const [, waiting] = made;
  if (waiting !== undefined) waiting.isOver = true;
  expect(spare.take().number).toBe(2);
  spare[Symbol.dispose]();
  expect(waiting?.kills).toBe(0);
});

it("a child that nothing takes ends after its time, and one that was taken does not", async () => {
  const { clock, made, spare } = start();
  spare.take();
  await clock.advance(999);
  expect(made.map(({ kills }) => kills)).toEqual([0, 0]);
  const taken = spare.take();
  await clock.advance(999);
  expect(made.map(({ kills }) => kills)).toEqual([0, 0, 0]);
  await clock.advance(1);
  expect(made.map(({ kills }) => kills)).toEqual([0, 0, 1]);
  expect(taken.kills).toBe(0);
  // Nothing waits until something is executed again.
  await clock.advance(10_000);
  expect(made).toHaveLength(3);
  expect(spare.take().number).toBe(3);
});

it("a step has the child that waits also where no other one can be started", () => {
  const { made, spare, fill } = start();
  spare.take();
  fill(true);
  expect(spare.take().number).toBe(1);
  expect(() => spare.take()).toThrow("no room");
  fill(false);
  expect(spare.take().number).toBe(2);
  spare[Symbol.dispose]();
  expect(made.map(({ kills }) => kills)).toEqual([0, 0, 0, 1]);
});

it("its end ends the child that waits, and none is started from then on", () => {
  const { made, spare } = start();
  spare.take();
  spare[Symbol.dispose]();
  expect(made.map(({ kills }) => kills)).toEqual([0, 1]);
  expect(spare.take().number).toBe(2);
  expect(made).toHaveLength(3);
});

it("a second one starts when nothing was executed for a moment, and then both are taken", async () => {
  const { clock, kills, made, spare } = start();
  spare.take();
  spare.rest();
  await clock.advance(99);
  expect(made).toHaveLength(2);
  await clock.advance(1);
  expect(made).toHaveLength(3);
  // A plan: the one that waits longest. Its apply has the other one without a start of its own.
  expect(spare.take().number).toBe(1);
  expect(made).toHaveLength(3);
  expect(spare.take().number).toBe(2);
  expect(made).toHaveLength(4);
  expect(kills()).toEqual([0, 0, 0, 0]);
});

it("while steps are executed, and between a plan and its apply, one waits alone", async () => {
  const { clock, made, spare } = start();
  spare.take();
  await clock.advance(500);
  expect(made).toHaveLength(2);
  spare.rest();
  await clock.advance(50);
  spare.take();
  await clock.advance(500);
  expect(made).toHaveLength(3);
});

it("however often it rests, two wait at most, each for its own time, and the end ends both", async () => {
  const { clock, kills, made, spare } = start();
  spare.take();
  for (let round = 0; round < 5; round += 1) {
    spare.rest();
    await clock.advance(100);
  }
  expect(made).toHaveLength(3);
  await clock.advance(500);
  expect(kills()).toEqual([0, 1, 0]);
  await clock.advance(100);
  expect(kills()).toEqual([0, 1, 1]);
  spare.take();
  spare.rest();
  await clock.advance(100);
  expect(made).toHaveLength(6);
  spare.rest();
  spare[Symbol.dispose]();
  expect(kills()).toEqual([0, 1, 1, 0, 1, 1]);
  spare.rest();
  await clock.advance(1_000);
  expect(made).toHaveLength(6);
});
