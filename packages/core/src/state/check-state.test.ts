import { describe, expect, it } from "vitest";
import { content, edge, plan } from "../testing/state-content.ts";
import { checkState, resourceOf } from "./check-state.ts";
import type { StateObject } from "./state-object.ts";

function object(
  address: string,
  needs: readonly string[] = [],
  more: Partial<StateObject> = {},
): StateObject {
  return {
    address,
    deposed: "",
    ...plan(...needs),
    ...content(address),
    phase: "ready",
    observedAtMs: 0,
    epoch: 1n,
    revision: 1n,
    aliases: [],
    ...more,
  };
}

const updating: Partial<StateObject> = {
  phase: "updating",
  operation: { id: "op", kind: "update", started: true, run: "R", epoch: 1n, replace: false },
};
const whole = (address: string) => ({ ...edge(address), scope: "resource" }) as const;

describe("the whole state", () => {
  it("is right where every dependency exists, also by a former address", () => {
    const moved = object("t.new", [], { aliases: ["t.old"] });
    expect(checkState([moved, object("t.a", ["t.new"]), object("t.b", ["t.old"])])).toEqual([]);
  });

  it("is wrong where a dependency does not exist", () => {
    expect(checkState([object("t.a", ["t.b"])])).toEqual([
      "t.a depends on t.b, which does not exist",
    ]);
  });

  it("may have deposed objects and resources whose dependencies are gone", () => {
    expect(checkState([object("t.a", ["t.b"], { deposed: "0123abcd" })])).toEqual([]);
    expect(checkState([object("t.a", [], { dependencies: [whole("t.b")] })])).toEqual([]);
  });

  it("is wrong with a pending operation, unless it was interrupted", () => {
    const pending = [
      object("t.a", [], updating),
      object("t.b", [], { ...updating, deposed: "0123abcd" }),
    ];
    expect(checkState(pending)).toEqual([
      "t.a is still updating",
      "t.b (0123abcd) is still updating",
    ]);
    expect(checkState(pending, { interrupted: true })).toEqual([]);
  });

  it("is wrong with an object that is wrong by itself", () => {
    expect(checkState([object("t.a", [], { type: "" })])).toEqual([
      "t.a has no address or no type",
    ]);
  });

  it("is wrong with a schema version above the one that the provider knows", () => {
    const check = (highest: number | undefined) =>
      checkState([object("t.a")], { schemaVersion: () => highest });
    expect(check(2)).toEqual([]);
    expect(check(undefined)).toEqual([]);
    expect(check(1)).toEqual(["t.a has schema version 2, its provider knows 1"]);
  });
});

describe("a circle of dependencies", () => {
  it("is found through instances, and named without what leads to it", () => {
    const objects = [
      object("t.a", ["t.b"]),
      object("t.b", ["t.c"]),
      object("t.c", ["t.d"]),
      object("t.d", ["t.b"]),
    ];
    expect(checkState(objects)).toEqual([
      "the dependencies have a circle: t.b -> t.c -> t.d -> t.b",
    ]);
  });

  it("is found through a resource as a whole, also by its second instance", () => {
    const objects = [
      object("t.a", [], { dependencies: [whole("t.b")] }),
      object("t.b[0]"),
      object("t.b[1]", ["t.a"]),
    ];
    expect(checkState(objects)).toEqual([
      "the dependencies have a circle: t.a -> resource t.b -> t.b[1] -> t.a",
    ]);
  });

  it("is found through a former address", () => {
    const objects = [object("t.new", ["t.a"], { aliases: ["t.old"] }), object("t.a", ["t.old"])];
    expect(checkState(objects)).toEqual(["the dependencies have a circle: t.new -> t.a -> t.new"]);
  });

  it("is found also behind a dependency that does not exist", () => {
    expect(checkState([object("t.a", ["t.gone", "t.b"]), object("t.b", ["t.a"])])).toEqual([
      "t.a depends on t.gone, which does not exist",
      "the dependencies have a circle: t.a -> t.b -> t.a",
    ]);
  });

  it("is not two ways to the same object, nor one of a deposed object", () => {
    const diamond = [
      object("t.a", ["t.b", "t.c"]),
      object("t.b", ["t.d"]),
      object("t.c", ["t.d"]),
      object("t.d"),
    ];
    expect(checkState(diamond)).toEqual([]);
    expect(
      checkState([
        object("t.a", ["t.b"]),
        object("t.b"),
        object("t.b", ["t.a"], { deposed: "0123abcd" }),
      ]),
    ).toEqual([]);
  });
});

it.each([
  ["t.a", "t.a"],
  ["t.a[0]", "t.a"],
  ["t.a[12]", "t.a"],
  ['t.a["x"]', "t.a"],
  ['t.a["x]"]', "t.a"],
  ['t.a["a\\"]b"]', "t.a"],
  ['module.m["k"].t.a', 'module.m["k"].t.a'],
  ['module.m["k"].t.a["l"]', 'module.m["k"].t.a'],
])("the resource of %s is %s", (address, resource) => {
  expect(resourceOf(address)).toBe(resource);
});
