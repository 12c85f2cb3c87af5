import { describe, expect, it } from "vitest";
import {
  checkServerNumbers,
  dispatchTableFromJson,
  dispatchTableToJson,
  hashSchemas,
} from "./dispatch-table.ts";

describe("the JSON form of a dispatch table", () => {
  it("comes back as it went", () => {
    const table = {
      resources: new Map([["p:m:A", 1]]),
      functions: new Map([["p:m:f", 0]]),
      listResources: new Map<string, number>(),
      configKeys: [new Set(["a"]), undefined],
      schemaHash: "sha256:00",
    };
    expect(dispatchTableFromJson(dispatchTableToJson(table))).toEqual(table);
  });

  it("distinguishes an absent list section from an empty one", () => {
    const table = dispatchTableFromJson({ resources: {}, functions: {} });
    expect("listResources" in table).toBe(false);
    expect(dispatchTableToJson(table)).toEqual({ resources: {}, functions: {} });
  });

  it.each([
    ["a list", []],
    ["a token without a number", { resources: { a: "0" } }],
    ["a negative number", { functions: { a: -1 } }],
    ["keys that are no list", { configKeys: { a: 1 } }],
    ["keys that are no strings", { configKeys: [[1]] }],
    ["a hash that is no text", { schemaHash: 1 }],
  ])("refuses %s", (_what, json) => {
    expect(() => dispatchTableFromJson(json)).toThrow(
      expect.objectContaining({ code: "MUX_TABLE_INVALID" }),
    );
  });
});

describe("checkServerNumbers", () => {
  it("names the token of a server that is not there", () => {
    const table = dispatchTableFromJson({ resources: { "p:m:A": 3 } });
    expect(() => checkServerNumbers(table, 3)).toThrow(/p:m:A/);
    expect(() => checkServerNumbers(table, 4)).not.toThrow();
  });
});

describe("hashSchemas", () => {
  it("does not depend on the order of members, and on everything else", () => {
    const hash = hashSchemas([{ name: "p", resources: { a: {}, b: {} } }]);
    expect(hashSchemas([{ resources: { b: {}, a: {} }, name: "p" }])).toBe(hash);
    expect(hashSchemas([{ name: "q", resources: { a: {}, b: {} } }])).not.toBe(hash);
    expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});
