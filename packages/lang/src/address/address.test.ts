import { Mark, Type, Value } from "@stackwright/cty";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import { createScope } from "../eval/scope.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { parseExpression } from "../syntax/parse.ts";
import {
  type Address,
  compareAddresses,
  configAddress,
  containsAddress,
  equalAddresses,
  formatAddress,
  type ModuleStep,
} from "./address.ts";
import { evaluateAddress, parseAddress } from "./parse-address.ts";

function parsed(text: string): Address {
  const { value, diagnostics } = parseAddress(text);
  if (value === undefined) throw new Error(diagnostics[0]?.detail);
  return value;
}

describe("addresses as text", () => {
  it.each([
    ["a.b"],
    ["a.b[0]"],
    ['a.b["k"]'],
    ["data.a.b"],
    ["ephemeral.a.b[3]"],
    ["module.m"],
    ['module.m["x"].module.n[2]'],
    ['module.m["x"].data.a.b["y"]'],
    // As the reference command writes such keys.
    ['a.b["k\\"q"]'],
    ['a.b["a$${b}"]'],
    ['a.b["%%{x"]'],
    ['a.b["$${"]'],
    ['a.b["é\\u0001\\n\\t"]'],
    ['a.b["nbsp\\u00a0"]'],
    ['a.b["\\u200b"]'],
    ['a.b["\u{1f600}"]'],
    ["a.module"],
  ])("%s", (text) => {
    expect(formatAddress(parsed(text))).toBe(text);
  });

  it.each([
    ["resource.a.b", "a.b"],
    ["a.b.0", "a.b[0]"],
    [' module.m [ "x" ] . a . b ', 'module.m["x"].a.b'],
    ['a.b["\\u00e9"]', 'a.b["é"]'],
  ])("%s means %s", (text, canonical) => {
    expect(formatAddress(parsed(text))).toBe(canonical);
  });

  it.each([
    ["", "LANG_EXPRESSION_MISSING"],
    ["a", "LANG_ADDRESS"],
    ["a.b.c", "LANG_ADDRESS"],
    ["a.b[0][1]", "LANG_ADDRESS"],
    ["a.b[1.5]", "LANG_ADDRESS"],
    ["a.b[true]", "LANG_ADDRESS"],
    ["data.a", "LANG_ADDRESS"],
    ["module", "LANG_ADDRESS"],
    ["module[0]", "LANG_ADDRESS"],
    ["module.m.a", "LANG_ADDRESS"],
    ["a.b[*]", "LANG_TRAVERSAL"],
    ["a.b[x]", "LANG_TRAVERSAL"],
    ["f(a)", "LANG_TRAVERSAL"],
  ])("%j is none (%s)", (text, code) => {
    const { value, diagnostics } = parseAddress(text);
    expect(value).toBeUndefined();
    expect(diagnostics.length).toBeGreaterThan(0);
    if (code !== "LANG_EXPRESSION_MISSING") expect(diagnostics[0]?.code).toBe(code);
  });
});

const name = fc.constantFrom("a", "b", "module", "data", "x-y", "é");
const key = fc.option(fc.oneof(fc.nat(), fc.string({ unit: "grapheme" })), { nil: undefined });
const step: fc.Arbitrary<ModuleStep> = fc.record({ name, key });
const module = fc.array(step, { maxLength: 3 });
const address: fc.Arbitrary<Address> = fc.oneof(
  fc.record({ kind: fc.constant("module" as const), module: fc.array(step, { minLength: 1 }) }),
  fc.record({
    kind: fc.constant("resource" as const),
    module,
    mode: fc.constantFrom("managed" as const, "data" as const, "ephemeral" as const),
    type: fc.constantFrom("t", "u_v", "module", "data", "ephemeral", "resource"),
    name,
    key,
  }),
);

describe("properties", () => {
  it("the text of an address reads as the same address", () => {
    fc.assert(
      fc.property(address, (given) => {
        expect(parsed(formatAddress(given))).toEqual(given);
      }),
    );
  });

  it("the order is total and agrees with equality", () => {
    fc.assert(
      fc.property(address, address, address, (a, b, c) => {
        const [ab, ba] = [compareAddresses(a, b), compareAddresses(b, a)].map(Math.sign);
        expect(ab).toBe(-(ba ?? 0) + 0);
        expect(ab === 0).toBe(formatAddress(a) === formatAddress(b));
        expect(equalAddresses(a, b)).toBe(ab === 0);
        const sorted = [a, b, c].toSorted(compareAddresses);
        const [x, y, z] = sorted;
        if (x === undefined || y === undefined || z === undefined) throw new Error("three");
        expect(compareAddresses(x, z)).toBeLessThanOrEqual(0);
        expect(compareAddresses(y, z)).toBeLessThanOrEqual(0);
      }),
    );
  });

  it("the configuration of an address contains it", () => {
    fc.assert(
      fc.property(address, (given) => {
        expect(containsAddress(configAddress(given), given)).toBe(true);
        expect(containsAddress(given, given)).toBe(true);
      }),
    );
  });
});

describe("order and containment", () => {
  it("orders as the reference command does", () => {
    const expected = [
      "data.z.z",
      "a.b",
      "a.b[2]",
      "a.b[10]",
      'a.b["10"]',
      'a.b["9"]',
      'a.b["B"]',
      'a.b["a"]',
      'a.b["é"]',
      "module.a",
      "module.a.a.a",
      "module.a[0].a.a",
      'module.a["x"].a.a',
      "module.b.a.a",
      "module.a.module.a.a.a",
    ];
    const shuffled = expected.toReversed().map(parsed);
    expect(shuffled.toSorted(compareAddresses).map(formatAddress)).toEqual(expected);
  });

  it.each([
    ["module.m", 'module.m["x"].module.n.a.b', true],
    ['module.m["x"]', 'module.m["x"].a.b[1]', true],
    ['module.m["x"]', 'module.m["y"].a.b', false],
    ["a.b", "a.b[0]", true],
    ["a.b[0]", "a.b", false],
    ["a.b[0]", "a.b[1]", false],
    ["a.b", "data.a.b", false],
    ["a.b", "module.m.a.b", false],
    ["module.m.a.b", "module.m[1].a.b[2]", true],
    ["module.m.a.b", "module.m", false],
  ])("%s contains %s: %s", (target, inner, expected) => {
    expect(containsAddress(parsed(target), parsed(inner))).toBe(expected);
  });
});

describe("addresses with computed keys", () => {
  const scope = createScope({
    functions: consoleScope().functions,
    variables: {
      each: Value.object({ key: Value.string("k"), value: Value.number(2) }),
      later: Value.unknown(Type.string),
      hidden: Value.string("s").mark(Mark.sensitive),
    },
  });

  it.each([
    ["a.b[each.key]", 'a.b["k"]'],
    ["a.b[each.value]", "a.b[2]"],
    ["module.m[each.key].a.b[each.value + 1]", 'module.m["k"].a.b[3]'],
    ["a.b", "a.b"],
    ["a.b[later]", undefined],
    ["a.b[hidden]", undefined],
    ["a.b[1.5 + 0]", undefined],
    ["f(1)", undefined],
    ["a.b[nothing]", undefined],
  ])("%s", (text, expected) => {
    const diagnostics: Diagnostic[] = [];
    const { value } = parseExpression({ name: "t", text });
    const found = evaluateAddress(value, scope, diagnostics);
    expect(found === undefined ? undefined : formatAddress(found)).toBe(expected);
    expect(diagnostics.length > 0).toBe(expected === undefined);
  });
});
