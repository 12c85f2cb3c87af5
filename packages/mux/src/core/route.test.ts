import { describe, expect, it } from "vitest";
import { routeToken, routeUrn } from "./route.ts";
import { typeOfUrn } from "./urn.ts";

const ROUTES = {
  resources: new Map([
    ["p:m:A", 0],
    ["p:m:B", 1],
  ]),
  functions: new Map([["p:m:f", 1]]),
};

describe("typeOfUrn", () => {
  it.each([
    ["urn:pulumi:dev::proj::p:m:A::n", "p:m:A"],
    ["urn:pulumi:dev::proj::my:comp:C$p:m:B$p:m:A::x", "p:m:A"],
    ["urn:pulumi:dev::proj::p:m:B::x::p:m:A::y", "p:m:B"],
    ["urn:pulumi:::::::", ""],
    ["urn:pulumi:dev::proj", undefined],
    ["urn:pulumi:dev::proj::p:m:A", undefined],
    ["not-a-urn", undefined],
    ["", undefined],
  ])("reads %s", (urn, type) => {
    expect(typeOfUrn(urn)).toBe(type);
  });
});

describe("routing", () => {
  it("goes by the own type of a URN", () => {
    expect(routeUrn(ROUTES, "urn:pulumi:dev::proj::p:m:A$p:m:B::n")).toBe(1);
  });

  it.each([
    ["a text that is no URN", () => routeUrn(ROUTES, "x"), "MUX_URN_INVALID"],
    ["an unknown type", () => routeUrn(ROUTES, "urn:pulumi:d::p::q::n"), "MUX_TOKEN_UNKNOWN"],
    ["an unknown function", () => routeToken(ROUTES, "Invoke", "p:m:A"), "MUX_TOKEN_UNKNOWN"],
    ["an unknown method", () => routeToken(ROUTES, "Call", "p:m:A"), "MUX_TOKEN_UNKNOWN"],
    ["an unknown component", () => routeToken(ROUTES, "Construct", "p:m:f"), "MUX_TOKEN_UNKNOWN"],
    ["an unlistable type", () => routeToken(ROUTES, "List", "p:m:f"), "MUX_NOT_LISTABLE"],
  ])("refuses %s", (_what, attempt, code) => {
    expect(attempt).toThrow(expect.objectContaining({ code }));
  });

  it("lists by owner unless the table has list owners", () => {
    expect(routeToken(ROUTES, "List", "p:m:A")).toBe(0);
    const listed = { ...ROUTES, listResources: new Map([["p:m:A", 1]]) };
    expect(routeToken(listed, "List", "p:m:A")).toBe(1);
    const none = { ...ROUTES, listResources: new Map<string, number>() };
    expect(() => routeToken(none, "List", "p:m:A")).toThrow(/not listable/);
  });
});
