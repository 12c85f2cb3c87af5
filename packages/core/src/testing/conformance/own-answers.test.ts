import { Type, Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import type { BlockSchema, LifecycleProvider, ProviderSchema } from "@stackwright/mux/router";
import { expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine } from "../../engine.ts";
import type { ProviderOrigin } from "../../providers/catalog.ts";
import { createTestState } from "../state-fixture.ts";
import { createMockProvider, MockCloud } from "./mock-provider.ts";

/** What of the provider is another one in a step. */
interface Program {
  readonly digest?: string;
  readonly schema?: (schema: ProviderSchema) => ProviderSchema;
}

function setUp() {
  const cloud = new MockCloud();
  const { state } = createTestState();
  let upgrades = 0;
  const plan = async ({ digest, schema = (same) => same }: Program, applies = false) => {
    const mock = createMockProvider(cloud);
    const provider: LifecycleProvider = {
      ...mock,
      schema: async (context) => {
        const reply = await mock.schema(context);
        return { ...reply, schema: schema(reply.schema) };
      },
      upgrade: async (request, context) => {
        upgrades += 1;
        return mock.upgrade(request, context);
      },
    };
    const origin: ProviderOrigin = {
      name: "test",
      handles: () => true,
      select: async () => "1.0.0",
      open: async () => [{ name: "mock", provider, ...(digest !== undefined && { digest }) }],
    };
    const engine = createEngine({ origins: [origin] });
    const text = `terraform {
  required_providers {
    mock = { source = "test.local/conf/mock" }
  }
}
resource "mock_thing" "a" {
  name   = "a"
  secret = "hidden"
}
`;
    const configuration = await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
    const given = { state, configuration, variables: new Map(), parallelism: 1 };
    const made = await engine.plan(given);
    expect(made.diagnostics).toEqual([]);
    if (made.plan === undefined) throw new Error("there is no plan");
    if (applies) await engine.apply({ ...given, plan: made.plan });
    return made.plan;
  };
  /** What a plan without changes asks to be upgraded. */
  const upgradesOf = async (program: Program): Promise<number> => {
    upgrades = 0;
    const { changes } = await plan(program);
    expect(changes.map(({ action }) => action)).toEqual(["no-op"]);
    return upgrades;
  };
  return { plan, upgradesOf, upgrades: () => upgrades, state, cloud };
}

it("an object that the same program wrote is not upgraded", async () => {
  const { plan, upgradesOf, state } = setUp();
  await plan({ digest: "h1:a" }, true);
  const [object] = (await state.read()).objects.values();
  expect(object?.value?.writer).toBe("h1:a");
  expect(await upgradesOf({ digest: "h1:a" })).toBe(0);
  const { changes } = await plan({ digest: "h1:a" });
  const secret = [...(changes[0]?.before?.entries() ?? [])].find(([name]) => name === "secret");
  expect(secret?.[1].isMarked).toBe(true);
});

it.each<[string, Program, Program]>([
  ["another program", { digest: "h1:a" }, { digest: "h1:b" }],
  ["a program that is being developed", { digest: "h1:a" }, {}],
  ["a program, and who wrote it is not known", {}, { digest: "h1:a" }],
  [
    "a program with a newer schema",
    { digest: "h1:a" },
    { digest: "h1:a", schema: (schema) => withThing(schema, { version: 9 }) },
  ],
])("an object is upgraded by %s", async (_name, writer, reader) => {
  const { plan, upgradesOf } = setUp();
  await plan(writer, true);
  expect(await upgradesOf(reader)).toBe(1);
});

it("an object is upgraded where its text does not fit the schema", async () => {
  const { plan, upgradesOf, upgrades } = setUp();
  await plan({ digest: "h1:a" }, true);
  const narrower = (schema: ProviderSchema): ProviderSchema => {
    const block = thingOf(schema);
    const value = block.attributes.get("value");
    if (value === undefined) throw new Error("there is no value");
    const attributes = new Map([...block.attributes, ["name", { ...value, type: Type.number }]]);
    return withThing(schema, { block: { ...block, attributes } });
  };
  await expect(upgradesOf({ digest: "h1:a", schema: narrower })).rejects.toThrow();
  expect(upgrades()).toBe(1);
});

it("an object is written by the program that read it when it changed", async () => {
  const { plan, upgradesOf, cloud } = setUp();
  await plan({ digest: "h1:a" }, true);
  cloud.drift("a", { out: Value.string("other") });
  await plan({ digest: "h1:b" }, true);
  expect(await upgradesOf({ digest: "h1:b" })).toBe(0);
  expect(await upgradesOf({ digest: "h1:a" })).toBe(1);
});

function thingOf({ resources }: ProviderSchema): BlockSchema {
  const thing = resources.get("mock_thing");
  if (thing === undefined) throw new Error("there is no mock_thing");
  return thing.block;
}

function withThing(
  schema: ProviderSchema,
  change: { readonly version?: number; readonly block?: BlockSchema },
): ProviderSchema {
  const former = schema.resources.get("mock_thing");
  const thing = { version: 0, block: thingOf(schema), ...former, ...change };
  return { ...schema, resources: new Map([...schema.resources, ["mock_thing", thing]]) };
}
