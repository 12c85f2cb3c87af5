import { expect, test } from "vitest";
import { OtherWriters } from "./other-writers.ts";

function others() {
  let nowMs = 0;
  const writers = new OtherWriters(() => nowMs);
  return { writers, pass: (ms: number) => (nowMs += ms) };
}

test("an instance whose revisions follow one another is alone", () => {
  const { writers } = others();
  writers.wrote(7, 9);
  writers.wrote(10, 10);
  writers.wrote(11, 30);
  expect(writers.active).toBe(false);
});

test("an answer that overtakes the one before is no sign of others", () => {
  const { writers } = others();
  writers.wrote(1, 2);
  writers.wrote(6, 9);
  writers.wrote(3, 5);
  writers.wrote(10, 10);
  expect(writers.active).toBe(false);
});

test("a revision that stays missing was another's, for a second", () => {
  const { writers, pass } = others();
  writers.wrote(1, 2);
  writers.wrote(4, 5);
  expect(writers.active).toBe(false);
  writers.wrote(6, 6);
  expect(writers.active).toBe(true);
  pass(1_000);
  expect(writers.active).toBe(false);
  writers.wrote(7, 7);
  expect(writers.active).toBe(false);
});

test("one that is missing each time keeps it so", () => {
  const { writers, pass } = others();
  for (let revision = 1; revision < 40; revision += 2) {
    writers.wrote(revision, revision);
    pass(200);
  }
  expect(writers.active).toBe(true);
});
