import { type PropertyValue, secretProperty, stringProperty } from "@stackwright/proto/property";
import { describe, expect, it } from "vitest";
import type { ComponentChild } from "./component-child.ts";
import { decideOpenChildren } from "./decide-open-children.ts";

const COMPONENT = "urn:pulumi:s::s::disk:index:Rack::r";

const child = (name: string, rest: Partial<ComponentChild> = {}): ComponentChild => ({
  urn: `urn:pulumi:s::s::disk:index:Rack$disk:index:Disk::${name}`,
  type: "disk:index:Disk",
  id: `id-${name}`,
  inputs: new Map<string, PropertyValue>([
    ["label", stringProperty(`label of ${name}`)],
    ["key", secretProperty(stringProperty("hunter2"))],
  ]),
  outputs: new Map(),
  retained: false,
  isProtected: false,
  isReplaced: false,
  isOpen: false,
  ...rest,
});
const open = (name: string) => child(name, { id: "", isOpen: true });
const decide = (
  children: readonly ComponentChild[],
  decision: Parameters<typeof decideOpenChildren>[2],
) =>
  decideOpenChildren(COMPONENT, children, decision).map(
    ({ urn, id, isOpen, isReplaced }) =>
      `${urn.split("::").at(-1)} ${id}${isOpen ? " open" : ""}${isReplaced ? " replaced" : ""}`,
  );

describe("children whose create was never answered", () => {
  it("are named without their secrets", () => {
    const children = [child("a"), open("b")];
    const named = 'it may have made disk:index:Disk::b with label = "label of b"';
    expect(() => decide(children, { kind: "undecided" })).toThrow(named);
    expect(() => decide(children, { kind: "undecided" })).not.toThrow("hunter2");
    expect(decide([child("a")], { kind: "undecided" })).toEqual(["a id-a"]);
  });

  it("are named without the beginnings of long texts, in which nothing recognises a secret", () => {
    const inputs = new Map<string, PropertyValue>([
      ["name", stringProperty("n".repeat(80))],
      ["key", stringProperty(`hunter2 ${"x".repeat(80)}`)],
    ]);
    const children = [child("b", { id: "", isOpen: true, inputs })];
    expect(() => decide(children, { kind: "undecided" })).toThrow(/Disk::b with name = "n{80}"$/);
  });

  it("do not exist, or have the id that the user gives", () => {
    const children = [child("a"), open("b")];
    expect(decide(children, { kind: "absent" })).toEqual(["a id-a"]);
    for (const id of ["x=1", "disk:index:Disk::b=x=1"]) {
      expect(decide(children, { kind: "id", id })).toEqual(["a id-a", "b x=1"]);
    }
  });

  it("are decided by name where there are several", () => {
    const children = [open("b"), open("c")];
    expect(() => decide(children, { kind: "id", id: "x" })).toThrow(
      /Disk::b .*Disk::c .*TYPE::NAME=ID/,
    );
    expect(decide(children, { kind: "id", id: "disk:index:Disk::c=x" })).toEqual(["c x"]);
    const both = "disk:index:Disk::c=x\ndisk:index:Disk::b=y=1";
    expect(decide([...children, open("d")], { kind: "id", id: both })).toEqual(["b y=1", "c x"]);
    for (const id of [`${both}\nz`, "disk:index:Disk::c=x\ndisk:index:Disk::c=y"]) {
      expect(() => decide(children, { kind: "id", id })).toThrow("it may have made");
    }
  });

  it("have one id each, as one that two have would be deleted with either", () => {
    const children = [open("b"), open("c")];
    const same = "disk:index:Disk::b=x\ndisk:index:Disk::c=x";
    expect(() => decide(children, { kind: "id", id: same })).toThrow(
      'the id "x" is given for disk:index:Disk::b and for disk:index:Disk::c',
    );
    const other = child("c", { id: "", isOpen: true, type: "disk:index:Image" });
    expect(decide([open("b"), other], { kind: "id", id: same })).toEqual(["b x", "c x"]);
  });

  it("take the place of the one that they were to replace", () => {
    const children = [child("a"), open("a")];
    expect(decide(children, { kind: "id", id: "x" })).toEqual(["a id-a replaced", "a x"]);
    expect(decide(children, { kind: "absent" })).toEqual(["a id-a"]);
  });

  it("are not the one that they were to replace, which would be deleted", () => {
    const children = [child("a"), open("a")];
    for (const id of ["id-a", "disk:index:Disk::a=id-a"]) {
      expect(() => decide(children, { kind: "id", id })).toThrow(
        'the id "id-a" is that of disk:index:Disk::a, which was there before',
      );
    }
  });
});
