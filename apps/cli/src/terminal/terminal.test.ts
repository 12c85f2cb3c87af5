import { PassThrough, Readable } from "node:stream";
import { expect, it } from "vitest";
import { createTerminal } from "./terminal.ts";

it.each([
  ["of a size that nobody told", { columns: 0, rows: 0 }, [78, 78, 24]],
  ["that says nothing of a size", {}, [78, 78, 24]],
  ["that is narrow", { columns: 40, rows: 10 }, [40, 40, 10]],
])("lays text out for a terminal %s", (_name, size, expected) => {
  const output = Object.assign(new PassThrough(), { isTTY: true, ...size });
  const error = new PassThrough();
  const { width, columns, rows } = createTerminal({
    input: Readable.from([]),
    output,
    error,
    env: {},
  });
  expect([width, columns, rows]).toEqual(expected);
});
