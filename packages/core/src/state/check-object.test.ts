import { describe, expect, it } from "vitest";
import { content, edge, plan } from "../testing/state-content.ts";
import { checkEdits, checkShape } from "./check-object.ts";
import { ObjectIndex } from "./object-index.ts";
import { reduceChange } from "./reduce-change.ts";
import type { StateChange } from "./state-change.ts";
import type { ObjectOperation, ObjectPhase, StateObject } from "./state-object.ts";

const ANNOUNCED: ObjectOperation = {
  id: "op",
  kind: "update",
  started: true,
  run: "R",
  epoch: 1n,
  replace: false,
};

function object(phase: ObjectPhase, more: Partial<StateObject> = {}): StateObject {
  const isSettled = phase === "ready" || phase === "tainted";
  return {
    address: "t.a",
    deposed: "",
    ...plan(),
    phase,
    observedAtMs: 0,
    epoch: 1n,
    revision: 1n,
    aliases: [],
    ...(phase === "creating" ? { privateBytes: new Uint8Array() } : content("a")),
    ...(!isSettled && {
      operation: { ...ANNOUNCED, kind: phase === "creating" ? "create" : "update" },
    }),
    ...(phase === "unresolved" && { operation: { ...ANNOUNCED, problem: "lost" } }),
    ...more,
  };
}

const without = (
  from: StateObject,
  ...members: readonly ("value" | "operation")[]
): StateObject => {
  const copy = { ...from };
  for (const member of members) delete copy[member];
  return copy;
};

describe("the shape of an object", () => {
  it.each(["creating", "ready", "updating", "deleting", "tainted", "unresolved"] as const)(
    "is right where it is %s with what belongs to that",
    (phase) => {
      expect(checkShape(object(phase))).toEqual([]);
    },
  );

  it("may be a deposed one, or one of an unresolved create without content", () => {
    expect(checkShape(object("ready", { deposed: "0123abcd" }))).toEqual([]);
    const operation = { ...ANNOUNCED, kind: "create", problem: "lost" } as const;
    expect(checkShape(without(object("unresolved", { operation }), "value"))).toEqual([]);
  });

  const value = content("a").value;
  it.each<[string, StateObject, string]>([
    ["no address", object("ready", { address: "" }), " has no address or no type"],
    ["no type", object("ready", { type: "" }), "t.a has no address or no type"],
    [
      "a deposed key that is too long",
      object("ready", { deposed: "0123abcdef" }),
      "t.a (deposed 0123abcdef) has a malformed deposed key",
    ],
    [
      "an operation that is over",
      object("ready", { operation: ANNOUNCED }),
      "t.a is ready and has update",
    ],
    [
      "an operation beside a taint",
      object("tainted", { operation: ANNOUNCED }),
      "t.a is tainted and has update",
    ],
    [
      "no operation while it is updated",
      without(object("updating"), "operation"),
      "t.a is updating and has no operation",
    ],
    [
      "content before it was created",
      object("creating", { value }),
      "t.a has content before it was created",
    ],
    [
      "content though its create is not resolved",
      object("unresolved", { operation: { ...ANNOUNCED, kind: "create", problem: "lost" } }),
      "t.a has content before it was created",
    ],
    ["no content", without(object("ready"), "value"), "t.a has no content"],
    [
      "no content though only its update is not resolved",
      without(object("unresolved"), "value"),
      "t.a has no content",
    ],
    [
      "a deposed key while it is created",
      object("creating", { deposed: "0123abcd" }),
      "t.a (deposed 0123abcd) is being created, but deposed",
    ],
    [
      "no reason why it is unresolved",
      object("unresolved", { operation: ANNOUNCED }),
      "t.a does not say what is unresolved",
    ],
    [
      "a negative schema version",
      object("ready", { value: { ...value, schemaVersion: -1 } }),
      "t.a has no valid schema version",
    ],
    [
      "a broken schema version",
      object("ready", { value: { ...value, schemaVersion: 0.5 } }),
      "t.a has no valid schema version",
    ],
    [
      "content that is no object",
      object("ready", { value: { ...value, json: "[]" } }),
      "t.a has a content that is not an object",
    ],
    [
      "itself as a dependency",
      object("ready", { dependencies: [edge("t.b"), edge("t.a")] }),
      "t.a depends on itself",
    ],
    [
      "a dependency twice",
      object("ready", { dependencies: [edge("t.b"), edge("t.b")] }),
      "t.a has a dependency twice",
    ],
  ])("is wrong with %s", (_what, wrong, problem) => {
    expect(checkShape(wrong)).toEqual([problem]);
  });

  it("may have schema version 0, and dependencies that differ in kind or scope", () => {
    const dependencies = [
      edge("t.b"),
      { ...edge("t.b"), kind: "explicit" } as const,
      { ...edge("t.b"), scope: "resource" } as const,
    ];
    const right = object("ready", { value: { ...value, schemaVersion: 0 }, dependencies });
    expect(checkShape(right)).toEqual([]);
  });
});

