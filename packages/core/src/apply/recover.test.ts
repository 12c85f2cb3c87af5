import { expect, it } from "vitest";
import type { StateWriter } from "../state/stack-state.ts";
import type { StateChange } from "../state/state-change.ts";
import type { StateObject } from "../state/state-object.ts";
import { settleUnresolved } from "./recover.ts";

/** What is written where the user says that an object is absent, and its provider is not available. */
async function absent(kind: "create" | "update" | "delete", privateBytes: Uint8Array) {
  const operation = { id: "op-1", kind, started: true };
  const object = { address: "t.a", deposed: "", phase: "unresolved", operation, privateBytes };
  const written: StateChange[] = [];
  const writer = {
    objects: new Map([["t.a", object as unknown as StateObject]]),
    write: async (change: StateChange) => void written.push(change),
  };
  const settled = await settleUnresolved(
    writer as unknown as StateWriter,
    () => ({ kind: "absent" }),
    async () => Promise.resolve(undefined),
    {},
  );
  return [settled[0]?.outcome, written.length];
}

it("forgets no parts of an object whose provider cannot say what it has", async () => {
  const parts = Buffer.from("parts");
  expect(await absent("create", parts)).toEqual(["unresolved", 0]);
  expect(await absent("update", parts)).toEqual(["unresolved", 0]);
  expect(await absent("create", new Uint8Array())).toEqual(["absent", 1]);
  expect(await absent("update", new Uint8Array())).toEqual(["absent", 1]);
  expect(await absent("delete", parts)).toEqual(["absent", 1]);
});
