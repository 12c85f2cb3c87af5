import { Mark, Type, Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import type { AttributeSchema, ProviderSchema } from "@stackwright/mux/router";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { GatheredSchemas } from "../providers/gathered-schemas.ts";
import type { ResourceChange } from "./change.ts";
import type { Plan } from "./plan.ts";
import { planToRenderedJson } from "./rendered-plan-json.ts";

const CANARY = "canary-7c1f-0451";
const secret = (text: string): Value => Value.string(text).mark(Mark.sensitive);
const provider = { source: "test.local/conf/mock", version: "1.2.3", alias: "" };

const ANY: AttributeSchema = {
  type: Type.string,
  required: false,
  optional: true,
  computed: false,
  sensitive: false,
  writeOnly: false,
  deprecated: false,
  description: "",
};

const SCHEMA: ProviderSchema = {
  provider: { attributes: new Map(), blocks: new Map(), deprecated: false, description: "" },
  resources: new Map(
    ["mock_thing", "mock_other"].map((type) => [
      type,
      {
        version: 2,
        block: {
          attributes: new Map([
            ["id", ANY],
            ["hidden", { ...ANY, sensitive: true }],
          ]),
          blocks: new Map(),
          deprecated: false,
          description: "",
        },
      },
    ]),
  ),
  dataSources: new Map(),
  ephemeralResources: new Map(),
  functions: new Map(),
};

const CHANGE: ResourceChange = {
  address: "mock_thing.x",
  deposed: "",
  mode: "managed",
  type: "mock_thing",
  name: "x",
  module: "",
  key: undefined,
  provider,
  action: "update",
  before: Value.object({ id: Value.string("1"), hidden: secret(`${CANARY}-1`) }),
  after: Value.object({ id: Value.string("1"), hidden: secret(`${CANARY}-2`) }),
  replacePaths: [],
  causes: [],
  words: { priorPrivate: Uint8Array.of(), plannedPrivate: Uint8Array.of() },
  schemaVersion: 2,
  dependencies: [],
  createBeforeDestroy: false,
  record: false,
  legacyTypeSystem: false,
};

const PLAN: Plan = {
  stack: "s",
  revision: 7n,
  createdAtMs: 0,
  mode: "normal",
  partial: false,
  options: { targets: [], excludes: [], replace: [] },
  workspace: "default",
  variables: new Map([["v", secret(CANARY)]]),
  providers: [],
  expansions: [],
  changes: [CHANGE],
  known: new Map(),
  outputs: [
    {
      name: "nested",
      action: "create",
      after: Value.object({ deep: Value.list([secret(`${CANARY}-3`)]) }),
      sensitive: true,
    },
    { name: "repeats", action: "create", after: Value.string(CANARY), sensitive: false },
  ],
  drift: [],
  checks: [],
  inputs: [],
};

async function rendered(schemas: GatheredSchemas): Promise<string | undefined> {
  const configuration = await loadConfiguration(EMPTY_BUNDLE);
  return planToRenderedJson(PLAN, { configuration, schemas });
}

it("has what commands render, with the schemas of its types, and no secret", async () => {
  const schemas = new GatheredSchemas();
  schemas.add(provider.source, SCHEMA);
  const text = await rendered(schemas);
  expect(text).not.toContain(CANARY);
  const document = JSON.parse(text ?? "");
  expect(document).toMatchObject({
    plan_format_version: "1.2",
    provider_format_version: "1.0",
    resource_changes: [
      {
        address: "mock_thing.x",
        change: {
          actions: ["update"],
          before: { id: "1" },
          before_sensitive: { hidden: true },
          after_sensitive: { hidden: true },
        },
      },
    ],
    output_changes: {
      nested: { after_sensitive: true },
      repeats: { after_sensitive: false },
    },
    relevant_attributes: [],
    provider_schemas: {
      [provider.source]: {
        resource_schemas: {
          mock_thing: {
            version: 2,
            block: { attributes: { id: { type: "string" }, hidden: { sensitive: true } } },
          },
        },
        data_source_schemas: {},
      },
    },
  });
  const { before, after } = document.resource_changes[0].change;
  expect(before.hidden).not.toBe(after.hidden);
  const { resource_schemas: types } = document.provider_schemas[provider.source];
  expect(Object.keys(types)).toEqual(["mock_thing"]);
});

it("is none where a schema is not known, without which commands end in a crash", async () => {
  expect(await rendered(new GatheredSchemas())).toBeUndefined();
});
