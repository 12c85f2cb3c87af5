import { describe, expect, it } from "vitest";
import { MuxError } from "../errors.ts";
import { type MergePolicy, mergeSchemas } from "./merge-schemas.ts";
import type { PackageSchema } from "./package-schema.ts";

function merge(schemas: readonly PackageSchema[], policy?: MergePolicy) {
  const named = schemas.map((schema, index) => ({ server: `s${index}`, schema }));
  return mergeSchemas(named, policy);
}

describe("mergeSchemas", () => {
  it("gives a name that two servers define to the earlier one", () => {
    const first = { resources: { r1: { description: "0" }, r2: {} } };
    const second = { resources: { r1: { description: "1" }, r3: {} } };
    const { schema, dispatchTable } = merge([first, second]);
    expect(schema.resources).toEqual({ r1: { description: "0" }, r2: {}, r3: {} });
    expect(dispatchTable.resources).toEqual(
      new Map([
        ["r1", 0],
        ["r2", 0],
        ["r3", 1],
      ]),
    );
  });

  it("changes owners when the order of the servers changes", () => {
    const s1 = { resources: { r1: {}, r2: {} } };
    const s2 = { resources: { r1: {}, r3: {} } };
    const { dispatchTable } = merge([s2, s1]);
    expect(Object.fromEntries(dispatchTable.resources)).toEqual({ r1: 0, r3: 0, r2: 1 });
  });

  it("gives it to the later one where that is the policy", () => {
    const { dispatchTable } = merge([{ functions: { f: {} } }, { functions: { f: {} } }], {
      tokens: "last-wins",
    });
    expect(dispatchTable.functions.get("f")).toBe(1);
  });

  it("gives a single token to a named server against the policy", () => {
    const schema = { resources: { r: {}, t: {} } };
    const { dispatchTable, conflicts } = merge([schema, schema], {
      owners: new Map([["r", "s1"]]),
    });
    expect(Object.fromEntries(dispatchTable.resources)).toEqual({ r: 1, t: 0 });
    expect(conflicts).toEqual([{ kind: "resource", token: "t", owner: "s0", others: ["s1"] }]);
  });

  it("reports every conflict with both owners", () => {
    const schema = { resources: { r: {} }, functions: { f: {} } };
    expect(merge([schema, {}, schema]).conflicts).toEqual([
      { kind: "resource", token: "r", owner: "s0", others: ["s2"] },
      { kind: "function", token: "f", owner: "s0", others: ["s2"] },
    ]);
  });

  it("does not call equal types a conflict, whatever the order of their members", () => {
    const one = { types: { t: { type: "object", properties: { a: {}, b: {} } } } };
    const two = { types: { t: { properties: { b: {}, a: {} }, type: "object" } } };
    expect(merge([one, two], { types: "error" }).conflicts).toEqual([]);
  });

  it("refuses all different types at once where that is the policy", () => {
    const one = { types: { t: { type: "string" }, u: { type: "string" } } };
    const two = { types: { t: { type: "number" }, u: { type: "number" } } };
    const attempt = () => merge([one, two], { types: "error" });
    expect(attempt).toThrow(expect.objectContaining({ code: "MUX_SCHEMA_CONFLICT" }));
    expect(attempt).toThrow(/type t: s0, s1\ntype u: s0, s1/);
  });

  it("lets a server list what another one owns, if the owner cannot", () => {
    const owner = { resources: { r: {} } };
    const lister = { resources: { r: { listInputs: { type: "object" } } } };
    const { dispatchTable } = merge([owner, lister]);
    expect(dispatchTable.resources.get("r")).toBe(0);
    expect(dispatchTable.listResources?.get("r")).toBe(1);
  });

  it("has list inputs in the merged schema exactly for what can be listed", () => {
    const owner = { resources: { r: { description: "d" }, only: {}, none: { listInputs: null } } };
    const lister = {
      resources: { r: { listInputs: { type: "object" } }, both: { listInputs: {} } },
    };
    for (const tokens of ["first-wins", "last-wins"] as const) {
      const { dispatchTable, schema } = merge([owner, lister], { tokens });
      const listable = Object.entries(schema.resources ?? {})
        .filter(([, definition]) => Boolean((definition as { listInputs?: unknown }).listInputs))
        .map(([token]) => token);
      expect(listable.toSorted()).toEqual(
        [...(dispatchTable.listResources?.keys() ?? [])].toSorted(),
      );
    }
    const { schema } = merge([owner, lister]);
    expect(schema.resources?.r).toEqual({ description: "d", listInputs: { type: "object" } });
    expect(owner.resources.r, "the servers' own schemas stay as they are").toEqual({
      description: "d",
    });
  });

  it("prefers the owner for listing", () => {
    const both = { resources: { r: { listInputs: {} } } };
    const { dispatchTable } = merge([both, both]);
    expect(dispatchTable.listResources?.get("r")).toBe(0);
  });

  it("knows the configuration keys of each server", () => {
    const one = { config: { variables: { a: {} } }, provider: { inputProperties: { b: {} } } };
    const { dispatchTable } = merge([one, {}]);
    expect(dispatchTable.configKeys).toEqual([new Set(["a", "b"]), new Set()]);
  });

  it("takes package-level fields from the first server only", () => {
    const { schema } = merge([
      { name: "p", version: "1.0.0" },
      { name: "q", license: "MIT" },
    ]);
    expect(schema).toEqual({ name: "p", version: "1.0.0", config: {}, provider: {} });
  });

  it("keeps names that are special to JavaScript as data", () => {
    const hostile = JSON.parse(
      '{"resources": {"__proto__": {"description": "x"}}}',
    ) as PackageSchema;
    const { schema, dispatchTable } = merge([{}, hostile]);
    expect(dispatchTable.resources.get("__proto__")).toBe(1);
    expect(JSON.stringify(schema.resources)).toBe('{"__proto__":{"description":"x"}}');
  });

  it("gives identical texts for identical inputs", () => {
    const schemas = [{ resources: { b: {}, a: {} } }, { resources: { a: {}, c: {} } }];
    expect(JSON.stringify(merge(schemas).schema)).toBe(JSON.stringify(merge(schemas).schema));
  });

  it("needs at least one server", () => {
    expect(() => merge([])).toThrow(MuxError);
  });
});
