import { expect, it } from "vitest";
import { parseJsonNode } from "./json-node.ts";
import { formatStateFile, parseStateFile } from "./state-file.ts";

const INSTANCE = { schema_version: 0, attributes: { id: "1" }, sensitive_attributes: [] };

function state(resources: readonly object[]): string {
  const head = { version: 4, terraform_version: "1.11.4", serial: 7, lineage: "l", outputs: {} };
  return JSON.stringify({ ...head, resources, check_results: null });
}

function resource(instances: readonly object[]): object {
  const provider = `provider["terraform.io/builtin/terraform"]`;
  return { mode: "managed", type: "terraform_data", name: "a", provider, instances };
}

it("reads an attribute of many megabytes", () => {
  const id = `${"a".repeat(24 * 1024 * 1024)}\\"\\\\`;
  const file = parseStateFile(state([resource([{ ...INSTANCE, attributes: { id } }])]));
  expect(parseStateFile(formatStateFile(file))).toEqual(file);
  const attributes = file.resources[0]?.instances[0]?.attributes;
  expect(attributes).toEqual({ kind: "object", members: [["id", { kind: "string", value: id }]] });
});

it.each([`"a`, `"a\\"`, `"`, `{"a`, `["a\\\\\\"]`])("refuses the unfinished text %s", (text) => {
  expect(() => parseJsonNode(text)).toThrow("is not complete JSON");
});

it.each([
  ["without a key", {}],
  ["with a key", { index_key: 1 }],
  ["that is deposed", { deposed: "00000001" }],
])("refuses an instance %s twice", (_name, key) => {
  const one = { ...INSTANCE, ...key };
  expect(() => parseStateFile(state([resource([one, one])]))).toThrow("an instance twice");
  expect(() => parseStateFile(state([resource([one]), resource([one])]))).toThrow("twice");
  const other = { ...INSTANCE, index_key: "1" };
  expect(parseStateFile(state([resource([one, other])])).resources).toHaveLength(1);
});
