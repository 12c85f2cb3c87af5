import { expect, it } from "vitest";
import { content, edge, plan } from "../testing/state-content.ts";
import { ObjectIndex } from "./object-index.ts";
import type { StateObject } from "./state-object.ts";

function object(address: string, more: Partial<StateObject> = {}): StateObject {
  return {
    address,
    deposed: "",
    ...plan(),
    ...content(address),
    phase: "ready",
    observedAtMs: 0,
    epoch: 1n,
    revision: 1n,
    aliases: [],
    ...more,
  };
}

const dependents = (index: ObjectIndex, of: StateObject): string[] =>
  [...index.dependentsOf(of)].map(({ address }) => address);

it("finds those who depend on an instance, and forgets them with their dependency", () => {
  const net = object("t.net");
  const index = new ObjectIndex([net, object("t.vm", { dependencies: [edge("t.net")] })]);
  expect(dependents(index, net)).toEqual(["t.vm"]);
  index.set({ address: "t.vm", deposed: "" }, object("t.vm"));
  expect(dependents(index, net)).toEqual([]);
});

it("keeps one of two who depend on an instance when the other goes", () => {
  const net = object("t.net");
  const needs = { dependencies: [edge("t.net")] };
  const index = new ObjectIndex([net, object("t.a", needs), object("t.b", needs)]);
  index.set({ address: "t.a", deposed: "" }, undefined);
  expect(dependents(index, net)).toEqual(["t.b"]);
  expect(index.get({ address: "t.a", deposed: "" })).toBeUndefined();
});

it("does not take a dependency on a resource, or of a deposed object, for one on an instance", () => {
  const net = object("t.net");
  const index = new ObjectIndex([
    net,
    object("t.a", { dependencies: [{ ...edge("t.net"), scope: "resource" }] }),
    object("t.b", { deposed: "0123abcd", dependencies: [edge("t.net")] }),
  ]);
  expect(dependents(index, net)).toEqual([]);
});

it("finds an object by a former address, unless another one has it now", () => {
  const moved = object("t.new", { aliases: ["t.old"] });
  const user = object("t.user", { dependencies: [edge("t.old")] });
  const index = new ObjectIndex([moved, user]);
  expect(index.resolve("t.old")).toBe(moved);
  expect(dependents(index, moved)).toEqual(["t.user"]);
  const other = object("t.old");
  index.set(other, other);
  expect(index.resolve("t.old")).toBe(other);
  expect(dependents(index, moved)).toEqual([]);
  expect(dependents(index, other)).toEqual(["t.user"]);
});

it("forgets a former address once the object has none", () => {
  const index = new ObjectIndex([object("t.new", { aliases: ["t.old"] })]);
  index.set({ address: "t.new", deposed: "" }, object("t.new"));
  expect(index.resolve("t.old")).toBeUndefined();
  expect(index.resolve("t.new")?.address).toBe("t.new");
});

it("has no former address of a deposed object", () => {
  const index = new ObjectIndex([object("t.a", { deposed: "0123abcd", aliases: ["t.old"] })]);
  expect(index.resolve("t.old")).toBeUndefined();
});

it("has the deposed objects of an address in the order of their keys, and forgets those that go", () => {
  const [first, second] = [
    object("t.a", { deposed: "11111111" }),
    object("t.a", { deposed: "22222222" }),
  ];
  const index = new ObjectIndex([
    second,
    first,
    object("t.a"),
    object("t.b", { deposed: "0".repeat(8) }),
  ]);
  expect(index.deposed("t.a")).toEqual([first, second]);
  index.set(first, undefined);
  expect(index.deposed("t.a")).toEqual([second]);
  index.set(second, undefined);
  expect(index.deposed("t.a")).toEqual([]);
});
