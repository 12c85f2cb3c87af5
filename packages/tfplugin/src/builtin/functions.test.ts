import { readFileSync } from "node:fs";
import { join } from "node:path";
import { decodeJson, decodeTypeJson, rangeOf, refine, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { callBuiltin } from "./functions.ts";

interface Recorded {
  readonly type: unknown;
  readonly value: unknown;
  readonly expression: string;
  readonly tfvars?: string;
}

/* What the real command wrote for each value; see expressions.live.test.ts. */
const FILE = join(import.meta.dirname, "../../fixtures/builtin/expressions.json");
const RECORDED = Object.entries(
  JSON.parse(readFileSync(FILE, "utf8")) as Record<string, Recorded>,
).map(([name, { type, value, ...written }]) => ({
  name,
  value: decodeJson(JSON.stringify(value ?? null), decodeTypeJson(JSON.stringify(type))),
  ...written,
}));

function call(name: string, value: Value) {
  return callBuiltin({ name, arguments: [value] }, (source) =>
    source === "bad" ? "1,1: not good" : new Map([["source", Value.string(source)]]),
  );
}

function result(name: string, value: Value): Value {
  const reply = call(name, value);
  if ("error" in reply) throw new Error(reply.error.text);
  return reply.result;
}

describe("encode_expr", () => {
  // The command keeps the sign of zero, which the JSON of an output does not carry.
  it.each(RECORDED.filter(({ name }) => name !== "negative_zero"))(
    "writes $name as the command does",
    ({ value, expression }) => {
      expect(result("encode_expr", value).asString()).toBe(expression);
    },
  );

  it("keeps the sign of zero", () => {
    expect(result("encode_expr", Value.parseNumber("-0")).asString()).toBe("-0");
  });

  it.each<[Value, string]>([
    [Value.tuple([Value.unknown(Type.number)]), "["],
    [Value.object({ a: Value.dynamic }), "{"],
    [refine(Value.unknown(Type.string), { notNull: true }), '"'],
    [Value.unknown(Type.string), ""],
    [refine(Value.unknown(Type.map(Type.string)), { notNull: true }), "{"],
    [refine(Value.unknown(Type.number), { notNull: true }), ""],
    [Value.dynamic, ""],
  ])("knows how the expression of something unknown begins: %j", (value, prefix) => {
    const text = result("encode_expr", value);
    expect(text.isKnown).toBe(false);
    expect(rangeOf(text)).toMatchObject({ isNull: false, prefix });
  });
});

describe("encode_tfvars", () => {
  it.each(RECORDED.filter(({ tfvars }) => tfvars !== undefined))(
    "writes $name as the command does",
    ({ value, tfvars }) => {
      expect(result("encode_tfvars", value).asString()).toBe(tfvars);
    },
  );

  it.each(RECORDED.filter(({ tfvars }) => tfvars === undefined))(
    "refuses $name as the command does",
    ({ value }) => {
      expect(call("encode_tfvars", value)).toMatchObject({ error: { argument: 0 } });
    },
  );

  it("waits for what is unknown", () => {
    const text = result("encode_tfvars", Value.object({ a: Value.unknown(Type.string) }));
    expect(text.isKnown).toBe(false);
    expect(rangeOf(text).isNull).toBe(false);
  });

  it("refuses null and infinity", () => {
    expect(call("encode_tfvars", Value.null(Type.dynamic))).toHaveProperty("error");
    const infinite = Value.object({ a: Value.positiveInfinity });
    expect(call("encode_tfvars", infinite)).toHaveProperty("error");
  });
});

describe("decode_tfvars", () => {
  it("gives an object of what the reader of the language found", () => {
    const object = result("decode_tfvars", Value.string("a = 1"));
    expect(object.rawEquals(Value.object({ source: Value.string("a = 1") }))).toBe(true);
  });

  it("passes on what the reader says is wrong", () => {
    expect(call("decode_tfvars", Value.string("bad"))).toEqual({
      error: { text: "1,1: not good", argument: 0 },
    });
  });

  it("waits for an unknown text, and refuses null", () => {
    expect(result("decode_tfvars", Value.unknown(Type.string)).isKnown).toBe(false);
    expect(call("decode_tfvars", Value.null(Type.string))).toHaveProperty("error");
  });
});

it("has no other functions", () => {
  expect(call("encode", Value.zero)).toHaveProperty("error");
});