/** What is wrong with a step on some objects. */
function problemsOf(objects: readonly StateObject[], change: StateChange): string[] {
  const index = new ObjectIndex(objects);
  const context = { run: "R", epoch: 1n, revision: 1n, nowMs: 0 };
  return checkEdits(reduceChange(index, change, context), index);
}

const KEY = { address: "t.a", deposed: "" };
const OPERATION = { id: "op" };
const named = (address: string, ...needs: readonly string[]): StateObject =>
  object("ready", { address, dependencies: needs.map(edge) });

describe("new dependencies", () => {
  const create = (...needs: readonly string[]): StateChange => ({
    kind: "create",
    key: KEY,
    object: plan(...needs),
    operation: OPERATION,
  });
  const needs = (...addresses: readonly string[]): StateChange => ({
    kind: "record",
    key: KEY,
    patch: { dependencies: addresses.map(edge) },
  });

  it("have to exist", () => {
    expect(problemsOf([], create("t.b"))).toEqual(["t.a depends on t.b, which does not exist"]);
    expect(problemsOf([named("t.a")], needs("t.b"))).toEqual([
      "t.a depends on t.b, which does not exist",
    ]);
  });

  it("on a resource as a whole need no instance", () => {
    const change = create();
    const dependencies = [{ ...edge("t.b"), scope: "resource" } as const];
    expect(
      problemsOf([], { ...change, object: { ...plan(), dependencies } } as StateChange),
    ).toEqual([]);
  });

  it("may be known by a former address", () => {
    const moved = object("ready", { address: "t.new", aliases: ["t.b"] });
    expect(problemsOf([moved], create("t.b"))).toEqual([]);
  });

  it.each(["creating", "updating", "deleting", "tainted", "unresolved"] as const)(
    "of what is created have to be ready, not %s",
    (phase) => {
      const found = problemsOf([object(phase, { address: "t.b" })], create("t.b"));
      expect(found).toEqual([`t.a depends on t.b, which is ${phase}`]);
    },
  );

  it("of what exists may be anything but in the making", () => {
    const on = (phase: ObjectPhase) =>
      problemsOf([named("t.a"), object(phase, { address: "t.b" })], needs("t.b"));
    expect(on("tainted")).toEqual([]);
    expect(on("updating")).toEqual([]);
    expect(on("creating")).toEqual(["t.a depends on t.b, which is creating"]);
  });

  it("are not those that the object had already, whose replacement is in the making", () => {
    const present = named("t.a", "t.b");
    const objects = [present, object("creating", { address: "t.b" }), named("t.c")];
    expect(problemsOf(objects, needs("t.b", "t.c"))).toEqual([]);
  });

  it("are not asked for where the list is the same", () => {
    const patch = { phase: "tainted" } as const;
    expect(problemsOf([named("t.a", "t.gone")], { kind: "record", key: KEY, patch })).toEqual([]);
  });

  it("are not asked for of a deposed object", () => {
    const deposed = object("ready", { deposed: "0123abcd" });
    const patch = { dependencies: [edge("t.gone")] };
    const key = { address: "t.a", deposed: "0123abcd" };
    expect(problemsOf([deposed], { kind: "record", key, patch })).toEqual([]);
  });

  it("are taken along by an object that moves or comes back, in whatever phase they are", () => {
    const move = { kind: "move", from: KEY, to: { address: "t.z", deposed: "" } } as const;
    expect(problemsOf([named("t.a", "t.gone")], move)).toEqual([]);
    const old = { ...named("t.a", "t.gone"), deposed: "0123abcd" };
    const restore = { kind: "restore", address: "t.a", deposed: "0123abcd" } as const;
    expect(problemsOf([old], restore)).toEqual([]);
  });
});

describe("a removal", () => {
  const blocked = ["t.a would go, but t.b depends on it"];
  const objects = [named("t.a"), named("t.b", "t.a")];
  const begin = (replace: boolean): StateChange => ({
    kind: "delete",
    key: KEY,
    operation: { ...OPERATION, replace },
  });

  it("waits for those who depend on the object", () => {
    expect(problemsOf(objects, begin(false))).toEqual(blocked);
    expect(problemsOf(objects, { kind: "forget", key: KEY })).toEqual(blocked);
    expect(problemsOf([named("t.a"), named("t.b")], begin(false))).toEqual([]);
  });

  it("does not wait where a new object takes the place", () => {
    expect(problemsOf(objects, begin(true))).toEqual([]);
    expect(problemsOf(objects, { kind: "depose", address: "t.a", deposed: "0123abcd" })).toEqual(
      [],
    );
  });

  it("does not wait for the object itself", () => {
    const self = object("ready", { aliases: ["t.old"], dependencies: [edge("t.old")] });
    expect(problemsOf([self], { kind: "forget", key: KEY })).toEqual([]);
  });

  it("of a deposed object does not wait for those who depend on the current one", () => {
    const deposed = object("ready", { deposed: "0123abcd" });
    const key = { address: "t.a", deposed: "0123abcd" };
    expect(problemsOf([...objects, deposed], { kind: "forget", key })).toEqual([]);
  });

  it("is no update, although others depend on the object", () => {
    expect(problemsOf(objects, { kind: "update", key: KEY, operation: OPERATION })).toEqual([]);
  });
});
