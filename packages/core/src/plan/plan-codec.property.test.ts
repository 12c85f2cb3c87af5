import { Mark, Type, Value } from "@stackwright/cty";
import fc from "fast-check";
import { expect, it } from "vitest";
import { EngineError } from "../errors.ts";
import type { Plan } from "./plan.ts";
import { decodePlan, encodePlan, planDigest } from "./plan-codec.ts";

const secret = Value.string("secret").mark(Mark.sensitive);
const object = Value.object({
  id: Value.string("i-1"),
  word: secret,
  later: Value.unknown(Type.string),
  tags: Value.map(new Map([["a", Value.string("b")]]), Type.string),
});
const PROVIDER = { source: "test.local/conf/mock", version: "1.2.3", alias: "" };

/** A plan with something in each of its parts. */
const PLAN: Plan = {
  stack: "s",
  revision: 7n,
  createdAtMs: 0,
  mode: "normal",
  partial: false,
  options: { targets: [], excludes: [], replace: ["mock_thing.x"] },
  workspace: "default",
  variables: new Map([["word", secret]]),
  providers: [],
  expansions: [],
  changes: [
    {
      address: "mock_thing.x",
      deposed: "",
      mode: "managed",
      type: "mock_thing",
      name: "x",
      module: "",
      key: "k",
      provider: PROVIDER,
      action: "update",
      before: object,
      after: object,
      replacePaths: [],
      causes: [],
      words: { priorPrivate: Uint8Array.of(1, 2), plannedPrivate: Uint8Array.of() },
      schemaVersion: 0,
      dependencies: [{ address: "mock_thing.y", scope: "instance", kind: "reference" }],
      createBeforeDestroy: false,
      record: false,
      legacyTypeSystem: false,
    },
  ],
  known: new Map([["mock_thing.y", object]]),
  outputs: [],
  drift: [],
  checks: [],
  inputs: [],
};

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** All places of a document, as the way to each. */
function placesOf(
  value: Json,
  way: readonly (string | number)[] = [],
): (readonly (string | number)[])[] {
  const members =
    value === null || typeof value !== "object"
      ? []
      : Array.isArray(value)
        ? value.map((one, index) => [index, one] as const)
        : Object.entries(value);
  return [way, ...members.flatMap(([name, one]) => placesOf(one, [...way, name]))];
}

function changedAt(value: Json, way: readonly (string | number)[], change: Json | undefined): Json {
  const [name, ...rest] = way;
  if (name === undefined || value === null || typeof value !== "object") return change ?? null;
  const copy = structuredClone(value) as Record<string | number, Json>;
  if (rest.length === 0 && change === undefined) {
    if (Array.isArray(copy)) copy.splice(Number(name), 1);
    else delete copy[name];
  } else copy[name] = changedAt(copy[name] ?? null, rest, change);
  return copy;
}

const DOCUMENT = JSON.parse(new TextDecoder().decode(encodePlan(PLAN))) as Json;
const PLACES = placesOf(DOCUMENT);
/** What a place has instead: nothing, another kind of value, or bytes of msgpack that lie about their length. */
const instead = fc.oneof(
  fc.constant(undefined),
  fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<Json>,
  fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes).toString("base64")),
  fc.constantFrom<Json>(
    Buffer.from([0xdd, 0xff, 0xff, 0xff, 0xff]).toString("base64"),
    Buffer.from([0xdf, 0xff, 0xff, 0xff, 0xff]).toString("base64"),
    Buffer.from([0xc6, 0xff, 0xff, 0xff, 0xff]).toString("base64"),
    Buffer.alloc(100_000, 0x91).toString("base64"),
    "__proto__",
    -1,
    1e308,
  ),
);

it("a stored plan comes back, and no damage of its members makes anything of it but an error or a plan", () => {
  expect(planDigest(decodePlan(encodePlan(PLAN)))).toBe(planDigest(PLAN));
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom(...PLACES), instead), { minLength: 1, maxLength: 3 }),
      (changes) => {
        const damaged = changes.reduce(
          (value, [way, change]) => changedAt(value, way, change),
          DOCUMENT,
        );
        let plan: Plan;
        try {
          plan = decodePlan(Buffer.from(JSON.stringify(damaged)));
        } catch (error) {
          expect(error).toBeInstanceOf(EngineError);
          expect(error).toMatchObject({ code: "ENGINE_PLAN_INVALID" });
          return;
        }
        // What is taken for a plan can be written, and is the same plan again.
        expect(planDigest(decodePlan(encodePlan(plan)))).toBe(planDigest(plan));
      },
    ),
  );
});
