import { expect, it } from "vitest";
import { findType } from "./find-type.ts";

const SCHEMA = {
  resources: new Map([["random_pet", {}]]),
  dataSources: new Map([["random_word", {}]]),
  ephemeralResources: new Map(),
};

it.each([
  ["managed", "random_pett", 'Did you mean "random_pet"?'],
  ["managed", "random_word", 'It is a data source: write data "random_word".'],
  ["data", "random_pet", 'It is a resource type: write resource "random_pet".'],
  ["ephemeral", "random_pett", 'has no ephemeral resource type "random_pett".'],
] as const)("says what may be meant by %s %s", (mode, type, expected) => {
  const use = {
    reference: { source: "hashicorp/random" },
    schema: SCHEMA,
    typeSchema: () => undefined,
  } as unknown as Parameters<typeof findType>[0];
  const block = { mode, type } as Parameters<typeof findType>[1];
  expect(findType(use, block).problem?.detail).toMatch(
    new RegExp(`${expected.replaceAll(/[?.]/g, "\\$&")}$`),
  );
});
