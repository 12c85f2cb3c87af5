import type { Diagnostic } from "@stackwright/lang";
import { expect, it } from "vitest";
import type { StateObject } from "../state/state-object.ts";
import type { Moves } from "./moves.ts";
import { unresolvedObjects } from "./unresolved-objects.ts";

/** What is advised where the user has found nothing. */
function adviceFor(privateBytes: Uint8Array): string | undefined {
  const object = { address: "t.a", phase: "unresolved", privateBytes } as StateObject;
  const moves = { objects: new Map([["t.a", object]]), previous: new Map() } as unknown as Moves;
  const found: Diagnostic[] = [];
  expect(unresolvedObjects(moves, found)).toEqual(["t.a"]);
  return found[0]?.detail.split("\n").at(-1)?.trim();
}

it("does not advise to give up parts that are recorded", () => {
  expect(adviceFor(new Uint8Array())).toBe("stackwright state resolve-absent 't.a'");
  expect(adviceFor(Buffer.from("parts"))).toBe("stackwright recover --absent 't.a'");
});
