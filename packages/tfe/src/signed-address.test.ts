import { expect, it } from "vitest";
import { readAddress, signAddress } from "./signed-address.ts";

const KEY = Buffer.alloc(32, 7);

it("reads what was signed, until it ends", () => {
  const signed = signAddress(KEY, { kind: "state", workspace: "a" }, 1_000);
  expect(readAddress(KEY, signed, 1_000)).toEqual({ kind: "state", workspace: "a" });
  expect(() => readAddress(KEY, signed, 1_001)).toThrow("expired");
});

it.each([
  ["of another key", () => signAddress(Buffer.alloc(32, 8), {}, 1_000)],
  ["with another payload", (text: string) => text.replace(/^[^.]*/, btoa("[2000,{}]"))],
  ["without a tag", (text: string) => text.replace(/\..*/, "")],
  ["with more behind it", (text: string) => `${text}.x`],
  ["that is empty", () => ""],
])("refuses an address %s", (_name, change) => {
  const changed = change(signAddress(KEY, {}, 1_000));
  expect(() => readAddress(KEY, changed, 0)).toThrow("not valid");
});
