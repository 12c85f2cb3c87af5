import { Type, type Value } from "@stackwright/cty";
import type { BlockSchema } from "@stackwright/mux/router";
import { expect, it } from "vitest";
import { recordedValue } from "./recorded-value.ts";

const ATTRIBUTE = {
  required: false,
  optional: true,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
};
const BLOCK: BlockSchema = {
  attributes: new Map([["input", { ...ATTRIBUTE, type: Type.dynamic }]]),
  blocks: new Map(),
  deprecated: false,
  description: "",
};
const JSON_TEXT = '{"input":{"value":"x","type":"string"}}';

function typeOfInput(value: Value): Type | undefined {
  return new Map(value.entries()).get("input")?.type;
}

it("has attributes of any type as what they are, where the schema is known", () => {
  const recorded = { json: JSON_TEXT, sensitive: [], schemaVersion: 0 };
  expect(typeOfInput(recordedValue(recorded, BLOCK))?.kind).toBe("string");
  expect(typeOfInput(recordedValue(recorded, undefined))?.kind).toBe("object");
});

it("takes a value of another version of the schema by the types that JSON has", () => {
  const block: BlockSchema = {
    ...BLOCK,
    attributes: new Map([["other", { ...ATTRIBUTE, type: Type.bool }]]),
  };
  const value = recordedValue({ json: JSON_TEXT, sensitive: [], schemaVersion: 0 }, block);
  expect(typeOfInput(value)?.kind).toBe("object");
});
