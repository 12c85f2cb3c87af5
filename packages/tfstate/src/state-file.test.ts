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

const LAB = 'provider["registry.terraform.io/acme/lab"]';
const OF_INSTANCE = `${LAB}.by["a.b\\"]c"]`;

it("reads and writes the provider of each instance, as OpenTofu has it", () => {
  const { provider: _, ...bare } = resource([]) as { provider: string };
  const instances = [
    { ...INSTANCE, index_key: "a", provider: OF_INSTANCE },
    { ...INSTANCE, index_key: "b", provider: `${LAB}.by["b"]` },
  ];
  const file = parseStateFile(state([{ ...bare, instances }]));
  expect(file.resources[0]?.provider).toBe(`${LAB}.by`);
  const text = formatStateFile(file);
  expect(parseStateFile(text)).toEqual(file);
  const [written] = (
    JSON.parse(text) as {
      resources: { provider?: string; instances: object[] }[];
    }
  ).resources;
  expect(written?.provider).toBeUndefined();
  expect(written?.instances).toMatchObject([
    { provider: OF_INSTANCE },
    { provider: `${LAB}.by["b"]` },
  ]);
});

it.each([
  ["no provider", {}, [INSTANCE]],
  [
    "no provider for one of them",
    {},
    [
      { ...INSTANCE, provider: OF_INSTANCE },
      { ...INSTANCE, index_key: 1 },
    ],
  ],
  ["both have a provider", { provider: LAB }, [{ ...INSTANCE, provider: OF_INSTANCE }]],
  [
    "different provider configurations",
    {},
    [
      { ...INSTANCE, index_key: 1, provider: OF_INSTANCE },
      { ...INSTANCE, index_key: 2, provider: `${LAB}.other["b"]` },
    ],
  ],
])("refuses a resource with %s", (_name, own, instances) => {
  const { provider: _, ...bare } = resource([]) as { provider: string };
  expect(() => parseStateFile(state([{ ...bare, ...own, instances }]))).toThrow("provider");
});
