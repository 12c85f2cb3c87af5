import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { PacedLines } from "./paced-lines.ts";

/** One turn of the event loop, in which streams hand on what they have. */
const turn = async (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve);
  });

it("reads nothing further while there is no room, and everything in the end", async () => {
  const room = Promise.withResolvers<void>();
  let isFull = true;
  const lines: string[] = [];
  const output = new PassThrough();
  const errors = new PassThrough();
  const paced = new PacedLines(
    (line) => void lines.push(line),
    () => (isFull ? room.promise : undefined),
  );
  paced.read(output);
  paced.read(errors);
  output.write("one\n");
  await turn();
  output.write("two\n");
  errors.write("three\n");
  await turn();
  expect(lines).toEqual(["one"]);
  expect(paced.held).toBeInstanceOf(Promise);
  isFull = false;
  room.resolve();
  await paced.held;
  output.end("four\n");
  await turn();
  paced.end();
  expect(lines.toSorted()).toEqual(["four", "one", "three", "two"]);
  expect(paced.held).toBeUndefined();
});

it("reads again after a wait that failed", async () => {
  const lines: string[] = [];
  const output = new PassThrough();
  let waits = 0;
  const paced = new PacedLines(
    (line) => void lines.push(line),
    () => (waits++ === 0 ? Promise.reject(new Error("gone")) : undefined),
  );
  paced.read(output);
  output.write("one\n");
  await turn();
  output.write("two\n");
  await paced.held;
  await turn();
  expect(lines).toEqual(["one", "two"]);
});
