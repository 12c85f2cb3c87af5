import { expect, it } from "vitest";
import { nearOption } from "./near-option.ts";

const NAMES = ["port", "without-console", "without-tls", "watch", "no-color"];

it.each([
  ["Unknown option '--prot'", '"--port"'],
  ["error: unknown option '-prot'", '"-port"'],
  ["Unknown option '--no-console'", '"--without-console"'],
  ["Unknown option '--no-consle'", '"--without-console"'],
  ["Unknown option '--no-colour'", '"--no-color"'],
])("suggests for %s the option %s", (message, expected) => {
  expect(nearOption(message, NAMES)).toBe(`Did you mean ${expected}?`);
});

it.each([
  "Unknown option '--frobnicate'",
  "Unknown option '--no-frobnicate'",
  "Unknown option '-x'",
  "Unexpected argument 'port'",
])("suggests nothing for %s", (message) => {
  expect(nearOption(message, NAMES)).toBeUndefined();
});
